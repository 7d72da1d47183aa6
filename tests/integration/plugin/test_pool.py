"""Declared configurations, one verdict: posted together, judged together, shown together."""

import json

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.league.evidence_file import export, verify
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner

SERIAL_AND_WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])

POOL = """
import pytest

@pytest.mark.league_pool(configs=[{"role": "crew"}, {"opponents": ["gantry:v4"]}], claim="better", episodes=30)
def test_pool(pool):
    pool.require()
"""
OTHER = "opponents gantry:v4"


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def pooled(**words):
    told = ", ".join(f"{key}={value!r}" for key, value in words.items())
    return f"import pytest\n@pytest.mark.league_pool({told})\ndef test_pool(pool):\n    pool.require()\n"


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"configs": [{"rol": "crew"}, {}]}, "did you mean 'role'?"),
        ({"configs": [{"role": "crew"}, {}]}, "their games would be counted twice"),
        ({"configs": [{"top_n": 7}, {"top_n": 8}]}, "configurations 'top_n 7' and 'top_n 8' are the same"),
        ({"configs": [{"role": "crew"}, {"role": "imposter"}], "rule": "exact"}, "has no way to pool"),
    ],
    ids=["typo", "twice", "depth", "rule"],
)
def test_a_pool_that_cannot_be_is_a_usage_error(project, workers, words, told):
    result = project.cases(pooled(**words)).judge_here(*workers)
    assert result.ret == 4
    assert told in said(result)
    assert project.posted == 0


def test_configurations_that_turn_out_to_share_an_arm_are_refused_before_anything_is_posted(project):
    """That the best live player is the named one is known only once the field is."""
    project.cases(pooled(configs=[{"role": "crew"}, {"opponents": ["basilisk:v4"]}]))
    dry = project.judge_here("--eval-dry-run")
    assert dry.ret == 11
    result = project.judge_here()
    assert result.ret == 4
    for told in (dry, result):
        assert "configurations 'crew' and 'opponents basilisk:v4' are the same" in said(told)
    assert project.posted == 0


def test_a_case_makes_one_claim(project):
    project.cases(POOL.replace("def test_pool", "@pytest.mark.league_ab(role='crew')\ndef test_pool"))
    result = project.judge_here()
    assert result.ret == 4
    assert "a case makes one claim, and this one is marked league_ab and league_pool" in said(result)


