"""The words of a verdict: what was claimed, what was found, and every reason there can be."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What the evidence says, whatever was claimed.

    `EQUIVALENT` is shown, never assumed; `INCONCLUSIVE` is not "no difference"; `UNTRUSTWORTHY` means a check
    of the run itself failed, so nothing is said about the effect.
    """

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    UNTRUSTWORTHY = "untrustworthy"


class Claim(StrEnum):
    """What a case says about its candidate before anything is played."""

    BETTER = "better"
    NOT_WORSE = "not_worse"
    NONINFERIOR = "noninferior"
    EQUIVALENT = "equivalent"
    SEPARATED = "separated"

    @property
    def needs_margin(self) -> bool:
        """Whether the claim means nothing without a margin."""
        return self in (Claim.NONINFERIOR, Claim.EQUIVALENT)


class Rule(StrEnum):
    """What decides a direction.

    `SCORE`: the score interval for the difference excludes 0. `OVERLAP`: the two arms' Wilson intervals do not
    overlap, which is far stricter and safe under repeated looks. `NEWCOMBE`: Newcombe's closed-form interval
    excludes 0. `EXACT`: Barnard's p-value is at most alpha, which never errs more often than alpha.
    `GROUP_SEQUENTIAL`: the score statistic crosses the bound of a planned look; all looks together err with alpha.
    `ALWAYS_VALID`: the evidence gathered in the order of play reaches 1/alpha, which holds however often one looks.
    `BAYES`: nothing does; the posterior is reported and every claim stays open.
    """

    SCORE = "score"
    OVERLAP = "overlap"
    NEWCOMBE = "newcombe"
    EXACT = "exact"
    GROUP_SEQUENTIAL = "group_sequential"
    ALWAYS_VALID = "always_valid"
    BAYES = "bayes"

    @property
    def decides(self) -> bool:
        """Whether the rule can decide anything at all."""
        return self is not Rule.BAYES

    @property
    def sequential(self) -> bool:
        """Whether the rule is made for results that come in bit by bit; it tells directions and no margins."""
        return self in (Rule.GROUP_SEQUENTIAL, Rule.ALWAYS_VALID)

    @property
    def stands_looks(self) -> bool:
        """Whether looks may be planned under the rule: the others promise their error rate for a single one."""
        return self.sequential or self is Rule.OVERLAP

    @property
    def survives_any_look(self) -> bool:
        """Whether even an unplanned look leaves the rule what it promised."""
        return self in (Rule.OVERLAP, Rule.ALWAYS_VALID, Rule.BAYES)


class Metric(StrEnum):
    """What is measured in a game. The primary metric decides; a secondary one can only object."""

    WINS = "wins"
    SCORE = "score"


class Spending(StrEnum):
    """How the error is spent over planned looks: hardly any early, or nearly evenly."""

    OBRIEN_FLEMING = "obrien_fleming"
    POCOCK = "pocock"


class MissingPolicy(StrEnum):
    """What missing episodes may do to a verdict.

    `EXCLUDE`: they are left out, their worst case is told, and they demote the verdict only where they could turn it
    around, are more than 10 % of an arm, or differ between the arms. `STRICT`: the verdict must hold in their worst case
    too.
    """

    EXCLUDE = "exclude"
    STRICT = "strict"


class Effects(StrEnum):
    """What pooled configurations are to each other.

    `FIXED`: they ask one question and one effect is expected in all of them. `RANDOM`: they are a sample of opponents or
    maps whose effects may differ, and the mean effect is asked for.
    """

    FIXED = "fixed"
    RANDOM = "random"


class Attribution(StrEnum):
    """Who is to blame for an episode that was not played to its end.

    The tested policy's own failure is its loss: leaving it out would reward a crash in a game that was being lost. The
    infrastructure's failure, and one whose cause nobody knows, leave the episode missing.
    """

    POLICY = "policy"
    INFRASTRUCTURE = "infrastructure"
    UNKNOWN = "unknown"

    @property
    def is_loss(self) -> bool:
        """Whether the episode counts as lost; it is missing otherwise."""
        return self is Attribution.POLICY


class Pairing(StrEnum):
    """How games of the two arms belong together, fixed before they are played.

    `SEED`: game i of both arms has the same seed, opponents and seats, so pairs are judged and not arms.
    """

    SEED = "seed"


class Decision(StrEnum):
    """What becomes of a claim."""

    MET = "met"
    NOT_MET = "not_met"
    CANNOT_TELL = "cannot_tell"
    UNTRUSTWORTHY = "untrustworthy"

    @property
    def words(self) -> str:
        """The decision as it is printed."""
        return self.value.replace("_", " ")


class Separated(StrEnum):
    """Whose Wilson interval lies wholly above the other's."""

    CANDIDATE = "candidate"
    BASELINE = "baseline"
    NONE = "none"


