"""What the pages list is what the code has, and numbers are computed again."""

import argparse
import math
import re
import runpy

import numpy as np
import pytest

from pytest_evalharness.arena.faults.registry import FAULTS
from pytest_evalharness.arena.game.cast import CAST
from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.match import SeatEntry, play
from pytest_evalharness.cli import main, runs
from pytest_evalharness.errors import ConditionNotMet, Inconclusive, Untrustworthy, UsageError
from pytest_evalharness.league import layouts
from pytest_evalharness.league.seats import layout
from pytest_evalharness.plugin import clbench, episodes, fixtures, marks
from pytest_evalharness.report.junit import properties, suite_properties
from pytest_evalharness.report.model import EXIT_WORDS
from pytest_evalharness.settings import BY_KEY
from pytest_evalharness.stats import difference, paired_power, power, sequential_power
from pytest_evalharness.verdict.chances import outcome_chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.family_power import family_power
from pytest_evalharness.verdict.pair_chances import paired_chances
from pytest_evalharness.verdict.planning import outlook
from pytest_evalharness.verdict.words import Claim, Decision, Rule, Verdict

RATES = "docs/explanation/true-rates.md"
STATISTICS = "docs/explanation/statistics.md"
VERDICT = "docs/explanation/verdict.md"
BETTER = Declaration("better")


def code(cell):
    """The first word in backticks of a cell."""
    return re.findall(r"`([^`]+)`", cell)[0]


# --------------------------------------------------------------- reference


def test_the_settings_page_is_the_settings_table(pages, root):
    page = pages["docs/reference/settings.md"].text
    made = runpy.run_path(str(root / "tests/docs/settings_page.py"))["page_with"](page)
    assert page == made, "run: python tests/docs/settings_page.py"


@pytest.mark.parametrize("name", ["README.md", "docs/reference/exit-codes.md"])
def test_exit_codes_are_those_of_the_report(pages, name):
    rows = pages[name].table("exit code")
    assert {int(row[0]): row[1] for row in rows} == EXIT_WORDS


def test_each_error_stands_beside_its_exit_code(pages):
    raised = {int(row[0]): row[2] for row in pages["docs/reference/exit-codes.md"].table("exit code")}
    for kind in (ConditionNotMet, Inconclusive, Untrustworthy, UsageError):
        assert f"`{kind.__name__}`" in raised[kind.exit_code]


def test_every_keyword_of_the_mark_is_described(pages):
    rows = pages["docs/reference/marks.md"].table("keyword")
    assert {code(row[0]) for row in rows} == set(marks._KEYWORDS)
    for row in rows:
        keyword, relation = code(row[0]), row[3]
        if keyword in marks._COMMAND_LINE_WINS:
            assert relation == f"overrides: `{BY_KEY[marks._COMMAND_LINE_WINS[keyword]].option}`"
        elif keyword in BY_KEY and BY_KEY[keyword].belongs_to_case:
            assert relation == f"fills: `{BY_KEY[keyword].option}`"
        else:
            assert relation == "-"


def test_every_keyword_of_a_pool_is_described(pages):
    rows = pages["docs/reference/marks.md"].table("keyword of a pool")
    assert {code(row[0]) for row in rows} == set(marks.KEYWORDS[marks.LEAGUE_POOL]) - set(marks._KEYWORDS)


def test_every_keyword_of_runs_is_described(pages):
    page = pages["docs/reference/marks.md"]
    assert {code(row[0]) for row in page.table("keyword of a run")} == set(marks.KEYWORDS[marks.CLBENCH])
    assert {code(row[0]) for row in page.table("keyword of two runs")} == set(
        marks.KEYWORDS[marks.CLBENCH_AB]
    )


def test_every_command_on_the_ledger_is_described(pages):
    rows = pages["docs/reference/files.md"].table("command")
    told = {
        " ".join(word for word in code(row[0]).split() if word.islower() and word.isalpha()) for row in rows
    }
    inner = argparse.ArgumentParser().add_subparsers()
    runs.add_to(inner)
    (group,) = [one for one in inner.choices["runs"]._actions if isinstance(one.choices, dict)]
    assert told == {"evalharness pool", *(f"evalharness runs {name}" for name in group.choices)}


def test_every_fixture_is_described(pages):
    rows = pages["docs/reference/fixtures.md"].table("fixture")
    made = {
        name
        for module in (fixtures, episodes, clbench)
        for name, it in vars(module).items()
        if type(it).__name__ == "FixtureFunctionDefinition"
    }
    assert {code(row[0]) for row in rows} == made