def test_the_fixture_belongs_to_its_mark(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew")
        def test_pool_of_one(pool):
            pool.require()

        @pytest.mark.league_pool(configs=[{"role": "crew"}, {"role": "imposter"}])
        def test_ab_of_many(ab):
            ab.require()
    """)
    result = project.judge_here()
    assert result.ret == 4
    assert "the pool fixture needs @pytest.mark.league_pool(...) on " in said(result)
    assert "test_pool_of_one, which is marked league_ab" in said(result)
    assert "use the pool fixture" in said(result)
    assert project.posted == 0


def test_a_pool_that_nobody_looked_at_is_no_pass(project):
    result = project.cases(POOL.replace("pool.require()", "pass")).judge_here()
    assert result.ret == 11
    assert "nothing was judged" in said(result)
    assert "end the case with pool.require()" in said(result)


# -------------------------------------------------------------------- verdicts


@SERIAL_AND_WORKERS
def test_it_is_one_result_with_its_configurations(project, workers):
    result = project.cases(POOL).judge_here("-v", *workers)
    assert result.ret == 0, said(result)
    assert project.posted == 4
    result.stdout.fnmatch_lines(
        [
            "PASSED*A/B pool: BETTER, *, 2 configurations, 60 vs 60 games, seats verified",
            "*test_evals.py::test_pool",
            "*configuration crew */30 vs */30",
            f"*configuration {OTHER} */30 vs */30",
        ]
    )
    (found,) = project.results()["cases"][0]["results"]
    judged = found["judgement"]
    assert (judged["verdict"], judged["decision"]) == ("better", "met")
    assert [stratum["name"] for stratum in judged["strata"]] == ["crew", OTHER]
    assert set(found["strata"]) == {"crew", OTHER}
    assert found["strata"]["crew"]["judgement"]["candidate"] == judged["strata"][0]["candidate"]
    (properties,) = project.properties()
    assert properties["evalharness.kind"] == "A/B pool"
    assert properties["evalharness.n_candidate"] == "60"
    assert properties["evalharness.wins_candidate"] == ""
    assert properties["evalharness.strata"].startswith("crew ")
    assert len(properties["evalharness.request_candidate"].split()) == 2
    (summary,) = project.home.glob("runs/*/summary.md")
    rows = [line for line in summary.read_text().splitlines() if line.startswith("| ")]
    assert "60 games | 60 games" in rows[-3]
    assert "configuration crew" in rows[-2]
    assert "configuration opponents gantry" in rows[-1]


def test_a_worse_edit_fails_and_shows_every_configuration(project):
    result = project.cases(POOL).judge_here(candidate="keeper:v3")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "E*A/B pool: WORSE, -*",
            "E*configuration  : crew *",
            f"E*configuration  : {OTHER} *",
            "E*CMH *-> worse*",
            "E*heterogeneity  : Q *",
        ]
    )


def test_one_that_cannot_tell_names_the_games_that_could(project):
    project.cases(POOL.replace("episodes=30", "episodes=6"))
    result = project.judge_here(candidate="keeper:v4")
    assert result.ret == 10
    assert "--eval-num 100 asks again" in said(result) or "configurations of 100 games" in said(result)


@pytest.mark.failure_mode(number=24)
def test_the_arms_of_all_cases_are_posted_at_once_and_shared(project):
    project.cases(
        POOL + "\n@pytest.mark.league_ab(role='crew', episodes=30)\ndef test_crew(ab):\n    ab.require()\n"
    )
    assert project.judge_here().ret == 0
    assert project.posted == 4  # the crew arms serve both cases
    again = project.judge_here()
    assert again.ret == 0
    assert project.posted == 4
    again.stdout.fnmatch_lines(["*read again, * old, nothing was posted*"])


def test_a_fresh_attempt_stands_beside_the_earlier_one(project):
    project.cases(POOL)
    assert project.judge_here().ret == 0
    fresh = project.judge_here("--eval-fresh")
    assert project.posted == 8
    fresh.stdout.fnmatch_lines(
        ["*attempt 2, a further look at the same question; earlier: better (attempt 1)"]
    )


def test_another_claim_after_results_were_seen_is_refused(project):
    project.cases(POOL)
    assert project.judge_here().ret == 0
    changed = project.cases(POOL.replace('"better"', '"not_worse"')).judge_here()
    assert changed.ret == 11
    assert 'claim "better" -> "not_worse"' in said(changed)
    assert project.posted == 4


def test_an_untrustworthy_configuration_spoils_the_pool_and_is_named(project):
    project.league.fault("shuffled-seats")
    result = project.cases(POOL).judge_here()
    assert result.ret == 11
    result.stdout.fnmatch_lines(
        ["E*A/B pool: UNTRUSTWORTHY, players did not sit where they were placed (candidate: crew, *"]
    )
    (properties,) = project.properties()
    assert properties["evalharness.effect"] == properties["evalharness.strata"] == ""
    assert "configuration crew" not in said(result)


def test_a_configuration_that_cannot_be_played_is_named(project):
    project.league.fault("wedged-seat=3")
    result = project.cases(POOL).judge_here("--eval-stall-grace=1")
    assert result.ret == 11
    result.stdout.fnmatch_lines(["E*crew: *one of its seats hangs*"])


def test_in_an_aa_run_only_the_pool_can_raise_the_alarm(project):
    # Four requests arrive in any order, which decides whose games are whose: at 0.05 one order in twenty is an alarm.
    rare = POOL.replace('claim="better"', 'claim="better", alpha=0.001')
    result = project.cases(rare).judge_here("--eval-aa", candidate="keeper:v1")
    assert result.ret == 0, said(result)
    result.stdout.fnmatch_lines(["PASSED*A/A pool: INCONCLUSIVE, *as an A/A run should*"])
    assert project.posted == 4


# --------------------------------------------------------------------- dry run


def test_a_dry_run_prints_each_configuration_and_the_pooled_outlook(project):
    project.cases(POOL.replace('{"opponents": ["gantry:v4"]}', '{"role": "imposter"}'))
    result = project.judge_here("--eval-dry-run", "--eval-num=50")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*claim *better, decided by the Cochran-Mantel-Haenszel test at alpha 0.05, over 2 configurations",
            "*config * crew",
            "*seat 0 *keeper:v2 against keeper:v1*tested",
            "*config * imposter",
            "*seat 2 *keeper:v2 against keeper:v1*tested",
            "*power *50 games in each of 2 configurations find a lift of *",
            "note: --eval-num 50 overrides episodes=30 of test_evals.py::test_pool",
        ]
    )
    assert project.posted == 0


def test_a_bare_verdict_and_the_configurations_can_be_read(project):
    project.cases("""
        import pytest
        from pytest_evalharness import Verdict

        @pytest.mark.league_pool(configs=[{"role": "crew"}, {"opponents": ["gantry:v4"]}])
        def test_pool(pool):
            assert pool.verdict is Verdict.BETTER
            assert list(pool.strata) == ["crew", "opponents gantry:v4"]
            assert pool.strata["crew"].candidate.finished == 30
            assert pool.headline.startswith("A/B pool: BETTER")
            assert any("CMH" in line for line in pool.lines())
            assert pool.consumed
    """)
    result = project.judge_here()
    assert result.ret == 0, said(result)


# --------------------------------------------------------- among other claims


def test_a_pool_is_one_claim_among_those_tested_together(project, workers):
    project.cases(
        POOL
        + "\n@pytest.mark.league_ab(role='imposter', episodes=20)\ndef test_imposter(ab):\n    ab.require()\n"
    )
    project.judge_here(*workers, "-v")
    found = {
        case["nodeid"].rpartition("::")[2]: case["results"][0]["judgement"]
        for case in project.results()["cases"]
    }
    pool, other = found["test_pool"], found["test_imposter"]
    assert (pool["family"], other["family"]) == (2, 2)
    assert (pool["others"], other["others"]) == ([other["p_gate"]], [pool["p_gate"]])
    assert pool["p_adjusted"] == pytest.approx(2 * pool["p_gate"])
    assert any("2 claims are tested together" in notice for notice in project.results()["notices"])
    project.judge_here(*workers, "-k", "imposter")
    again = project.results()["cases"][0]["results"][0]["judgement"]
    assert again["others"] == other["others"]  # it is judged among those it was posted with
    assert project.posted == 6


def test_a_deselected_pool_counts_as_1(project):
    project.cases(
        POOL + "\n@pytest.mark.league_ab(role='crew', episodes=20)\ndef test_crew(ab):\n    ab.require()\n"
    )
    project.judge_here("-k", "crew")
    (judged,) = (case["results"][0]["judgement"] for case in project.results()["cases"])
    assert judged["others"] == [1.0]
    assert project.posted == 2


def test_its_verdict_follows_again_from_its_evidence_file(project):
    project.cases(POOL).judge_here()
    with Ledger.open(project.home, clock=SystemClock(), owner=Owner.current("t")) as ledger:
        content = json.loads(json.dumps(export(ledger, project.results()["run_id"]), allow_nan=False))
    assert verify(content) == []
    block = content["comparisons"][0]["blocks"]["candidate.1"][0]
    for episode in block["evidence"]["episodes"]:
        episode["results"]["win"] = [not won for won in episode["results"]["win"]]
    changed = {one.what for one in verify(content)}
    assert {"sha256", "diff", "fixed.p"} <= changed
