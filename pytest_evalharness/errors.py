"""One tree of errors. Each says what happened, what was not done and the command to run next.

    EvalHarnessError
    ├── UsageError              the command line, a mark or a setting is wrong            exit 4
    ├── ConditionNotMet         the evidence is sound and the claim is not met            exit 1
    ├── Inconclusive            the evidence is sound and cannot tell                     exit 10
    └── Untrustworthy           there is no evidence anyone should believe                exit 11
        ├── NoCredentials           no token, an unreadable file
        │   └── ForkWithoutSecrets  a pull request from a fork, which gets no token: not run
        ├── CredentialsRejected     the server does not accept the token
        ├── ServerUnreachable       nobody answered in time
        ├── NotTheService           somebody answered, but not the league's API
        ├── UnknownPolicy           a name that is no owned, uploaded policy
        ├── AmbiguousPolicy         a name that could be several versions
        ├── SameBuild               both arms are one and the same build
        ├── FieldUnavailable        too few live players, an opponent who is not live
        ├── DeclarationChanged      another claim or rule, after results were seen
        ├── UnprovenBuilds          nothing proves that the arms are two builds
        ├── ImageUnavailable        a local image that was named cannot be inspected
        ├── SetupChanged            a comparison cannot be extended on the set-up that it had
        ├── RequestRefused          the server refused the experience request
        ├── SubmissionUnknown       a POST whose fate the server cannot tell
        ├── ArmStalled              a wedged seat, or a budget that ran out
        ├── ArmFailed               an arm ended without results
        ├── OverBudget              more credits than the budget allows, or a server that tells none
        ├── JournalUnavailable      the ledger cannot be read or written
        ├── ReportsMissing          a collected case never reported
        ├── NothingJudged           a case passed without looking at its evidence
        ├── ArtifactUnreadable      an episode's artifact that is not what it should be
        ├── EvidenceUnreadable      a file that is no evidence of logged calls
        ├── NotEnoughEvidence       evidence without what an engine or an estimate needs
        ├── BadPolicy               an engine returned no decision table
        ├── EvidenceContradicted    the checks inside a benchmark do not hold
        ├── TooExpensive            an engine that would plan in a world too big for it
        ├── EngineFailed            an engine's own code broke while it was fitted
        ├── TaggerFailed            a judge or a model that reads calls is of no use
        ├── RunUnreadable           a folder that is no published CL-Bench run, or a spoilt one
        ├── ReferenceMissing        nothing to normalise a CL-Bench run by
        ├── ScalesMixed             rewards of cohort studies in a unit that nobody tells
        ├── NothingComplete         a CL-Bench run without one complete rollout
        ├── NoCheckout              a folder that is no checkout of CL-Bench, or cannot be asked
        ├── NotReady                a CL-Bench campaign that its preflight does not let start
        ├── RunsIncomparable        two CL-Bench runs without a task in common
        ├── CampaignChanged         a CL-Bench campaign that would go on as something else
        ├── CampaignBusy            a CL-Bench campaign that another process supervises
        ├── BenchmarkRefused        CL-Bench that could not be started, or did not take its arguments
        ├── SurvivorsRemain         processes of a CL-Bench campaign that cannot be ended
        ├── NothingToSalvage        no CL-Bench campaign where one should have been left
        ├── StillRunning            a CL-Bench campaign whose processes are alive cannot be salvaged
        ├── NotSalvaged             what a CL-Bench campaign left could not be written anew
        ├── SmokeRefused            a CL-Bench smoke that cannot begin
        ├── EngineUnavailable       the container engine does not tell what it holds
        ├── NothingLeft             a CL-Bench campaign that left neither an engine's folder nor a log
        └── FamiliesMixed           the benchmark's tasks beside those of the embedded miniature

Every class has a stable code; `docs/reference/errors.md` has a paragraph for each.
"""

from __future__ import annotations

from typing import ClassVar

_LONGEST_LINE = 2000