def test_every_keyword_of_compare_is_described(pages):
    told = pages["docs/reference/fixtures.md"].text.partition("Further keywords")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"`(\w+)`", told)) == layouts._FREE


def test_every_option_of_power_is_described(pages, capsys):
    rows = pages["docs/how-to.md"].text.partition("## Ask what a number")[2].partition("\n## ")[0]
    with pytest.raises(SystemExit):
        main(["power", "--help"])
    options = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert options <= set(re.findall(r"--[a-z][a-z-]+", rows))


def test_every_verdict_and_claim_is_explained(pages):
    page = pages["docs/explanation/verdict.md"]
    assert {row[0] for row in page.table("verdict")} == {verdict.upper() for verdict in Verdict}
    assert [row[0] for row in pages["README.md"].table("verdict")] == [verdict.upper() for verdict in Verdict]
    assert {code(row[0]) for row in page.table("claim")} == set(Claim)


def test_every_fault_is_described(pages):
    rows = pages["docs/reference/arena.md"].table("fault")
    described = {code(row[0]): "" if row[1] == "-" else code(row[1]) for row in rows}
    assert described == {fault.name: fault.value for fault in FAULTS.values()}


def test_every_player_is_described(pages):
    rows = pages["docs/reference/arena.md"].table("player")
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row[0])}
    assert named == {player.name for player in CAST} | {"keeper-alias"}


def test_every_junit_property_is_described(pages):
    rows = pages["docs/reference/files.md"].table("property")
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row[0])}
    arm = {"wins": 1, "finished": 2, "request_ids": ["xreq_1"]}
    judged = dict.fromkeys(("verdict", "decision", "separated", "diff", "p"), "")
    judged |= {"candidate": arm, "baseline": arm, "reasons": [], "ci": (0.0, 1.0)}
    judged["declaration"] = {"claim": "better", "rule": "score"}
    made = properties({"judgement": judged, "plan": {"server": ""}, "attempt": 1}, "")
    of_the_report = {"outcome", "episodes_candidate", "episodes_baseline"}  # which the plugin attaches itself
    assert named == {name for name, _ in made} | {f"evalharness.{name}" for name in of_the_report}


def test_every_property_of_a_suite_is_described(pages):
    rows = pages["docs/reference/files.md"].table("suite property")
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row[0])]
    made = suite_properties(
        {"run": "", "server": "", "exit_code": 0}, (), missing=("a", "b"), unfinished=("c",)
    )
    # Of a whole vocabulary only the first word is shown.
    kinds = [".".join(name.split(".")[:2]) for name, _ in made]
    assert [".".join(name.split(".")[:2]) for name in named] == list(dict.fromkeys(kinds))
    assert {name for name in named if name.count(".") > 1} <= {name for name, _ in made}


# -------------------------------------------------------------- statistics


def number(text):
    return float(text.lstrip("+"))


def test_the_power_table_is_exact(pages):
    rows = pages[STATISTICS].table("true lift")
    assert len(rows) == 3
    for lift, *cells in rows:
        for games, cell in zip((8, 30, 100), cells, strict=True):
            found = outcome_chances(BETTER, 0.5 + number(lift), 0.5, games)
            told = [number(part) for part in cell.split(" / ")]
            assert told == [round(found.decisions[Decision.MET], 3), round(found.separated[0], 3)]


def test_the_plan_that_is_shown_is_the_one_that_is_printed(pages, capsys):
    shown = next(b for b in pages["docs/how-to.md"].blocks("text") if b.text.startswith("claim      better"))
    assert main(["power", "--base", ".5", "--lift", ".1"]) == 0
    assert capsys.readouterr().out == shown.text
    planned = [line.strip() for line in shown.text.splitlines()[1:6]]
    tutorial = [
        line.strip() for b in pages["docs/tutorial.md"].blocks("text") for line in b.text.splitlines()
    ]
    assert set(planned) <= set(tutorial)


@pytest.mark.slow
def test_the_calibration_that_is_shown_is_the_one_that_is_played(pages, capsys):
    shown = next(b for b in pages["docs/how-to.md"].blocks("text") if b.text.startswith("200 A/A"))
    assert main(["calibrate", "--runs", "200"]) == 0
    assert capsys.readouterr().out == shown.text


def test_the_table_of_pairs_is_exact(pages):
    heads = ["0", ".1", ".3", ".6"]
    paired, independent = pages["docs/how-to.md"].table("correlation in a pair")
    declared = Declaration("better", pairing="seed")
    for head, as_pairs, as_arms in zip(heads, paired[1:], independent[1:], strict=True):
        phi = number(head)
        found = paired_chances(declared, 0.7, 0.5, 30, phi).decisions[Decision.MET]
        assert number(as_pairs) == round(found, 3)
        assert number(as_arms) == round(_ignoring_pairing(0.7, 0.5, 30, phi), 3)


