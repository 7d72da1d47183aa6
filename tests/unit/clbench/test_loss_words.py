"""A report of losses in words, and what makes a campaign clean."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_evalharness.clbench.campaign.loss_classes import Fate, Loss, LossClass
from pytest_evalharness.clbench.campaign.loss_words import LossReport, as_data, report
from pytest_evalharness.clbench.checking import Check, State

FINE = Check("retries: attempts", State.OK, "at most 2 attempts", "at most 12")
KEYS = Check("engines' settings", State.OK, "no engine has settings yet", "mode 0600")
HERE = Path("t1.json")


def told(*losses, retries=(FINE,), settings=KEYS, **words):
    return LossReport(
        "mine", losses, retries, settings, **{"engines": 1, "logs": ("cohort_studies",), **words}
    )


def oom(fate=Fate.LOST, **words):
    return Loss(LossClass.WORKER_OOM, fate, "its worker died", HERE, **words)


def test_nothing_was_lost():
    assert list(report(told())) == [
        "mine: nothing that is known was lost",
        "  read: 1 engines' folders, logs of cohort",
        "  ok         retries: attempts: at most 2 attempts",
        "  ok         engines' settings: no engine has settings yet",
    ]


def test_a_system_that_has_no_engines_has_none_to_doubt():
    unknown = replace(FINE, state=State.UNKNOWN)
    inner = told(engines=0, retries=(unknown,), system="notebook")
    assert inner.clean
    assert list(report(inner)) == [
        "mine: nothing that is known was lost",
        "  read: no engines, which notebook does not have, logs of cohort",
    ]
    assert not replace(inner, system="ouroboros").clean
    assert not replace(inner, losses=(oom(),)).clean


def test_the_lost_are_told_first_and_the_rest_is_counted():
    many = [oom(Fate.SURVIVED, question=f"s{n}") for n in range(3)]
    lines = list(report(told(*many, oom(question="t9", task="cohort_studies", position=17, at=0.0))))
    assert lines[0] == "mine: 1 lost, 3 survived, in 1 class"
    assert lines[2] == "  worker out of memory: 1 lost, 3 survived"
    assert lines[4] == "      lost: cohort, question 17: t9, its worker died, 1970-01-01T00:00:00.000Z"
    assert lines[7] == "      and 1 more (--json tells all)"


def test_names_from_outside_are_made_harmless():
    loss = oom(question="\x1b[31m", task="\x1b]0;")
    lines = list(report(told(loss, logs=("a\nb",), notes=("x\x07",))))
    assert all(line.isprintable() for line in lines)


def test_the_miniature_is_named_and_so_is_what_was_not_read():
    lines = list(report(told(embedded=True, notes=("the events",))))
    assert lines[0].startswith("mine (embedded miniature): ")
    assert lines[-1] == "  not read: the events"


@pytest.mark.parametrize(
    ("found", "clean"),
    [
        (told(), True),
        (told(oom(Fate.SURVIVED)), True),
        (told(oom(Fate.LOST)), False),
        (told(oom(Fate.UNKNOWN)), False),
        (told(engines=0), False),
        (told(retries=(Check("retries: attempts", State.FAILED, "13", "12"),)), False),
        (told(retries=(Check("retries: attempts", State.UNKNOWN, "none", "12"),)), False),
        # Every engine leaves its file with the usual mode: its folder shields it until somebody copies it.
        (told(settings=replace(KEYS, state=State.INCOMPLETE)), True),
        (told(settings=replace(KEYS, state=State.FAILED)), False),
    ],
)
def test_what_is_clean(found, clean):
    assert found.clean is clean


def test_a_rule_that_is_broken_says_what_is_needed():
    broken = Check(
        "retries: attempts", State.FAILED, "t1: 13 attempts", "at most 12 of one call", "look at it"
    )
    lines = list(report(told(retries=(broken,))))
    assert lines[-4:-1] == [
        "  failed     retries: attempts: t1: 13 attempts",
        "             needed: at most 12 of one call",
        "             mend:   look at it",
    ]


def test_as_data_every_occurrence_is_told():
    found = as_data(told(*[oom(question=f"t{n}") for n in range(9)]))
    assert [one["question"] for one in found["losses"]] == [f"t{n}" for n in range(9)]
    assert [(one["class"], one["lost"]) for one in found["classes"]] == [("worker out of memory", 9)]
    assert found["classes"][0]["closure"]