class Sensitivity(StrEnum):
    """What the missing episodes could do to the verdict if all of them had gone one way."""

    HOLDS = "holds"
    WEAKENS = "weakens"
    REVERSES = "reverses"
    COULD_DECIDE = "could_decide"

    @property
    def words(self) -> str:
        """The word as it is printed."""
        return self.value.replace("_", " ")


class Reason(StrEnum):
    """Why a verdict is what it is: a stable code, and in `sentence` what it means."""

    # The run cannot be trusted.
    SAME_BUILD = "same_build"
    NOT_TERMINAL = "not_terminal"
    WEDGED = "wedged"
    FAILED = "failed"
    SEATS = "seats"
    ROLES = "roles"
    SEEDS = "seeds"
    VERSIONS = "versions"
    ADVISER = "adviser"
    CONFIG = "config"
    ROSTER = "roster"
    DUPLICATES = "duplicates"
    REPORTS_MISSING = "reports_missing"
    DECLARATION_CHANGED = "declaration_changed"
    UNMEASURED = "unmeasured"
    NO_GAMES = "no_games"
    MISSING_OVER_LIMIT = "missing_over_limit"
    MISSING_DIFFERS = "missing_differs_between_arms"
    MISSING_REVERSES = "missing_reverses"
    AA_ALARM = "aa_alarm"
    LEFT_OUT = "left_out"
    RUN_CHECK = "run_check"
    INSTANCES = "instances"
    # The evidence decides nothing.
    SMALL_N = "small_n"
    EXACT_DISAGREES = "exact_disagrees"
    SPANS_ZERO = "spans_zero"
    OVERLAP = "overlap"
    EXACT_KEEPS = "exact_keeps"
    BOUND_NOT_REACHED = "bound_not_reached"
    EVIDENCE_SHORT = "evidence_short"
    POOL_KEEPS = "pool_keeps"
    METRICS_DISAGREE = "metrics_disagree"
    FAMILY = "family"
    MISSING_STRICT = "missing_strict"
    NO_SPREAD = "no_spread"
    FEW_ROLLOUTS = "few_rollouts"
    REPORT_ONLY = "report_only"
    EFFECTIVE_N = "effective_n"
    ESTIMATORS_DISAGREE = "estimators_disagree"
    # Worth knowing beside any verdict.
    WITHIN_MARGIN = "within_margin"
    CEILING = "ceiling"
    UNPLANNED_LOOK = "unplanned_look"
    ONE_SEED = "one_seed"
    DRAWN_FIELD = "drawn_field"
    NATURAL_ROLES = "natural_roles"
    DECLARED_AFTER = "declared_after"
    OWN_OPPONENT = "own_opponent"
    CRASHES = "crashes"
    ADVISER_SILENT = "adviser_silent"
    BUILDS_UNPROVEN = "builds_unproven"
    IMAGE_NOT_VISIBLE = "image_not_visible"
    HETEROGENEOUS = "heterogeneous"
    EXPLORATORY = "exploratory"
    MISSING_WEAKENS = "missing_weakens"
    MISSING_COULD_DECIDE = "missing_could_decide"

    @property
    def sentence(self) -> str:
        """The reason in plain words."""
        return _SENTENCES[self]

    @property
    def forbids_trust(self) -> bool:
        """Whether this reason alone makes a comparison untrustworthy."""
        return self in _UNTRUSTWORTHY


