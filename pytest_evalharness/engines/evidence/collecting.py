"""From the export to the sample: what is skipped and why, what is priced, scrubbed and cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from pytest_evalharness.base.text import printable
from pytest_evalharness.engines.evidence.calls import ExportRow, Utterance, rows
from pytest_evalharness.engines.evidence.outcomes import Meaning, Outcomes
from pytest_evalharness.engines.evidence.sampling import Reservoir, Sample, ScrubbedCall, Spool
from pytest_evalharness.engines.evidence.scrubbing import CallKeys, scrub

_MOST_LABELS = 200
_OTHER_LABELS = "(other labels)"
_LONGEST_LABEL = 60
_MIXED = "mixed"
UNMAPPED = "unmapped"
"""What a label is taken for that the outcome map does not know."""


@dataclass(frozen=True)
class Collecting:
    """How a sample is taken.

    Attributes:
        export: the file.
        size: calls to sample.
        max_turns: agent turns kept of a call.
        outcomes: what labels mean.
        keys: names calls.
    """

    export: Path
    size: int
    max_turns: int
    outcomes: Outcomes
    keys: CallKeys


def collect(how: Collecting, spool: Spool, on_progress: Callable[[float], None] = lambda _: None) -> Sample:
    """Read the export once and keep a uniform sample of its usable calls.

    Raises:
        EvidenceUnreadable: the export cannot be read to its end.
    """
    sieve = _Sieve(how)
    lines, export_hash = 0, ""
    encode = msgspec.json.Encoder().encode
    with spool.writer() as file:
        reservoir: Reservoir[_Usable] = Reservoir(
            how.size, file, lambda call: encode(call.scrubbed(how.max_turns))
        )
        for found in rows(how.export, sieve.skipped, on_progress):
            if isinstance(found, str):
                export_hash = found
                break
            line, row = found
            lines += 1
            call = sieve.usable(row)
            if call is not None and reservoir.wants(call.number):
                reservoir.keep(call.number, line, call)
        entries = reservoir.entries()
    sample = Sample(
        entries=entries,
        skipped=dict(sorted(sieve.skipped.items())),
        labels=dict(sieve.labels.most_common()),
        meanings=sieve.meanings,
        rows=lines + sum(sieve.skipped[why] for why in ("bad_json", "wrong_types", "too_long")),
        usable=sieve.count,
        export_hash=export_hash,
    )
    spool.finish(sample)
    return sample


class _Usable(NamedTuple):
    name: str
    number: int
    meaning: Meaning
    row: ExportRow

    def scrubbed(self, max_turns: int) -> ScrubbedCall:
        """What is left of the call: phone numbers and addresses are gone before anybody else sees it."""
        said = [Utterance(one.agent, scrub(one.text)) for one in self.row.utterances(max_turns)]
        return ScrubbedCall(self.name, self.meaning, said)


class _Sieve:
    """Lets usable calls through and counts the others by reason."""

    def __init__(self, how: Collecting) -> None:
        self._outcomes, self._keys = how.outcomes, how.keys
        self._seen: set[int] = set()
        self.skipped: Counter[str] = Counter()
        self.labels: Counter[str] = Counter()
        self.meanings: dict[str, str] = {}
        self.count = 0
        self._known: dict[str, tuple[str, Meaning | None]] = {}

    def usable(self, row: ExportRow) -> _Usable | None:
        found = self._look(row)
        if isinstance(found, str):
            self.skipped[found] += 1
            return None
        self._seen.add(found.number)
        self.count += 1
        return found

    def _look(self, row: ExportRow) -> _Usable | str:
        """The call, or why it is none."""
        label = row.label
        if not label:
            return "no_outcome"
        meaning = self._meaning(label)
        if meaning is None or meaning == "ignore":
            return "ignored_outcome" if meaning else "unmapped_outcome"
        call_id = row.name
        if call_id is None:
            return "no_call_id"
        name, number = self._keys.of(call_id)
        if number in self._seen:
            return "duplicate_call"
        if not row.has_agent:
            return "no_agent_turn"
        return _Usable(name, number, meaning, row)

    def _meaning(self, label: str) -> Meaning | None:
        """What a label means; it is counted too."""
        known = self._known.get(label)
        if known is None:
            known = shown_label(label), self._outcomes.meaning(label)
            # A column of free text must fill neither the memory nor the document.
            if len(self._known) < _MOST_LABELS:
                self._known[label] = known
            elif known[0] not in self.labels:
                known = _OTHER_LABELS, known[1]
            told = known[1] or UNMAPPED
            if self.meanings.setdefault(known[0], told) != told:
                self.meanings[known[0]] = _MIXED
        self.labels[known[0]] += 1
        return known[1]


def shown_label(label: str) -> str:
    """A label as documents and messages show it."""
    return printable(scrub(label), _LONGEST_LABEL)
