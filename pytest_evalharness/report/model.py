"""The report of a run: plain, complete, and the only thing that renderings look at. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import amount, counted, printable
from pytest_evalharness.report import builds
from pytest_evalharness.settings import NO_LEAGUE

SCHEMA = 1
_WIDE = 300
MANY = 4
"""An arm of so many requests is told as a whole; `results.json` lists every id."""
SCOPE = "the effect in this field, not a league rank; champion is a membership label, not a winner"
"""What every report says of its differences."""
NOT_RUN = "not run: no credentials (a pull request from a fork has no secrets)"
LEAGUE = "league"
INTERRUPTED = 2
CANNOT_TELL = 10
UNTRUSTWORTHY = 11
_ROUNDED = 0.001
"""The share of a sum by which what was charged for its parts may miss it."""
SETTLED = frozenset({0, 1, CANNOT_TELL})
"""Exit codes of runs that waited for everything they posted, or read what another process waited for."""
OUTCOMES = ("passed", "failed", "inconclusive", "untrustworthy", "not_run", "skipped", "disclosed", "error")
"""What may become of a case; `disclosed` is a loss that it expected, with the reason, and no claim that was not met."""
EXIT_WORDS = {
    0: "every claim was met",
    1: "a claim was not met, or a test failed",
    2: "interrupted",
    3: "internal error",
    4: "usage error",
    5: "no tests",
    6: "too many warnings",
    10: "cannot tell",
    11: "untrustworthy: no evidence that anyone should believe",
}


def field_notice(server: str) -> str:
    """What a reader of anything that an embedded league's games say must know; empty of a hosted one's."""
    kind, _, seed = server.partition(":")
    known = kind == "embedded"
    return f"the field is the embedded league (seed {seed}): real games, invented players" if known else ""


@dataclass(frozen=True)
class CaseReport:
    """One case.

    Attributes:
        nodeid: its name.
        outcome: `passed`, `failed`, `inconclusive`, `untrustworthy`, `not_run`, `skipped`, `disclosed` or `error`.
        message: what was said where it did not pass; may hold text from outside.
        results: the comparisons it made, as plain data (`ABResult.to_json`).
        kind: what it judged: games of a league, an engine benchmark, or a run of CL-Bench.
        engines: the decision engines that it looked at, as plain data (`EngineResult.to_json`).
        clbench: what it looked at of CL-Bench runs, as plain data.
    """

    nodeid: str
    outcome: str
    message: str
    results: tuple[Mapping[str, Any], ...]
    engines: tuple[Mapping[str, Any], ...] = ()
    kind: str = LEAGUE
    clbench: tuple[Mapping[str, Any], ...] = ()

    @property
    def at_fault(self) -> bool:
        """Whether the case itself cannot be believed, whatever it measured: it looked at nothing, say."""
        believed = all(result["judgement"]["verdict"] != "untrustworthy" for result in self.results)
        return self.outcome == "untrustworthy" and bool(self.message) and believed

    @property
    def headlines(self) -> list[str]:
        """The decision and the numbers, a line for each comparison; the message's first line without any."""
        if self.at_fault:
            return [self.message.partition("\n")[0]]
        told = [str(result["headline"]) for result in (*self.results, *self.engines, *self.clbench)]
        return told or [self.message.partition("\n")[0]]