_SENTENCES = {
    Reason.SAME_BUILD: "both arms are the same build, so there is no edit to judge",
    Reason.NOT_TERMINAL: "an arm had not finished when it was read",
    Reason.WEDGED: "an arm stopped making progress",
    Reason.FAILED: "an arm failed on the server",
    Reason.SEATS: "players did not sit where they were placed",
    Reason.ROLES: "roles in the results are not the ones that were forced",
    Reason.SEEDS: "games were not played with the seeds that were asked for",
    Reason.VERSIONS: "the arms did not play the same version of the game",
    Reason.ADVISER: "the tested policy's adviser did not decide as often as was asked for, or nothing tells that it did",
    Reason.CONFIG: "the arms did not play with the same settings",
    Reason.ROSTER: "the arms did not meet the same opponents",
    Reason.DUPLICATES: "episodes are copies of one another, so there are fewer of them than claimed",
    Reason.REPORTS_MISSING: "not every case reported its result",
    Reason.DECLARATION_CHANGED: "the declaration was changed after results could be seen",
    Reason.UNMEASURED: "games that were played tell nothing of the declared metric",
    Reason.NO_GAMES: "an arm has no finished game",
    Reason.MISSING_OVER_LIMIT: "more than 10 % of an arm's episodes are missing",
    Reason.MISSING_DIFFERS: "one arm lost clearly more episodes than the other",
    Reason.MISSING_REVERSES: "the missing episodes could turn the result around",
    Reason.AA_ALARM: "an A/A run found a difference: its arms are not one build, or harness, league or chance made it",
    Reason.LEFT_OUT: "judged comparisons of the same two builds are left out of the pool: all of them are pooled, or none",
    Reason.RUN_CHECK: "a benchmark run failed a check of its own, so its rewards measure something else",
    Reason.INSTANCES: "the two benchmark runs did not meet the same instances",
    Reason.SMALL_N: "fewer than 5 finished games in an arm decide nothing",
    Reason.EXACT_DISAGREES: "with 5 to 9 games the exact test must agree, and it does not",
    Reason.SPANS_ZERO: "the interval for the difference includes 0",
    Reason.OVERLAP: "the two arms' intervals overlap",
    Reason.EXACT_KEEPS: "the exact test does not reject that both arms win equally often",
    Reason.BOUND_NOT_REACHED: "the difference does not reach this look's bound",
    Reason.EVIDENCE_SHORT: "the evidence gathered in the order of play falls short",
    Reason.POOL_KEEPS: "the test that decides does not reject that both arms win equally often",
    Reason.METRICS_DISAGREE: "wins and seat score decide in opposite directions: a scoring error, or a real trade-off",
    Reason.FAMILY: "it would stand alone, and does not among all the claims that were tested together",
    Reason.MISSING_STRICT: "the missing episodes at their worst would undo it, and the declared policy is strict",
    Reason.NO_SPREAD: "the metric is the same in every game of an arm, so no difference can be tested",
    Reason.FEW_ROLLOUTS: "under 5 rollouts of an arm, or under 2 of a task: nothing tells how far rollouts differ",
    Reason.REPORT_ONLY: "the bayes rule is report only: it never decides, so a claim needs another rule",
    Reason.EFFECTIVE_N: "too few logged calls agree with the table: under 30 effective ones, or under 1 % of them",
    Reason.ESTIMATORS_DISAGREE: "importance sampling says ahead, the fitted model does not",
    Reason.WITHIN_MARGIN: "the difference is real but smaller than the margin",
    Reason.CEILING: "both arms win almost always or almost never, so this eval cannot tell them apart",
    Reason.UNPLANNED_LOOK: "results were looked at before all were in, so the overlap rule decides for good",
    Reason.ONE_SEED: "every game had one and the same seed: a single cluster, whose interval says nothing of other seeds",
    Reason.BUILDS_UNPROVEN: "nothing proves that the arms are different builds, and --eval-unproven-builds=allow took it on trust",
    Reason.IMAGE_NOT_VISIBLE: "image not visible: another player's build is private, and the policy versions alone tell the arms apart",
    Reason.DRAWN_FIELD: "every game drew its opponents, so the arms met different fields: the difference may be theirs",
    Reason.NATURAL_ROLES: "roles were dealt and not forced: an arm that was imposter more often was so by chance, and a gap in one "
    "role may hide behind the other",
    Reason.DECLARED_AFTER: "requests created elsewhere: the claim was declared after they were posted, so it is not registered in advance",
    Reason.OWN_OPPONENT: "an opponent was named that is your own: the field is not your rivals' alone",
    Reason.CRASHES: "the tested policy's process broke while its games went on: they count as lost",
    Reason.ADVISER_SILENT: "the tested policy's adviser never decided anything: what was measured is the policy without it",
    Reason.HETEROGENEOUS: "the configurations disagree more than chance explains, so one pooled difference stands for unlike ones",
    Reason.EXPLORATORY: "the pool was declared after its results were seen: exploratory",
    Reason.MISSING_WEAKENS: "with the missing episodes at their worst the verdict would not stand",
    Reason.MISSING_COULD_DECIDE: "the missing episodes could have decided it",
}

_UNTRUSTWORTHY = frozenset(
    {
        Reason.SAME_BUILD,
        Reason.NOT_TERMINAL,
        Reason.WEDGED,
        Reason.FAILED,
        Reason.SEATS,
        Reason.ROLES,
        Reason.SEEDS,
        Reason.VERSIONS,
        Reason.ADVISER,
        Reason.CONFIG,
        Reason.ROSTER,
        Reason.DUPLICATES,
        Reason.REPORTS_MISSING,
        Reason.DECLARATION_CHANGED,
        Reason.UNMEASURED,
        Reason.NO_GAMES,
        Reason.MISSING_OVER_LIMIT,
        Reason.MISSING_DIFFERS,
        Reason.MISSING_REVERSES,
        Reason.AA_ALARM,
        Reason.LEFT_OUT,
        Reason.RUN_CHECK,
        Reason.INSTANCES,
    }
)
