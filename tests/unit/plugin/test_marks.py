import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.game import Game, Roles
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
        ({"role": "crw"}, "role must be one of crew, imposter, natural (did you mean 'crew'?), got 'crw'"),
        ({"role": 3}, "role must be one of crew, imposter, natural, got 3"),
        ({"backend": "k9s"}, "backend must be one of k8s, antfarm (did you mean 'k8s'?), got 'k9s'"),
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
        ({"candidate_seats": {2: "a:v1"}, "role": "crew"}, "seat 2 has the role imposter"),
        ({"candidate_seats": {0: "a:v1"}, "role": "imposter"}, "seat 0 has the role crew"),
        ({"candidate_seats": "rival:v3"}, ""),
        ({"candidate_seats": 3}, ""),
    ],
)  # fmt: skip
def test_seats_that_make_no_sense(words, told):
    assert told in refusal(words).what


def test_an_option_fills_the_role_that_a_swap_leaves_open():
    assert "seat 2" in refusal({"candidate_seats": {2: "a:v1"}}, {"role": "crew"}).what
    assert planned({"candidate_seats": {2: "a:v1"}}, {"role": "imposter"})[0].tested_seat == 2


# --------------------------------------------------------------- other games

FLAGS = Game("flags", (0, 1, 0, 1), ticks=True)
FREE = Game("free", tuple(range(16)))
DEALT = Game("dealt", (0, 1), Roles.DEALT)


def of_game(game, words=None, options=None):
    settings = resolve({**NAMES, **(options or {})}.get, {}, lambda _: None)
    plan, lines = plan_of(
        NODEID, {"league": "league_2", **(words or {})}, settings, "embedded:2026", lambda *_, **__: game
    )
    return plan, lines


def test_the_tested_policies_have_all_seats_of_their_side():
    plan, _ = of_game(FLAGS)
    assert (plan.tested_seat, plan.candidate) == (0, {0: "bot:v2", 2: "bot:v2"})
    assert plan.declaration.win == "highest"
    plan, _ = of_game(FLAGS, {"side": 1, "win": "score >= 3"})
    assert (plan.tested_seat, plan.baseline) == (1, {1: "bot:v1", 3: "bot:v1"})
    assert plan.declaration.win == "score >= 3.0"


def test_a_swap_arm_of_a_side_names_all_of_it():
    plan, _ = of_game(FLAGS, {"candidate_seats": {1: "rival:v3", 3: "rival:v3"}})
    assert (plan.tested_seat, plan.candidate, plan.baseline) == (
        1, {1: "rival:v3", 3: "rival:v3"}, {1: "bot:v1", 3: "bot:v1"},
    )  # fmt: skip


def test_a_tick_limit_is_sent_where_the_game_has_one_and_somebody_asked():
    assert of_game(FLAGS)[0].game_config() == {}
    assert of_game(FLAGS, {"ticks": 300})[0].game_config() == {"maxTicks": 300}
    plan, lines = of_game(FREE, options={"ticks": "300"})
    assert plan.game_config() == {}
    assert lines == ["free has no setting maxTicks: the tick limit is not sent, and bounds the waiting only"]


def test_a_role_that_stands_for_all_cases_has_no_effect_in_a_game_without_it_and_is_told():
    for options, environment, ini, place in (
        ({"role": "crew"}, {}, {}, "--eval-role"),
        ({}, {"EVALHARNESS_ROLE": "crew"}, {}, "EVALHARNESS_ROLE"),
        ({}, {}, {"role": "crew"}, "ini key evalharness_role"),
    ):
        settings = resolve({**NAMES, **options}.get, environment, ini.get)
        plan, lines = plan_of(
            NODEID, {"league": "league_2"}, settings, "embedded:2026", lambda *_, **__: FLAGS
        )
        assert plan.tested_seat == 0
        assert lines == [f"flags has no roles: {place} is crew, which has no effect there"]
    plan, lines = of_game(DEALT, options={"role": "natural"})
    assert (plan.natural_roles, lines) == (True, [])


def test_the_ranking_reaches_as_far_as_there_are_seats():
    assert of_game(FREE)[0].seats_from_ranking == 15
    with pytest.raises(UsageError, match="leaves 8 seats empty"):
        of_game(FREE, options={"top_n": "7"})


@pytest.mark.parametrize(
    ("game", "words", "told"),
    [
        (FLAGS, {"role": "crew"}, "role='crew' was said, and flags has no roles: leave role out"),
        (FLAGS, {"role": "natural"}, "flags has no roles"),
        (DEALT, {"role": "spy"}, "dealt has roles that it deals itself (role='natural')"),
        (FLAGS, {"side": 2}, "side must be a whole number from 0 to 1"),
        (FLAGS, {"side": True}, "side must be a whole number"),
        (FLAGS, {"side": 1, "candidate_seats": {0: "a:v1", 2: "a:v1"}}, "side 1 has seat 1, and seat 0 is named"),
        (FLAGS, {"candidate_seats": {0: "a:v1", 2: "b:v1"}}, "must put one policy into all of them"),
        (FLAGS, {"candidate_seats": {2: "a:v1"}}, "seats 0 and 2 are one side"),
        (FREE, {"candidate_seats": {0: "a:v1"}, "baseline_seats": {1: "a:v1"}}, "a mark tests one seat"),
        (FREE, {"ticks": 300}, "leave ticks out"),
    ],
)  # fmt: skip
def test_what_another_game_does_not_have(game, words, told):
    with pytest.raises(UsageError) as caught:
        of_game(game, words)
    assert told in caught.value.what


def test_roles_that_a_game_deals_are_read_where_that_is_said():
    assert of_game(DEALT)[0].roles == ("", "")
    plan, _ = of_game(DEALT, {"role": "natural"})
    assert plan.roles == ("natural", "natural")


def test_natural_roles_are_a_role_of_crewrift():
    plan, _ = planned({"role": "natural"})
    assert (plan.natural_roles, plan.tested_seat, plan.role) == (True, 0, "natural")
    assert "slots" not in plan.game_config()
    seated, _ = planned({"role": "natural", "candidate_seats": {5: "bot:v2"}})
    assert seated.tested_seat == 5
    assert planned(options={"role": "natural"})[0].natural_roles
    assert "side is for games without forced roles" in refusal({"side": 0}).what


def test_a_win_belongs_to_the_case():
    assert planned({"win": "highest"}, {"win": "score > 3"})[0].declaration.win == "highest"
    assert planned({}, {"win": "score > 3"})[0].declaration.win == "score > 3.0"
    assert "win" not in planned()[0].to_json()["declaration"]
    assert "win must be 'win'" in refusal({"win": "most"}).what
