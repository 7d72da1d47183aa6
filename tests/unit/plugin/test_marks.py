import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.plugin.marks import plan_of, validate
from pytest_evalharness.settings import PAGE_LEAGUE, resolve

NODEID = "evals/test_a.py::test_b"
NAMES = {"candidate": "bot:v2", "baseline": "bot:v1"}


def mark(*args, **kwargs):
    return pytest.mark.league_ab.with_args(*args, **kwargs).mark


def planned(words=None, options=None, environment=None, ini=None):
    settings = resolve({**NAMES, **(options or {})}.get, environment or {}, (ini or {}).get)
    return plan_of(NODEID, words or {}, settings, "embedded:2026")


def refusal(words=None, options=None, **sources):
    with pytest.raises(UsageError) as caught:
        planned(words, options, **sources)
    assert caught.value.exit_code == 4
    assert "nothing was submitted" in caught.value.not_done
    return caught.value


# ------------------------------------------------------------------ the words


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("rol", "role"), ("episode", "episodes"), ("clam", "claim"), ("candidate_seat", "candidate_seats"),
     ("margins", "margin"), ("topn", "top_n"), ("opponent", "opponents"), ("Role", "role")],
)  # fmt: skip
def test_a_typo_gets_a_suggestion(typo, meant):
    with pytest.raises(UsageError, match=f"no keyword '{typo}'; did you mean '{meant}'") as caught:
        validate(mark(**{typo: 1}), NODEID)
    assert caught.value.what.startswith(NODEID)


def test_a_word_like_no_other_gets_the_whole_list():
    with pytest.raises(UsageError, match="it knows role, episodes, ticks, claim") as caught:
        validate(mark(xyzzy=1), NODEID)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("args", [("crew",), (30, "better"), (None,)])
def test_positions_mean_nothing(args):
    with pytest.raises(UsageError, match="takes keywords only"):
        validate(mark(*args), NODEID)


def test_every_word_that_is_documented_is_known():
    words = dict.fromkeys(
        ("role", "episodes", "ticks", "claim", "rule", "margin", "alpha", "target_lift", "candidate_seats",
         "baseline_seats", "league", "division", "opponents", "top_n", "backend", "config")
    )  # fmt: skip
    validate(mark(**words), NODEID)
    validate(mark(), NODEID)


# ------------------------------------------------------------------- defaults


def test_an_empty_mark_means_the_defaults():
    plan, overridden = planned()
    assert overridden == []
    assert (plan.episodes, plan.ticks, plan.top_n, plan.backend) == (30, 10_000, 7, "k8s")
    assert (plan.league, plan.division, plan.opponents, plan.config) == (PAGE_LEAGUE, None, (), {})
    assert (plan.layout_seed, plan.tested_seat, plan.role) == (679961, 0, "crew")
    assert (plan.candidate, plan.baseline) == ({0: "bot:v2"}, {0: "bot:v1"})
    assert (plan.declaration.claim, plan.declaration.rule, plan.declaration.alpha) == (
        "better",
        "score",
        0.05,
    )
    assert (plan.declaration.margin, plan.declaration.target_lift, plan.server) == (
        None,
        0.10,
        "embedded:2026",
    )


def test_a_mark_is_taken_at_its_word():
    plan, _ = planned(
        {
            "role": "imposter", "episodes": 100, "ticks": 500, "claim": "noninferior", "rule": "overlap",
            "margin": 0.2, "alpha": 0.01, "target_lift": 0.3, "league": "league_9", "division": "div_9",
            "opponents": ["a", "b"], "top_n": 9, "backend": "antfarm", "config": {"killRange": 30},
        }
    )  # fmt: skip
    assert (plan.role, plan.tested_seat, plan.episodes, plan.ticks) == ("imposter", 2, 100, 500)
    declared = plan.declaration
    assert (declared.claim, declared.rule, declared.margin, declared.alpha) == (
        "noninferior",
        "overlap",
        0.2,
        0.01,
    )
    assert (declared.target_lift, plan.league, plan.division) == (0.3, "league_9", "div_9")
    assert (plan.opponents, plan.top_n, plan.backend) == (("a", "b"), 9, "antfarm")
    assert plan.game_config()["killRange"] == 30


