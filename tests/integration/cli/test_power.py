"""`evalharness power`: numbers for people and for programs, and refusals that name the help."""

import json

import pytest

from pytest_evalharness.cli import main


def test_the_plan_of_the_issue(capsys):
    assert main(["power", "--base", ".5", "--lift", ".1", "--ticks", "10000"]) == 0
    told = capsys.readouterr().out
    assert "a lift of 0.10 needs 392 games an arm (overlap rule 645)" in told
    assert "smallest lift found: none with 8, 0.33 with 30, 0.19 with 100 games" in told
    assert "wall clock at most 6 min 57 s an episode" in told


def test_json_has_everything(capsys):
    assert main(["power", "--rule", "exact", "--n", "100", "--lift", "0.2", "--json", "--ticks", "240"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["needed"]["exact"] == {"counted": True, "games": 95, "games_each_config": 95}
    assert plain["scenarios"][1]["chances"]["verdicts"]["better"] == pytest.approx(0.828, abs=6e-4)
    assert plain["wall_clock_seconds"] == 10.0


def test_a_rate_of_exactly_one_can_be_planned(capsys):
    assert main(["power", "--base", ".9", "--lift", ".1"]) == 0
    assert "a lift of 0.10 needs 54 games an arm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--base", "1.5"], "base must"),
        (["--lift", "0"], "target_lift"),
        (["--claim", "equivalent"], "needs a margin"),
        (["--paired-correlation", "1"], "correlation must"),
        (["--paired-correlation", ".3", "--rule", "newcombe"], "has no plan for pairs"),
        (["--n", "100", "--configs", "100"], "at most 2000"),
        (["--n", "501", "--rule", "exact"], "at most 500"),
        (["--rule", "wilson"], "must be one of score"),
        (["--n", "0"], "1 or more"),
        (["--alpha", "2"], "alpha"),
        (
            ["--configs", "2", "--paired-correlation", ".3"],
            "--paired-correlation does not go with --configs 2",
        ),
        (["--configs", "2", "--rule", "bayes"], "only the score rule, independent arms"),
        (["--configs", "2", "--rule", "always_valid"], "Cochran-Mantel-Haenszel test"),
        (["--configs", "2", "--claim", "separated"], "no claim separated"),
        (
            ["--base", ".5", "--lift", ".6"],
            "a lift of 0.6 from a rate of 0.5 is not possible: the rate would be 1.1",
        ),
        (["--base", ".95", "--lift", ".1"], "the rate would be 1.05"),
        (["--base", ".3", "--lift", ".4", "--claim", "not_worse"], "a loss of 0.4 from a rate of 0.3"),
        (["--lift", "1e-9"], "a lift of 1e-09 is too small to be found"),
        (["--lift", "1e-20"], "more than 10,000,000 games"),
        (["--lift", "1e-9", "--rule", "always_valid"], "too small to be found"),
        (["--lift", "1e-9", "--rule", "overlap", "--looks", "8", "30"], "too small to be found"),
        (["--claim", "equivalent", "--margin", "1e-200"], "a margin of 1e-200 is too small to be shown"),
    ],
)
def test_what_cannot_be_planned_exits_with_4(capsys, arguments, says):
    try:
        code = main(["power", *arguments])
    except SystemExit as left:
        code = left.code
    assert code == 4
    told = capsys.readouterr().err
    assert says in told
    assert "evalharness power --help" in told
