import pickle
import re

import pytest

from pytest_evalharness.arena.wire.dialect import Name
from pytest_evalharness.errors import UsageError
from pytest_evalharness.settings import (
    BY_KEY,
    DIALECTS,
    PAGE_LEAGUE,
    SETTINGS,
    Kind,
    Origin,
    resolve,
    unknown_variables,
)

# What each setting may be given on the command line, in the environment and in the ini file, and what it may not.
SAMPLES = {
    "candidate": (("bot:v2", "bot:v3", "bot:v4"), ("", "   ")),
    "baseline": (("bot:v1", "bot:v0", "bot:v9"), ("", "\t")),
    "server": (
        ("embedded", "https://a.example/api", "http://127.0.0.1:1/api"),
        ("", "https://me:s3cret@host/api", "http://s3cret@host"),
    ),
    "evidence": (("calls.json", "vol:rl/acme/x.json", "sim:acme"), ("",)),
    "synthetic": ((True, "yes", "on"), ("maybe", "2")),
    "home": (("here", "/there", ".x"), ("",)),
    "num": (("1", "100", "8"), ("0", "101", "-5", "8.0", "many", "", "1e2", "٣x")),
    "ticks": (("1", "1000", "99999"), ("0", "-1", "long", "")),
    "league": (("league_1", "league_2", "league_3"), ("",)),
    "division": (("div_1", "div_2", "div_3"), ("",)),
    "opponent": ((["a:v1", "b"], "c,d", "e\nf"), (["a", " "], [""])),
    "top_n": (("7", "100", "1"), ("0", "101", "x")),
    "backend": (("k8s", "antfarm", "k8s"), ("kubernetes", "K8S", "", "k8")),
    "notes": (("one", "two", "three"), ("",)),
    "layout_seed": (("0", "1", "2"), ("-1", "x", "0.5")),
    "role": (("crew", "imposter", "natural"), ("crewmate", "", "impostor")),
    "seats": (("2", "64", "9"), ("0", "65", "two", "")),
    "teams": (("parity", "blocks/4", "none"), ("", " ")),
    "win": (("highest", "score > 3", "win"), ("", " ")),
    "claim": (("better", "not_worse", "equivalent"), ("best", "not worse", "")),
    "rule": (("exact", "bayes", "newcombe"), ("wilson", "")),
    "margin": (("0.1", "0.2", "0.999"), ("0", "1", "-0.1", "nan", "inf", "20%", "")),
    "target_lift": (("0.1", "0.2", "0.3"), ("0", "1", "nan", "x")),
    "min_fire_rate": (("0.9", "1", "0.01"), ("0", "1.01", "-0.1", "nan", "inf", "90%", "")),
    "dry_run": ((True, "yes", "on"), ("maybe", "2")),
    "fresh": ((True, "1", "TRUE"), ("maybe", "y")),
    "aa": ((True, "1", "on"), ("maybe", "y")),
    "candidate_image": (("bot:new", "localhost:5000/bot@sha256:ab", "783c752f6489"), ("", " ")),
    "baseline_image": (("bot:old", "bot", "b"), ("", " ")),
    "unproven_builds": (("allow", "refuse", "allow"), ("", "yes", "Allow")),
    "multiplicity": (("holm", "none", "holm"), ("Holm", "bonferroni", "")),
    "inconclusive": (("exit", "fail", "pass"), ("ignore", "", "Exit")),
    "junit_properties": (("all", "suite", "none"), ("case", "", "All")),
    "total_budget": (("parallel", "2.5", "1e3"), ("0", "-1", "inf", "nan", "soon", "serial", "")),
    "stall_grace": (("1", "2.5", "1e3"), ("0", "-1", "inf", "nan", "soon")),
    "budget": (("1", "2.5", "1e3"), ("0", "-1", "inf", "nan", "much")),
    "queue_exceeded": (("keep", "cancel", "keep"), ("", "leave", "Keep")),
    "queue_budget": (("1", "2.5", "1e3"), ("0", "-1", "inf", "nan", "soon")),
    "arena_seed": (("0", "1", "2"), ("-1", "x")),
    "arena_pace": (("1", "0.5", "20"), ("0", "-1", "inf", "nan", "fast")),
    "arena_dialect": (("2026-06", "current", "2026-06"), ("2026-07", "", "Current")),
    "arena_fault": ((["a", "b"], "c", "d\ne"), (["a", ""],)),
    "clbench_checkout": (("../clb", "embedded", "/clb"), ("",)),
    "clbench_system": (("a", "b", "c"), ("",)),
    "clbench_name": (("a", "b", "c"), ("",)),
    "clbench_run": (("a", "b/c", "c"), ("",)),
    "clbench_reference": (("a", "b/c", "c"), ("",)),
    "clbench_runroots": (("a", "b/c", "c"), ("",)),
}
every_setting = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
BAD = [(setting, bad) for setting in SETTINGS for bad in SAMPLES[setting.key][1]]