def test_another_layout_moves_the_tested_seat():
    plan, _ = planned({"role": "imposter"}, {"layout_seed": "1"})
    assert plan.layout.roles[plan.tested_seat] == "imposter"
    assert plan.layout.roles.index("imposter") == plan.tested_seat


# ---------------------------------------------------- command line and mark

RUN = {
    "episodes": ("num", 50, "40", 40), "ticks": ("ticks", 50, "40", 40), "league": ("league", "league_m", "league_c", "league_c"),
    "division": ("division", "div_m", "div_c", "div_c"), "opponents": ("opponent", ["m"], ["c"], ("c",)),
    "top_n": ("top_n", 20, "30", 30), "backend": ("backend", "antfarm", "k8s", "k8s"),
}  # fmt: skip
CASE = {
    "role": ("imposter", "crew", lambda plan: plan.role), "claim": ("not_worse", "better", lambda plan: plan.declaration.claim),
    "rule": ("overlap", "score", lambda plan: plan.declaration.rule), "margin": (0.3, "0.1", lambda plan: plan.declaration.margin),
    "target_lift": (0.3, "0.2", lambda plan: plan.declaration.target_lift),
}  # fmt: skip


@pytest.mark.parametrize("word", RUN)
def test_the_command_line_wins_over_the_mark_and_says_so(word):
    key, marked, said, read = RUN[word]
    plan, overridden = planned({word: marked}, {key: said})
    assert getattr(plan, word) == read
    assert len(overridden) == 1
    option = "--eval-" + key.replace("_", "-")
    assert overridden[0].startswith(f"{option} ")
    shown = ", ".join(marked) if isinstance(marked, list) else marked
    assert f"overrides {word}={shown} of {NODEID}" in overridden[0]


@pytest.mark.parametrize("word", RUN)
@pytest.mark.parametrize("source", ["environment", "ini"])
def test_the_mark_wins_over_environment_and_ini(word, source):
    key, marked, said, read = RUN[word]
    text = said if isinstance(said, str) else "\n".join(said)
    name = f"EVALHARNESS_{key.upper()}" if source == "environment" else key
    plan, overridden = planned({word: marked}, **{source: {name: text}})
    assert getattr(plan, word) == (tuple(marked) if isinstance(marked, list) else marked)
    assert overridden == []
    assert getattr(planned(**{source: {name: text}})[0], word) == read  # they fill what the mark leaves out


@pytest.mark.parametrize("word", sorted(set(RUN) - {"opponents"}))
def test_the_same_value_twice_overrides_nothing(word):
    key, _, said, read = RUN[word]
    assert planned({word: read}, {key: said})[1] == []


def test_an_override_is_told_once_though_it_is_read_twice():
    assert len(planned({"episodes": 50}, {"num": "40"})[1]) == 1


@pytest.mark.parametrize("word", CASE)
def test_the_mark_wins_where_the_word_belongs_to_the_case(word):
    marked, said, of = CASE[word]
    plan, overridden = planned({word: marked}, {word: said})
    assert of(plan) == marked
    assert overridden == []
    unmarked, _ = planned({}, {word: said})
    assert str(of(unmarked)) == said


