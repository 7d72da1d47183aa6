from dataclasses import replace

import pytest

from pytest_evalharness.league import preview
from pytest_evalharness.league.builds import conclude
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.local_builds import LocalBuilds, Missing
from pytest_evalharness.league.plan import Budgets
from pytest_evalharness.verdict.claim import Declaration

HOSTILE = "\x1b[2J\u202eEvil\n"


@pytest.fixture
def lines(make):
    def show(field=None, builds=None, **changes):
        plan, field = make.plan(**{"episodes": 30, **changes}), field or make.roster()
        planned = Frozen(field, make.arms(plan, field), builds=builds)
        return list(preview.lines(plan, planned, Budgets.for_plan(plan, queue=7200)))

    return show


def test_seats_field_budgets_and_power_are_all_there(lines):
    text = "\n".join(lines())
    for told in (
        "claim      better, decided by the score rule at alpha 0.05",
        "30 episodes each, 10000 ticks, on embedded:2026\n",
        "league_1, div_1: 20 live players, best recent round score, as of 2026-09-01T12:00:00Z",
        "seat 0     crew      bot:v2 against bot:v1  <- tested",
        "seat 2     imposter  rival-2:v2 (Player 2, best recent score 0.700)",
        "queue 2 h, stall 30 min 50 s, total 10 h 40 min",
        "30 games find a lift of",
        "a lift of 0.10 needs",
        "chances    under no effect: passes",
        "chances    under a true lift of 0.10: passes",
    ):
        assert told in text
    assert sum(line.startswith("seat ") for line in lines()) == 8


def test_the_builds_are_told_before_anything_is_paid_for(make, lines):
    machine = LocalBuilds(images={"bot:v1": Missing(f"old{HOSTILE}", f"gone{HOSTILE}", "docker pull")})
    told = lines(builds=conclude(make.plan(), make.policies("bot:v1", "bot:v2"), machine))
    assert told[2].startswith("builds     proved different: the server's image digests, sha256:")
    assert told[3].startswith("warning    the local image old")
    assert all(line.isprintable() for line in told)


def test_names_of_players_are_made_harmless(make, lines):
    field = make.roster()
    evil = replace(field.opponents[0], player_name=HOSTILE, label=f"x{HOSTILE}:v1")
    hostile = replace(field, opponents=(evil, *field.opponents[1:]), division=f"div{HOSTILE}")
    for line in lines(hostile, server=f"https://x{HOSTILE}", league=f"league{HOSTILE}"):
        assert line.isprintable()


def test_an_unscored_player_is_called_so(make, lines):
    field = make.roster()
    unscored = replace(field.opponents[6], score=None)
    assert "(Player 7, unscored)" in lines(replace(field, opponents=(*field.opponents[:6], unscored)))[10]


def test_a_seat_that_the_arms_fill_differently_shows_both(lines):
    text = "\n".join(lines(candidate={0: "bot:v2", 4: "rival:v3"}))
    assert "seat 4     crew      rival:v3 against rival-4:v4\n" in text


def test_a_seat_that_both_arms_pin_is_not_the_fields(lines):
    text = "\n".join(lines(candidate={0: "bot:v2", 4: "rival:v3"}, baseline={0: "bot:v1", 4: "rival:v3"}))
    assert "seat 4     crew      rival:v3\n" in text


def test_a_tested_seat_that_is_the_same_in_both_arms_still_shows_both(lines):
    assert "bot:v2 against bot:v2  <- tested" in "\n".join(lines(baseline={0: "bot:v2"}))


@pytest.mark.parametrize("claim", ["better", "not_worse", "noninferior", "equivalent", "separated"])
@pytest.mark.parametrize("episodes", [1, 100])
@pytest.mark.parametrize("rule", ["score", "overlap"])
def test_every_declaration_can_be_previewed(lines, claim, episodes, rule):
    declaration = Declaration(claim, rule=rule, margin=0.2, target_lift=0.95)
    told = lines(declaration=declaration, episodes=episodes)
    assert f"{claim} within 0.20, decided by the {rule} rule" in told[0]
    assert all(line.isprintable() for line in told)


@pytest.mark.parametrize(("claim", "needed"), [("noninferior", 75), ("equivalent", 103)])
def test_a_claim_about_a_margin_is_planned_for_its_margin(lines, claim, needed):
    text = "\n".join(lines(declaration=Declaration(claim, margin=0.20), episodes=100))
    assert f"{claim} within 0.20 needs {needed} games an arm" in text
    assert "under a true loss of 0.20: passes" in text
    assert "a lift of" not in text


def test_an_aa_run_is_announced_with_its_chance_of_an_alarm(lines):
    told = lines(aa=True)
    assert told[0] == "claim      none: an A/A run must tell no difference, by the score rule at alpha 0.05"
    assert told[-1] == "chances    of one build against itself, at a rate of 0.5: passes 94.8%, alarm 5.2%"
    assert not any("find a lift of" in line for line in told)


# -------------------------------------------------------------------- pairs


def test_pairs_are_announced_with_both_outlooks(lines):
    told = lines(declaration=Declaration("better", pairing="seed"))
    text = "\n".join(told)
    assert told[1] == (
        "arms       30 pairs: one request a pair and arm, seeds drawn when the field is frozen, 10000 ticks, "
        "on embedded:2026"
    )
    assert "16 requests at one time: at most 27 min 47 s of play" in text
    for correlation, lift in (("0", "0.34"), ("0.3", "0.29")):
        place = told.index(f"pairs      if the two games of a pair correlate by {correlation}:")
        assert (
            told[place + 1]
            == f"power      from a rate of 0.5: 30 pairs find a lift of {lift} with 80 % power"
        )


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"claim": "separated"}, "claim 'separated' ignores pairing"),
        ({"claim": "better", "rule": "overlap"}, "rule 'overlap' has no plan for pairs"),
        ({"claim": "better", "rule": "newcombe"}, "rule 'newcombe' has no plan for pairs"),
        ({"claim": "better", "rule": "group_sequential", "looks": [30]}, "no plan for looks at pairs"),
    ],
)
def test_what_cannot_be_planned_for_pairs_shows_independent_arms_and_says_so(lines, declared, why):
    told = lines(declaration=Declaration(**declared, pairing="seed"))
    (sentence,) = [line for line in told if line.startswith("pairs ")]
    assert why in sentence
    assert sentence.endswith("what follows holds for independent arms")
    assert any(line.startswith("chances    under no effect") for line in told[told.index(sentence) :])


def test_an_always_valid_plan_of_pairs_is_counted_out_in_reasonable_time(lines):
    told = lines(declaration=Declaration("better", "always_valid", pairing="seed"))
    assert sum(line.startswith("power ") for line in told) == 2


def test_an_aa_run_of_pairs_tells_its_alarms(lines):
    told = lines(aa=True, declaration=Declaration("better", pairing="seed"))
    assert sum("alarm" in line for line in told) == 2