def resolved(options=None, environment=None, ini=None):
    return resolve((options or {}).get, environment or {}, (ini or {}).get)


def as_read(setting, raw):
    if setting.kind is Kind.SWITCH:
        return True
    if setting.kind is Kind.REPEATED:
        return tuple(raw) if isinstance(raw, list) else tuple(re.split(r"[,\n]", raw))
    return setting.parse(raw)


def test_the_dialects_are_those_that_the_embedded_league_speaks():
    assert tuple(Name) == DIALECTS


def test_there_is_a_sample_of_every_setting():
    assert set(SAMPLES) == {setting.key for setting in SETTINGS} == set(BY_KEY)


# --------------------------------------------------------------- precedence


@every_setting
def test_each_source_gives_way_to_the_stronger_one(setting):
    (said, environment, written), _ = SAMPLES[setting.key]
    option, variable, ini = {setting.key: said}, {setting.variable: environment}, {setting.key: written}
    steps = [
        (({}, {}, {}), Origin.DEFAULT, setting.default),
        (({}, {}, ini), Origin.INI, as_read(setting, written)),
        (({}, variable, ini), Origin.ENVIRONMENT, as_read(setting, environment)),
        ((option, variable, ini), Origin.COMMAND_LINE, as_read(setting, said)),
        ((option, {}, {}), Origin.COMMAND_LINE, as_read(setting, said)),
        (({}, variable, {}), Origin.ENVIRONMENT, as_read(setting, environment)),
    ]
    for sources, origin, value in steps:
        settings = resolved(*sources)
        assert settings.origin(setting.key) is origin
        assert settings[setting.key] == value
        assert settings.commanded(setting.key) == (origin is Origin.COMMAND_LINE)


@every_setting
def test_one_setting_leaves_the_others_alone(setting):
    settings = resolved({setting.key: SAMPLES[setting.key][0][0]})
    for other in SETTINGS:
        if other is not setting:
            assert settings.origin(other.key) is Origin.DEFAULT
            assert settings[other.key] == other.default


@every_setting
def test_an_option_that_was_not_given_is_no_value(setting):
    for nothing in (None, False, []):
        assert resolved({setting.key: nothing}).origin(setting.key) is Origin.DEFAULT


@every_setting
def test_an_ini_key_that_was_not_written_is_no_value(setting):
    for nothing in (None, ""):
        assert resolved(ini={setting.key: nothing}).origin(setting.key) is Origin.DEFAULT


# --------------------------------------------------------------- bad values


def refusal(*sources):
    with pytest.raises(UsageError) as caught:
        resolved(*sources)
    return caught.value


@pytest.mark.parametrize(("setting", "bad"), BAD, ids=lambda value: getattr(value, "key", repr(value)))
def test_a_bad_value_names_the_place_it_came_from(setting, bad):
    text = "\n".join(bad) if isinstance(bad, list) else bad
    told = []
    if setting.kind is not Kind.SWITCH:
        told.append((refusal({setting.key: bad}), setting.option))
    if setting.kind is not Kind.REPEATED:  # elsewhere an empty part of a list is no part
        told.append((refusal({}, {setting.variable: text}), setting.variable))
        if text:
            told.append((refusal({}, {}, {setting.key: text}), setting.ini))
    for error, place in told:
        assert error.exit_code == 4
        assert error.what.startswith((f"{place}: ", f"ini key {place}: "))
        assert " must " in error.what
        assert error.not_done == "nothing was submitted"
        assert error.next_step.startswith(setting.option)
        assert setting.help in error.next_step
        assert "s3cret" not in str(error)


def test_a_weaker_bad_value_is_not_even_read():
    assert resolved({"num": "5"}, {"EVALHARNESS_NUM": "many"}, {"num": "more"})["num"] == 5


def test_a_typo_gets_a_suggestion():
    assert "did you mean 'noninferior'?" in refusal({"claim": "non_inferior"}).what
    assert "did you mean 'imposter'?" in refusal({"role": "impostor"}).what
    assert "better, not_worse, noninferior, equivalent, separated" in refusal({"claim": "xyz"}).what


def test_the_limits_are_said():
    assert refusal({"num": "101"}).what == "--eval-num: '101' must be 1 to 100"
    assert refusal({"ticks": "0"}).what == "--eval-ticks: '0' must be 1 or more"
    assert refusal({"num": "thirty"}).what == "--eval-num: 'thirty' must be a whole number"


def test_a_hostile_value_cannot_steer_the_terminal():
    assert "\x1b" not in str(refusal({"num": "\x1b[31m"}))


# -------------------------------------------------------- lists and switches