@dataclass(frozen=True)
class Report:
    """One run.

    Attributes:
        missing: cases that were collected and never reported.
        unfinished: cases that a run did not get to because it was told to stop: by -x, by a signal.
        notices: what a reader must know besides: overrides, an embedded league.
        still_running: requests that were posted and had not ended when the run did.
        service: what was chosen for the server from its own description (`Dialect.to_json`); None if it was not asked.
        cost: what its verdicts have cost (`league.cost.spent`); None if it posted nothing.
    """

    run_id: str
    server: str
    finished_at: str
    exit_code: int
    cases: tuple[CaseReport, ...]
    missing: tuple[str, ...]
    notices: tuple[str, ...]
    settings: Mapping[str, Any]
    still_running: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    service: Mapping[str, Any] | None = None
    cost: Mapping[str, Any] | None = None

    @property
    def cost_words(self) -> str:
        """What the run was charged, in one line; empty if it posted nothing."""
        if self.cost is None:
            return ""
        told = _charged(self.cost)
        budget = self.cost["budget"]
        return told if budget is None else f"{told}; the budget was {amount(budget, 6)}"

    @property
    def embedded(self) -> bool:
        """Whether the games were those of the embedded league."""
        return bool(field_notice(self.server))

    @property
    def api(self) -> str:
        """How the server was spoken to; empty if it was not asked."""
        return "" if self.service is None else str(self.service["words"])

    @property
    def exit_words(self) -> str:
        """What the exit code means; 0 says "met" only where every declared claim was."""
        if self.exit_code == UNTRUSTWORTHY and {case.outcome for case in self.cases} == {"not_run"}:
            return NOT_RUN
        unmet = sum(any(one != "met" for one in decisions(case)) for case in self.cases)
        if self.exit_code == INTERRUPTED:
            resumed = f", and so does evalharness runs resume {printable(self.run_id)}"
            return f"interrupted; the same command goes on{'' if self.server == NO_LEAGUE else resumed}"
        if self.exit_code == 0 and unmet:
            return f"every case passed, and {unmet} of them decided otherwise than its declared claim"
        return EXIT_WORDS.get(self.exit_code, "unknown")

    @property
    def tone(self) -> str:
        """How the exit code is shown: `good`, `unsure` or `bad`."""
        return {0: "good", CANNOT_TELL: "unsure"}.get(self.exit_code, "bad")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """The report that `to_json` gave.

        Raises:
            ValueError: it was written under another schema.
            KeyError, TypeError: it is no report.
        """
        if data["schema"] != SCHEMA:
            raise ValueError(f"its schema is {data['schema']!r}, this release reads {SCHEMA}")
        cases = tuple(
            CaseReport(
                case["nodeid"],
                case["outcome"],
                case["message"],
                tuple(case["results"]),
                tuple(case.get("engines", ())),
                case.get("kind", LEAGUE),
                tuple(case.get("clbench", ())),
            )
            for case in data["cases"]
        )
        return cls(
            run_id=data["run_id"],
            server=data["server"],
            finished_at=data["finished_at"],
            exit_code=data["exit_code"],
            cases=cases,
            missing=tuple(data["missing"]),
            notices=tuple(data["notices"]),
            settings=data["settings"],
            still_running=tuple(data["still_running"]),
            unfinished=tuple(data["unfinished"]),
            service=data.get("service"),
            cost=data.get("cost"),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data, as `results.json` has it."""
        return {
            **asdict(self),
            "schema": SCHEMA,
            "scope": SCOPE,
            "embedded": self.embedded,
            "cases": [_case_json(case) for case in self.cases],
            "missing": list(self.missing),
            "notices": list(self.notices),
            "still_running": list(self.still_running),
            "unfinished": list(self.unfinished),
            "settings": dict(self.settings),
        }


def _charged(cost: Mapping[str, Any]) -> str:
    """What is known of a cost. What the server does not tell is said to be unknown, never counted as nothing."""
    before, after = cost["balance_before"], cost["balance_after"]
    balance = (
        ""
        if before is None or after is None
        else f" (balance {amount(before, 6)} before, {amount(after, 6)} after)"
    )
    requests = len(cost["requests"])
    if cost["spent"] is not None:
        each = "" if cost["per_verdict"] is None else f", {amount(cost['per_verdict'])} a verdict"
        told = f"{amount(cost['spent'])} credits for {counted(requests, 'request')}{each}{balance}"
        short = bool(balance) and before - after < cost["spent"] * (1 - _ROUNDED)
        return (
            f"{told}; the balance fell by less: earlier runs paid the rest, or it is not charged yet"
            if short
            else told
        )
    known = [value for value in cost["requests"].values() if value is not None]
    if known:
        return f"unknown: the server tells {amount(sum(known))} credits for {len(known)} of {requests} requests{balance}"
    return f"unknown: {'the server does not tell' if not balance else 'no verdict to charge it to'}{balance}"


def decisions(case: CaseReport) -> list[str]:
    """What became of every claim that a case declared."""
    told = [str(result["judgement"]["decision"]) for result in case.results]
    return told + [str(one["decision"]) for one in case.clbench if one["decision"] is not None]


def _case_json(case: CaseReport) -> dict[str, Any]:
    from pytest_evalharness.report import success  # it reads cases itself

    return {
        **asdict(case),
        "results": [dict(result) for result in case.results],
        "engines": [dict(told) for told in case.engines],
        "clbench": [dict(told) for told in case.clbench],
        "success_check": [check.to_json() for check in success.of_case(case)],
    }


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What a reader must know beside a comparison's verdict: that it is an A/A, old, or not the first."""
    told = []
    if result["judgement"].get("aa"):
        told.append(
            "an A/A run: one build meets itself, the check for different builds was skipped, no edit was judged"
        )
    told += builds.warnings(result)
    declared = result["judgement"]["declaration"]["rule"]
    if result["judgement"].get("rule", declared) != declared:
        told.append(
            f"results were looked at before all were in: judged by the overlap rule, not the declared {declared}"
        )
    told += _of_another_family(result.get("family"))
    if result["evidence_age_seconds"] is not None:
        age = span(result["evidence_age_seconds"])
        told.append(f"read again, {age} old, nothing was posted; --eval-fresh starts another attempt")
    if result["earlier"]:
        earlier = ", ".join(result["earlier"])
        told.append(f"attempt {result['attempt']}, a further look at the same question; earlier: {earlier}")
    if result.get("pooled"):
        told.append(str(result["pooled"]))
    if result.get("elsewhere"):
        *_, last = found = result["elsewhere"]
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        told.append(
            f"these builds were compared in this seat before, by other questions: {last}{more}; a search finds something by chance"
        )
    return told


def requests_told(ids: Sequence[str]) -> str:
    """An arm's requests on one line: their ids if they are few, else how many, with the first and the last."""
    shown = [printable(one) for one in ids]
    if len(shown) < MANY:
        return f"request{'s' if len(shown) > 1 else ''} {' '.join(shown)}".rstrip()
    return f"{len(shown)} requests, {shown[0]} … {shown[-1]}"


def stratum_counts(stratum: Mapping[str, Any]) -> str:
    """A configuration of a pool with its own counts. Its name may hold text from outside."""
    scores = [f"{arm['wins']}/{arm['finished']}" for arm in (stratum["candidate"], stratum["baseline"])]
    return f"{stratum['name']} {' vs '.join(scores)}"


def _of_another_family(family: Mapping[str, Any] | None) -> list[str]:
    """In which family it was judged, where that is not the one of this run."""
    if family is None or family["this_run"] or max(family["tested"], family["now"]) == 1:
        return []
    if family["method"] == "none":
        return [f"posted with --eval-multiplicity none (run {family['run']}): its p-value is not adjusted"]
    return [f"judged in the family of {family['tested']} fixed when it was posted (run {family['run']})"]


def unfinished_told(report: Report) -> str:
    """What a stopped run did not get to, in one line; empty if it got to everything."""
    if not report.unfinished:
        return ""
    shown = ", ".join(printable(nodeid, _WIDE) for nodeid in report.unfinished[:MANY])
    rest = len(report.unfinished) - MANY
    return f"not judged, the run was stopped before: {shown}{f' and {rest} more' if rest > 0 else ''}"


def counts(cases: Sequence[CaseReport]) -> dict[str, int]:
    """How many cases had which outcome."""
    told: dict[str, int] = {}
    for case in cases:
        told[case.outcome] = told.get(case.outcome, 0) + 1
    return told