def _ignoring_pairing(p_c, p_b, pairs, phi):
    """How often pairs are told better by the score test of independent arms: every table of pairs, weighted."""
    only_c, only_b = paired_power.pair_rates(p_c, p_b, phi)
    both = p_c - only_c
    rates = both, only_c, only_b, 1.0 - both - only_c - only_b
    total = 0.0
    for a in range(pairs + 1):
        for b in range(pairs + 1 - a):
            for c in range(pairs + 1 - a - b):
                if b <= c or difference.score_p(a + b, pairs, a + c, pairs) > 0.05:
                    continue
                e = pairs - a - b - c
                ways = math.factorial(pairs) / math.prod(map(math.factorial, (a, b, c, e)))
                total += ways * math.prod(rate**n for rate, n in zip(rates, (a, b, c, e), strict=True))
    return total


def test_the_error_rates_of_pooling_are_simulated_again(pages):
    rng, games, pools = np.random.default_rng(3), 30, 100_000
    rates = [0.3, 0.5, 0.4, 0.6, 0.5, 0.7]
    (_, *proper), (_, *chosen) = pages[STATISTICS].table("pooled")
    for k, *cells in zip((2, 4, 6), proper, chosen, strict=True):
        by_cmh, by_direction = map(number, cells)
        ours, theirs = (rng.binomial(games, rates[:k], (pools, k)) for _ in "cb")
        wins, each = ours + theirs, 2 * games
        variance = (wins * (each - wins)).sum(axis=1) / (4 * (each - 1))
        excess = (ours - theirs).sum(axis=1) / 2
        assert np.mean(np.abs(excess) > 1.96 * np.sqrt(variance)) == pytest.approx(by_cmh, abs=0.005)
        same = np.sign(ours - theirs) == np.sign(excess)[:, None]
        kept = same.sum(axis=1)
        found = np.abs(raw_z((ours * same).sum(axis=1), (theirs * same).sum(axis=1), games * kept)) > 1.96
        assert np.mean(found & (kept >= 2)) == pytest.approx(by_direction, abs=0.005)


def raw_z(ours, theirs, games):
    """The score statistic of arms of equal size; 0 where nothing varies."""
    wins, total = ours + theirs, np.maximum(2 * games, 1)
    spread = wins * (total - wins) * (total / np.maximum(total - 1, 1))
    return np.divide(
        (ours - theirs) * total, np.sqrt(total * spread), where=spread > 0, out=np.zeros(len(wins))
    )


def test_every_other_rule_is_named_beside_the_default(pages):
    told = pages[VERDICT].text.partition("That is the default rule")[2].partition("\n\n")[0]
    assert re.findall(r"`(\w+)`", told) == [rule for rule in Rule if rule is not Rule.SCORE]


def test_what_equivalence_takes_is_counted_out(pages):
    told = pages[VERDICT].text.partition("“neutral” cannot be had cheaply")[2].partition("\n\n")[0]
    needed = [outlook(Declaration("equivalent", margin=m), games=30).needed.games for m in (0.1, 0.2)]
    assert [int(number) for number in re.findall(r"(?<![.\d])\d{3}(?!\d)", told)] == needed


def test_the_share_that_points_the_wrong_way_is_exact(pages):
    better, worse = power.exact_power(0.6, 0.5, 30)
    told = re.findall(r"([\d.]+) % of decisive\s+ones point the wrong way", pages[VERDICT].text)
    assert told == [f"{worse / (better + worse):.1%}".rstrip("%")]


def test_what_looking_whenever_one_likes_finds_is_exact(pages):
    overlap = sequential_power.overlap_power(0.7, 0.5, range(8, 101))
    none = sequential_power.overlap_power(0.5, 0.5, range(8, 101))
    found = [
        sequential_power.betting_power(0.7, 0.5, 100).better,
        sequential_power.evalue_power(0.7, 0.5, 0.3, 100).better,
        overlap.better,
        none.better + none.worse,
    ]
    sentence = (
        r"within 100 games with (\.\d\d) \(pairs that correlate \.3: (\.\d\d)\)\. `overlap` looked at after every "
        r"game from 8 on finds it with (\.\d\d),\s+and errs with (\.\d\d)\."
    )
    (told,) = re.findall(sentence, pages[STATISTICS].text)
    assert [number(part) for part in told] == [round(one, 2) for one in found]