@pytest.mark.parametrize(
    ("raw", "read"),
    [("a", ("a",)), ("a,b", ("a", "b")), ("a\n b \n", ("a", "b")), (" a , ,b", ("a", "b")), ("", ())],
)
def test_a_list_in_the_environment(raw, read):
    settings = resolved({}, {"EVALHARNESS_OPPONENT": raw})
    assert settings["opponent"] == read
    assert settings.origin("opponent") is Origin.ENVIRONMENT


def test_a_list_on_the_command_line_is_taken_as_it_is():
    assert resolved({"opponent": ["a,b", " c "]})["opponent"] == ("a,b", "c")


def test_lists_of_two_sources_are_not_mixed():
    assert resolved({"opponent": ["a"]}, {"EVALHARNESS_OPPONENT": "b"}, {"opponent": "c"})["opponent"] == (
        "a",
    )


@pytest.mark.parametrize("word", ["1", "true", "YES", " on "])
def test_a_switch_is_on(word):
    assert resolved({}, {"EVALHARNESS_FRESH": word})["fresh"] is True
    assert resolved({}, {}, {"fresh": word})["fresh"] is True


@pytest.mark.parametrize("word", ["0", "false", "No", "off", ""])
def test_the_environment_switches_off_what_the_ini_switches_on(word):
    settings = resolved({}, {"EVALHARNESS_FRESH": word}, {"fresh": "true"})
    assert settings["fresh"] is False
    assert settings.origin("fresh") is Origin.ENVIRONMENT


# ------------------------------------------------------------------ spelling


def test_the_names_of_the_sources():
    assert [setting.option for setting in SETTINGS if not setting.option.startswith("--eval-")] == [
        "--candidate",
        "--baseline",
    ]
    for setting in SETTINGS:
        assert setting.variable == f"EVALHARNESS_{setting.key.upper()}"
        assert setting.ini == f"evalharness_{setting.key}"
        assert re.fullmatch(r"--[a-z][a-z0-9-]*", setting.option)
        assert setting.help


def test_no_two_settings_share_a_spelling():
    for spelling in ("key", "option", "variable", "ini"):
        assert len({getattr(setting, spelling) for setting in SETTINGS}) == len(SETTINGS)


@every_setting
def test_no_setting_holds_a_secret(setting):
    assert not re.search(r"token|secret|password|credential|api_?key|auth", setting.key)
    assert setting.variable != "EVALHARNESS_TOKEN"  # read by the credentials, never by the settings
    with_token = resolved({}, {"EVALHARNESS_TOKEN": "tok_s3cret"}).as_plain()
    assert "tok_s3cret" not in repr(with_token)


def test_a_server_may_have_an_at_sign_in_its_path():
    assert resolved({"server": "https://host/api/@x"})["server"] == "https://host/api/@x"


@every_setting
def test_a_default_could_have_been_given(setting):
    default = setting.default
    if default is None or setting.kind is Kind.SWITCH:
        return
    if setting.kind is Kind.REPEATED:
        assert default == ()
    else:
        assert setting.parse(str(default)) == default


def test_the_defaults_that_documents_promise():
    settings = resolved()
    assert settings["league"] == PAGE_LEAGUE
    assert (settings["layout_seed"], settings["top_n"], settings["queue_budget"]) == (679961, 7, 7200.0)
    assert (settings["inconclusive"], settings["home"], settings["server"]) == ("exit", ".evalharness", None)


def test_records_get_plain_data():
    plain = resolved({key: sample[0][0] for key, sample in SAMPLES.items()}).as_plain()
    assert list(plain) == [setting.key for setting in SETTINGS]
    assert plain["opponent"] == ["a:v1", "b"]
    assert {type(value) for value in plain.values()} <= {str, int, float, bool, list}
    assert pickle.loads(pickle.dumps(plain)) == plain


def test_a_variable_that_is_no_setting_is_named_with_a_suggestion():
    told = unknown_variables(
        {"EVALHARNESS_CANDIATE": "x", "EVALHARNESS_TOKEN": "s3cret", "EVALHARNESS_NUM": "3", "HOME": "/"}
    )
    assert told == [
        "the environment variable EVALHARNESS_CANDIATE is no setting and was ignored; did you mean EVALHARNESS_CANDIDATE?"
    ]


def test_a_command_may_have_defaults_of_its_own():
    own = {"notes": "eval.py"}
    assert resolve({}.get, {}, lambda _: None, own)["notes"] == "eval.py"
    assert not resolve({}.get, {}, lambda _: None, own).commanded("notes")
    for settings in (
        resolve({"notes": "mine"}.get, {}, lambda _: None, own),
        resolve({}.get, {"EVALHARNESS_NOTES": "mine"}, lambda _: None, own),
        resolve({}.get, {}, {"notes": "mine"}.get, own),
    ):
        assert settings["notes"] == "mine"