# -------------------------------------------------------------- bad values


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"episodes": 0}, "episodes must be 1 to 100, got 0"),
        ({"episodes": 101}, "episodes must be 1 to 100, got 101"),
        ({"episodes": "30"}, "episodes must be a whole number, got '30'"),
        ({"episodes": 30.0}, "episodes must be a whole number"),
        ({"episodes": True}, "episodes must be a whole number"),
        ({"ticks": 0}, "ticks must be 1 or more, got 0"),
        ({"ticks": -5}, "ticks must be 1 or more"),
        ({"top_n": 0}, "top_n must be 1 to 100"),
        ({"top_n": 3}, "leaves 4 seats empty"),
        ({"opponents": "rival"}, "opponents is a list of names, not 'rival'"),
        ({"opponents": list("abcdefgh")}, "8 opponents were named"),
        ({"role": "crewmate"}, "crewmate"),
        ({"claim": "best"}, "claim must be one of better"),
        ({"claim": "noninferior"}, "needs a margin"),
        ({"claim": "equivalent"}, "needs a margin"),
        ({"margin": 0}, "margin"),
        ({"margin": 1.5}, "margin"),
        ({"margin": "wide"}, "margin"),
        ({"rule": "wilson"}, "rule must be one of score, overlap, newcombe, exact, group_sequential, always_valid, bayes"),
        ({"alpha": 0.5}, "alpha"),
        ({"alpha": 0}, "alpha"),
        ({"target_lift": 0}, "target_lift"),
        ({"config": 5}, ""),
    ],
)  # fmt: skip
def test_a_wrong_value(words, told):
    assert told in refusal(words).what


@pytest.mark.parametrize("side", ["candidate", "baseline"])
def test_a_missing_name_says_what_to_type(side):
    error = refusal({}, {side: None})
    assert f"no {side} policy was named" in error.what
    assert error.what.startswith(NODEID)
    assert error.next_step == f"add --{side}=NAME:vN to the command"


# -------------------------------------------------------------------- seats


def test_a_swap_arm_needs_no_candidate():
    plan, _ = planned({"candidate_seats": {0: "rival:v3"}}, {"candidate": None})
    assert (plan.candidate, plan.baseline, plan.role) == ({0: "rival:v3"}, {0: "bot:v1"}, "crew")


def test_a_swap_in_an_imposters_seat_tests_the_imposter():
    plan, _ = planned({"baseline_seats": {3: "rival:v3"}})
    assert (plan.tested_seat, plan.role) == (3, "imposter")
    assert (plan.candidate, plan.baseline) == ({3: "bot:v2"}, {3: "rival:v3"})


def test_both_sides_may_name_the_one_seat():
    plan, _ = planned(
        {"candidate_seats": {5: "a:v1"}, "baseline_seats": {5: "b:v1"}, "role": "crew"}, dict.fromkeys(NAMES)
    )
    assert (plan.candidate, plan.baseline, plan.tested_seat) == ({5: "a:v1"}, {5: "b:v1"}, 5)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"candidate_seats": {0: "a:v1", 1: "b:v1"}}, "a mark tests one seat"),
        ({"candidate_seats": {0: "a:v1"}, "baseline_seats": {1: "b:v1"}}, "a mark tests one seat"),
        ({"candidate_seats": {8: "a:v1"}}, "seat 8 does not exist; seats are 0 to 7"),
        ({"candidate_seats": {-1: "a:v1"}}, "seat -1 does not exist"),
        ({"candidate_seats": {"0": "a:v1"}}, "seats are whole numbers"),
        ({"candidate_seats": {True: "a:v1"}}, "seats are whole numbers"),
        ({"candidate_seats": {2: "a:v1"}, "role": "crew"}, "seat 2 is a imposter seat"),
        ({"candidate_seats": {0: "a:v1"}, "role": "imposter"}, "seat 0 is a crew seat"),
        ({"candidate_seats": "rival:v3"}, ""),
        ({"candidate_seats": 3}, ""),
    ],
)  # fmt: skip
def test_seats_that_make_no_sense(words, told):
    assert told in refusal(words).what


def test_an_option_fills_the_role_that_a_swap_leaves_open():
    assert "seat 2" in refusal({"candidate_seats": {2: "a:v1"}}, {"role": "crew"}).what
    assert planned({"candidate_seats": {2: "a:v1"}}, {"role": "imposter"})[0].tested_seat == 2