def test_every_rule_is_explained(pages):
    assert [code(row[0]) for row in pages[STATISTICS].table("rule")] == list(Rule)


def test_the_table_of_the_rules_is_exact(pages):
    rates = [k / 200 for k in range(1, 200)]
    rows = pages[STATISTICS].table("games an arm")
    assert len(rows) == 6
    for name, *cells in rows:
        games = int(name.split()[-1])
        for rule, cell in zip(("score", "overlap", "newcombe", "exact"), cells, strict=True):
            if name.startswith("error"):
                found = max(sum(power.exact_power(p, p, games, rule=rule)) for p in rates)
            else:
                found = power.exact_power(0.7, 0.5, games, rule=rule)[0]
            assert number(cell) == round(found, 3), (name, rule)


def test_the_table_of_what_a_family_costs_is_exact(pages):
    rows = pages[STATISTICS].table("claims")
    assert len(rows) == 4
    for claims, *cells in rows:
        for (games, lift), cell in zip(((30, 0.2), (30, 0.3), (100, 0.1), (100, 0.2)), cells, strict=True):
            found = family_power(Declaration("better", target_lift=lift), int(claims), games)
            assert number(cell) == round(found.among, 3), (claims, games, lift)
    nothing = outcome_chances(BETTER, 0.5, 0.5, 30).verdicts
    quiet = (1 - nothing[Verdict.BETTER] - nothing[Verdict.WORSE]) ** 12
    assert f"in {1 - quiet:.0%} of runs".replace("%", " %") in pages[STATISTICS].text


def test_the_required_games_are_exact(pages):
    for lift, *cells in pages[STATISTICS].table("true lift from .5"):
        for rule, cell in zip(("score", "overlap"), cells, strict=True):
            needed = power.games_formula(0.5, 0.5 + number(lift), 0.05, rule=rule)
            assert int(cell) - 1 < needed <= int(cell)


# --------------------------------------------------------------- true rates

CASES = {
    "test_crew_win_rate": (BETTER, 0, 30),
    "test_imposter_is_not_hurt": (Declaration("noninferior", margin=0.20), 1, 100),
    "test_their_bot_in_our_seat": (BETTER, 0, 30),
}
"""Case → its claim, the column of the rates it depends on (crew, imposter), its episodes."""


@pytest.fixture
def rates(pages):
    rows = pages[RATES].table("build")
    return {code(row[0]): (int(row[1]) / 10_000, int(row[2]) / 10_000) for row in rows}


def test_the_chances_follow_from_the_rates(pages, rates):
    rows = pages[RATES].table("case")
    assert len(rows) == 7
    for case, candidate, *told in rows:
        declared, column, games = CASES[code(case)]
        found = outcome_chances(declared, rates[code(candidate)][column], rates["keeper:v1"][column], games)
        order = (Decision.MET, Decision.NOT_MET, Decision.CANNOT_TELL)
        assert told == [f"{100 * found.decisions[word]:.1f} %" for word in order], case


def test_the_cases_are_the_shipped_ones(root):
    on_no_league = {"test_engines.py", "test_cl_bench_smoke.py"}
    files = [path for path in (root / "evals").glob("test_*.py") if path.name not in on_no_league]
    shipped = "".join(path.read_text() for path in files)
    assert set(re.findall(r"def (test_\w+)\(", shipped)) == set(CASES)
    for declared, _, games in CASES.values():
        assert f'claim="{declared.claim}"' in shipped
        assert f"episodes={games}" in shipped
    assert "margin=0.20" in shipped


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("keeper:v1", "crew"),
        ("keeper:v2", "crew"),
        ("keeper:v3", "crew"),
        ("rival:v3", "crew"),
        ("keeper:v1", "imposter"),
    ],
)
def test_the_rates_are_those_of_play(pages, rates, label, role):
    """A share of the games that were counted: within four standard errors."""
    games = 400
    around = re.findall(r"`(\w+:v\d)`", pages[RATES].text.partition("| build |")[0])
    assert len(around) == 7
    roles = layout(BY_KEY["layout_seed"].default)
    seat = roles.roles.index(role)
    seats = [*around[:seat], label, *around[seat:]]
    entries = [SeatEntry(each, each.replace(":v", "-")) for each in seats]
    config = parse_config({"slots": roles.slots()})
    wins = sum(bool(play(config, entries, seed).results["win"][seat]) for seed in range(games))
    rate = rates[label][role == "imposter"]
    assert abs(wins / games - rate) < 4 * (rate * (1 - rate) / games) ** 0.5