class EvalHarnessError(Exception):
    """The root. Catch it to catch everything this package raises on purpose.

    Args:
        what: what happened, and to which arm, seat, file or request. Its first line carries the decision.
        not_done: what did not happen because of it (`nothing was submitted`), or what still goes on.
        next_step: the command or the action to take next.
    """

    code: ClassVar[str] = "EVH000"
    exit_code: ClassVar[int] = 11

    def __init__(self, what: str, *, not_done: str = "", next_step: str = "") -> None:
        self.what = _clean(what)
        self.not_done = _clean(not_done)
        self.next_step = _clean(next_step)
        super().__init__(self.what)

    def __str__(self) -> str:
        """All of it, the decision first."""
        lines = [self.what]
        if self.not_done:
            lines.append(f"  not done: {self.not_done}")
        if self.next_step:
            lines.append(f"  next:     {self.next_step}")
        lines.append(f"  code:     {self.code}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        """Errors travel between processes whole."""
        return (_rebuild, (type(self), self.what, self.not_done, self.next_step))


def _clean(text: str) -> str:
    """The text without secrets, and without anything in it that could steer a terminal: ids and names come from outside."""
    from pytest_evalharness.base.text import (
        printable,
        redact,
    )  # here: errors are imported in every pytest run

    return "\n".join(printable(line, _LONGEST_LINE) for line in redact(text).split("\n"))


def _rebuild(kind: type[EvalHarnessError], what: str, not_done: str, next_step: str) -> EvalHarnessError:
    return kind(what, not_done=not_done, next_step=next_step)


class UsageError(EvalHarnessError):
    """The command line, a mark or a setting is wrong."""

    code = "EVH001"
    exit_code = 4


class ConditionNotMet(EvalHarnessError, AssertionError):
    """The evidence is trustworthy and the claim is not met."""

    code = "EVH101"
    exit_code = 1


class Inconclusive(EvalHarnessError):
    """The evidence is trustworthy and cannot tell."""

    code = "EVH110"
    exit_code = 10


class Untrustworthy(EvalHarnessError):
    """There is no evidence that anyone should believe."""

    code = "EVH111"


class NoCredentials(Untrustworthy):
    """No token was found where the league's own tools keep it."""

    code = "EVH201"


class ForkWithoutSecrets(NoCredentials):
    """A pull request from a fork was given no token, as is right: its cases were not run."""

    code = "EVH205"


class CredentialsRejected(Untrustworthy):
    """The server does not accept the token, or does not permit this."""

    code = "EVH202"


class ServerUnreachable(Untrustworthy):
    """Nobody answered in time."""

    code = "EVH203"


class NotTheService(Untrustworthy):
    """Somebody answered, but what came is not the league's API."""

    code = "EVH204"


class UnknownPolicy(Untrustworthy):
    """A name that is no owned, uploaded policy and no live league member."""

    code = "EVH211"


class AmbiguousPolicy(Untrustworthy):
    """A name that could mean several versions."""

    code = "EVH212"


class SameBuild(Untrustworthy):
    """Both arms are one and the same build: nothing could be learnt."""

    code = "EVH213"


class FieldUnavailable(Untrustworthy):
    """The field cannot be filled: too few live players, or an opponent who is not live."""

    code = "EVH214"


class DeclarationChanged(Untrustworthy):
    """The claim or its rule was changed after results of the same question were seen."""

    code = "EVH215"


class UnprovenBuilds(Untrustworthy):
    """Nothing proves that the arms are different builds."""

    code = "EVH216"


class ImageUnavailable(Untrustworthy):
    """A local image that was named cannot be inspected."""

    code = "EVH217"


class SetupChanged(Untrustworthy):
    """A comparison cannot be extended: the game, its scores, or who sat in it changed since."""

    code = "EVH218"


class RequestRefused(Untrustworthy):
    """The server refused to accept an experience request."""

    code = "EVH221"


class SubmissionUnknown(Untrustworthy):
    """A request was sent, its answer was lost, and the server cannot tell what became of it."""

    code = "EVH222"


class ArmStalled(Untrustworthy):
    """An arm hangs: a wedged seat, or a budget that ran out."""

    code = "EVH231"


class ArmFailed(Untrustworthy):
    """An arm ended without usable results."""

    code = "EVH232"


class OverBudget(Untrustworthy):
    """It would cost, or has cost, more credits or tokens than the budget allows; or the server does not tell what anything costs."""

    code = "EVH233"


class JournalUnavailable(Untrustworthy):
    """The ledger cannot be read or written."""

    code = "EVH241"


class ReportsMissing(Untrustworthy):
    """A collected case never reported."""

    code = "EVH242"


class NothingJudged(Untrustworthy):
    """A case passed without looking at its evidence."""

    code = "EVH243"


class ArtifactUnreadable(Untrustworthy):
    """An artifact of an episode is too large, damaged, or not what it should be."""

    code = "EVH251"


class EvidenceUnreadable(Untrustworthy):
    """A file is no evidence of logged calls, or was changed after it was built."""

    code = "EVH301"


class NotEnoughEvidence(Untrustworthy):
    """Evidence lacks what an engine or an estimate needs."""

    code = "EVH302"


class BadPolicy(Untrustworthy, ValueError):
    """An engine returned something that is no decision table."""

    code = "EVH303"


class EvidenceContradicted(Untrustworthy):
    """A benchmark's own checks do not hold, so none of its numbers is shown as a result."""

    code = "EVH304"


class TooExpensive(Untrustworthy):
    """An engine that solves a world again and again was given one that is too big for that."""

    code = "EVH305"


class EngineFailed(Untrustworthy):
    """An engine's own code broke while it was fitted."""

    code = "EVH306"


class TaggerFailed(Untrustworthy):
    """A judge or a decision model that should read calls refuses, has died, or says nothing that can be used."""

    code = "EVH311"


class RunUnreadable(Untrustworthy):
    """A folder is no published CL-Bench run, or a file of it is damaged."""

    code = "EVH401"


class ReferenceMissing(Untrustworthy):
    """The run whose stateless baseline normalises a CL-Bench score is not there, or does not fit."""

    code = "EVH402"


class ScalesMixed(Untrustworthy):
    """Rewards of cohort studies cannot be brought to one scale."""

    code = "EVH403"


class NothingComplete(Untrustworthy):
    """A CL-Bench run has no complete rollout to score."""

    code = "EVH404"


class NoCheckout(Untrustworthy):
    """A folder is no checkout of CL-Bench, or one that cannot be asked."""

    code = "EVH405"


class NotReady(Untrustworthy):
    """The preflight of a CL-Bench campaign found a reason not to start it."""

    code = "EVH406"


class RunsIncomparable(Untrustworthy):
    """Two CL-Bench runs have no task in common of which both have a whole rollout."""

    code = "EVH426"


class CampaignChanged(Untrustworthy):
    """A CL-Bench campaign would go on as something else than it began as."""

    code = "EVH410"


class CampaignBusy(Untrustworthy):
    """Another process supervises the CL-Bench campaign."""

    code = "EVH411"


class BenchmarkRefused(Untrustworthy):
    """CL-Bench could not be started, or did not take what it was asked."""

    code = "EVH412"


class SurvivorsRemain(Untrustworthy):
    """Processes of a CL-Bench campaign are alive and cannot be ended."""

    code = "EVH413"


class NothingToSalvage(Untrustworthy):
    """There is no campaign of that name, or a folder is no run directory of one."""

    code = "EVH415"


class StillRunning(Untrustworthy):
    """Processes of a CL-Bench campaign are alive: what they write cannot be salvaged yet."""

    code = "EVH416"


class NotSalvaged(Untrustworthy):
    """What a CL-Bench campaign left could not be written anew; it is as it was."""

    code = "EVH417"


class SmokeRefused(Untrustworthy):
    """A CL-Bench smoke cannot begin: its schedule cannot be there, or another smoke is under way."""

    code = "EVH418"


class EngineUnavailable(Untrustworthy):
    """The container engine does not tell what it holds: none answers, or not to this user, or not in time."""

    code = "EVH422"


class NothingLeft(Untrustworthy):
    """A CL-Bench campaign left neither an engine's folder nor a log: nothing tells what it lost."""

    code = "EVH423"


class FamiliesMixed(Untrustworthy):
    """A CL-Bench run, or a comparison of runs, puts tasks of the benchmark beside those of the embedded miniature."""

    code = "EVH430"


def by_code(code: str) -> type[EvalHarnessError]:
    """The class of a code, for errors that were stored; the root's branch `Untrustworthy` if unknown."""
    pending: list[type[EvalHarnessError]] = [EvalHarnessError]
    while pending:
        kind = pending.pop()
        if kind.code == code:
            return kind
        pending.extend(kind.__subclasses__())
    return Untrustworthy
