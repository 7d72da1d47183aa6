import pytest

from pytest_evalharness.report import progress
from pytest_evalharness.report.progress import Narrator, open_requests, still_running
from pytest_evalharness.report.terminal import lines

HOSTILE = "\x1b]0;title\x07\n\u202eEvil\r"
WHATS = [
    "posted",
    "adopted",
    "answer_lost",
    "outage",
    "finished",
    "refused",
    "abandoned",
    "wedged",
    "resumed",
]


def event(what, **fields):
    said = {
        "kind": "arm",
        "side": "candidate",
        "label": "keeper:v2",
        "request": "xreq_1",
        "reason": "the reason",
    }
    return {**said, "what": what, **fields}


# ----------------------------------------------------------------- terminal


def test_lines_are_printable_whatever_is_in_them(report, case, compared):
    whole = report(
        case(compared(label=HOSTILE), nodeid=HOSTILE),
        case(nodeid=HOSTILE, outcome="error", message=HOSTILE),
        missing=(HOSTILE,),
        unfinished=(HOSTILE,),
        notices=(HOSTILE,),
        service={"words": HOSTILE},
        exit_code=11,
    )
    told = list(lines(whole))
    assert told
    assert all(text.isprintable() for _, text in told)


def test_how_the_server_was_spoken_to_has_a_line(report):
    words = "current: Observatory 2026.9, sha256 0123456789ab; Bearer, cursors"
    assert ("plain", f"server API: {words}") in list(lines(report(service={"words": words})))
    assert not [text for _, text in lines(report()) if text.startswith("server API")]


@pytest.mark.parametrize(
    ("outcome", "tone"),
    [
        ("passed", "good"), ("inconclusive", "unsure"), ("failed", "bad"), ("untrustworthy", "bad"), ("error", "bad"),
        ("skipped", "plain"),
    ],
)  # fmt: skip
def test_an_outcome_has_its_tone(report, case, compared, outcome, tone):
    first = next(iter(lines(report(case(compared(), outcome=outcome)))))
    assert first == (tone, f"{outcome.upper():<13} {compared()['headline']}")


@pytest.mark.parametrize(
    ("code", "tone"), [(0, "good"), (10, "unsure"), (1, "bad"), (11, "bad"), (2, "bad"), (5, "bad")]
)
def test_the_last_line_is_the_exit(report, code, tone):
    whole = report(exit_code=code)
    assert list(lines(whole))[-1] == (tone, f"exit {code}: {whole.exit_words}")


def test_every_comparison_of_a_case_has_its_line(report, case, compared):
    told = [
        text
        for _, text in lines(
            report(
                case(
                    compared(), compared((6, 17), attempt=2, earlier=["worse (attempt 1)"]), outcome="failed"
                )
            )
        )
    ]
    assert "BETTER" in told[0]
    assert "WORSE" in told[1]
    assert "evals/test_a.py::test_b" in told[2]
    assert "attempt 2" in told[3]


def shown(whole, verbose):
    return [text for _, text in lines(whole, verbose)]


def test_what_passed_is_one_line_and_what_did_not_has_its_details(report, case, compared):
    passed = case(compared(), nodeid="a.py::good")
    failed = case(compared((6, 17), name="A/B imposter"), nodeid="a.py::bad", outcome="failed")
    whole = report(passed, failed, exit_code=1, notices=("a notice",), service={"words": "spoken to"})
    told = shown(whole, 0)
    assert told[0] == f"PASSED        {compared()['headline']}"
    assert told[1].startswith("FAILED        A/B crew: WORSE")
    assert told[2] == f"{'':14}a.py::bad"
    assert told[3].strip().startswith("success check")
    assert "note: a notice" in told
    assert sum("success check" in text for text in told) == 1
    assert sum("success check" in text for text in shown(whole, 1)) == 2
    assert f"{'':14}a.py::good" in shown(whole, 1)
    quiet = shown(whole, -1)
    assert quiet[:3] == told[:3]
    assert not any("success check" in text for text in quiet)


def test_what_must_be_known_beside_a_verdict_is_told_of_what_passed_too(report, case, compared):
    again = case(compared(evidence_age_seconds=60.0, attempt=2, earlier=["worse (attempt 1)"]))
    for verbose in (-1, 0, 1):
        told = shown(report(again), verbose)
        assert any("read again, 60 s old" in text or "read again, 1 min" in text for text in told)
        assert any("attempt 2, a further look" in text for text in told)


@pytest.mark.parametrize("verbose", [-2, 0, 1])
def test_a_case_without_a_verdict_is_told_by_its_name(report, case, verbose):
    """It played an arm by itself, say, and its own assertions held."""
    told = [line for _, line in lines(report(case(nodeid="t.py::test_alone")), verbose=verbose)]
    assert [line for line in told if "t.py::test_alone" in line] == ["PASSED        t.py::test_alone"]


def test_two_quiet_signs_leave_the_verdicts_and_what_spoils_them(report, case, compared):
    whole = report(
        case(compared(), nodeid="a.py::one"),
        case(nodeid="a.py::two", outcome="error", message="it broke\nbadly"),
        exit_code=11,
        notices=("a notice",),
        service={"words": "spoken to"},
        missing=("a.py::three",),
        still_running=("candidate a:v1 xreq_1",),
    )
    assert shown(whole, -2) == [
        f"PASSED        {compared()['headline']}",
        "ERROR         it broke (a.py::two)",
        "a.py::three: collected, and never reported",
        "still running on the server: candidate a:v1 xreq_1",
        "nothing is lost and nothing is posted twice: the same command goes on with these requests",
        f"exit 11: {whole.exit_words}",
    ]


def test_a_pass_with_a_point_that_is_not_ok_says_so(report, case, compared):
    whole = report(case(compared((15, 17), claim="not_worse")))
    doubt = f"{'':14}success check: enough games not ok (-v tells why)"
    assert shown(whole, 0)[1] == doubt
    assert doubt not in shown(whole, 1)
    assert any("4 not ok  enough games" in text for text in shown(whole, 1))


def test_cases_that_have_one_name_are_told_apart(report, case, compared):
    whole = report(case(compared(), nodeid="a.py::test[1]"), case(compared(), nodeid="a.py::test[2]"))
    assert [text.rpartition("(")[2] for text in shown(whole, 0)[:2]] == ["a.py::test[1])", "a.py::test[2])"]


def test_what_never_reported_is_bad(report):
    assert ("bad", "evals/x.py::y: collected, and never reported") in lines(
        report(missing=("evals/x.py::y",))
    )


def test_what_a_stopped_run_did_not_get_to_is_no_loss(report):
    names = tuple(f"evals/x.py::y{i}" for i in range(6))
    told = [line for line in lines(report(unfinished=names, exit_code=1)) if "evals/" in line[1]]
    assert told == [("unsure", f"not judged, the run was stopped before: {', '.join(names[:4])} and 2 more")]
    assert not [line for line in lines(report(exit_code=1)) if "stopped before" in line[1]]


# ----------------------------------------------------------------- progress


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("posted", "posted as xreq_1"),
        ("adopted", "found its request xreq_1; nothing was posted again"),
        ("answer_lost", "the answer to its POST was lost; looking for the request"),
        ("outage", "the server does not answer; xreq_1 is asked again: the reason"),
        ("finished", "all episodes have ended (xreq_1)"),
        ("refused", "refused: the reason"),
        ("abandoned", "no longer waited for: the reason"),
        ("wedged", "wedged: the reason"),
    ],
)
def test_every_event_has_its_line(what, told):
    assert progress.line(event(what)) == f"candidate keeper:v2: {told}"


def test_every_word_that_the_driver_says_is_known():
    from pathlib import Path
    from re import findall

    from pytest_evalharness.league import drive, poll

    said = set(
        findall(r'say\(\s*"(\w+)"', Path(drive.__file__).read_text() + Path(poll.__file__).read_text())
    )
    assert "progress" in said
    silent = {"posting"}  # kept for the reader who asks what still runs; a line would say nothing yet
    assert {what for what in said if not progress.line(event(what))} == silent


@pytest.mark.parametrize("what", [*WHATS, "progress"])
def test_progress_is_printable_whatever_the_server_says(what):
    hostile = dict.fromkeys(("label", "request", "reason"), HOSTILE)
    line = progress.line(event(what, **hostile, counts={HOSTILE: 2}, total=3))
    assert line
    assert line.isprintable()


@pytest.mark.parametrize("what", [*WHATS, "progress"])
def test_an_event_without_its_fields_is_no_crash(what):
    assert progress.line({"kind": "arm", "what": what})


def test_braces_in_names_are_no_format():
    assert "{reason}" in progress.line(event("posted", request="{reason}"))


@pytest.mark.parametrize(
    "other", [{}, {"kind": "case"}, {"kind": "arm"}, {"kind": "arm", "what": "new"}, {"what": "posted"}]
)
def test_events_that_are_nothing_to_people(other):
    assert progress.line(other) is None


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({"completed": 30}, "30 of 30 episodes have ended"),
        (
            {"completed": 3, "running": 7, "pending": 20},
            "3 of 30 episodes have ended (20 pending, 7 running)",
        ),
        (
            {"failed": 2, "cancelled": 1, "completed": 3},
            "6 of 30 episodes have ended (1 cancelled, 2 failed)",
        ),
        ({}, "0 of 30 episodes have ended"),
        (None, "30 episodes"),
    ],
)
def test_counts(counts, told):
    assert progress.line(event("progress", counts=counts, total=30)) == f"candidate keeper:v2: {told}"


@pytest.mark.parametrize("what", [*WHATS, "progress", "new", None])
def test_quiet_runs_are_told_changes_only(what):
    assert progress.is_change(event(what)) == (what in set(WHATS) - {"outage"})


# ------------------------------------------------------- what still runs


def arm_event(what, key="k", request="xreq_1"):
    return {"kind": "arm", "what": what, "side": "candidate", "label": "a:v1", "key": key, "request": request}


@pytest.mark.parametrize(
    ("events", "open_ones"),
    [
        ([], 0),
        (["posting"], 1),
        (["posting", "refused"], 0),
        (["posted"], 1),
        (["posted", "progress"], 1),
        (["posted", "finished"], 0),
        (["adopted", "abandoned"], 1),
        (["resumed", "wedged"], 0),
        (["refused"], 0),
    ],
)
def test_requests_that_were_posted_and_have_not_ended(events, open_ones):
    assert len(open_requests([arm_event(what) for what in events])) == open_ones


def test_an_interrupted_run_tells_what_still_runs_and_how_to_go_on(report):
    told = [text for _, text in lines(report(exit_code=2, still_running=("candidate a:v1 xreq_1\x1b[2J",)))]
    assert any("still running on the server: candidate a:v1 xreq_1" in line for line in told)
    assert any("the same command goes on" in line for line in told)
    assert all(line.isprintable() for line in told)


def test_after_a_wedge_nothing_is_gone_on_with():
    posted = [arm_event("posted", "a", "xreq_1"), arm_event("posted", "b", "xreq_2")]
    assert len(still_running(posted)) == 2
    assert still_running([*posted, arm_event("wedged", "a", "xreq_1")]) == ()


# ------------------------------------------------------------ which, and how often


def counted(done):
    return event("progress", key="k", counts={"completed": done}, total=30)


@pytest.mark.parametrize(("interactive", "seconds"), [(True, [0, 2, 4, 6, 8]), (False, [0])])
def test_a_terminal_is_told_a_moving_count_more_often_than_a_log(interactive, seconds):
    narrator = Narrator(interactive=interactive)
    assert [at for at in range(10) if list(narrator.lines([counted(at)], at))] == seconds


@pytest.mark.parametrize(("quiet", "count"), [(0, 4), (1, 3), (2, 0)])
def test_how_quiet_it_is(quiet, count):
    events = [event("posted"), counted(3), event("outage"), event("finished"), {"kind": "case"}]
    assert len(list(Narrator(quiet=quiet).lines(events, 0.0))) == count


def test_counts_that_the_updated_line_shows_are_told_once_they_are_all():
    narrator = Narrator(counts=False)
    events = [event("posted"), counted(3), event("outage"), ended(3), ended(30), event("finished")]
    assert len(list(narrator.lines(events, 0.0))) == 4


# ------------------------------------------------------------- the updated line


def standing(*events):
    standings = progress.Standings()
    for one in events:
        standings.note(one)
    return standings.line


def moved(side, label, key, done, total=30):
    counts = {"completed": done, "running": total - done}
    return {**event("progress", counts=counts, total=total, key=key), "side": side, "label": label}


def test_the_updated_line_has_every_arm_that_is_under_way():
    b, c = moved("baseline", "a:v1", "k1", 4), moved("candidate", "a:v2", "k2", 7)
    assert standing(b, c) == "candidate a:v2 7 of 30, baseline a:v1 4 of 30"
    assert (
        standing(b, c, moved("candidate", "a:v2", "k3", 1)) == "candidate a:v2 8 of 60, baseline a:v1 4 of 30"
    )


def test_what_has_ended_counts_until_everything_has():
    c, other = moved("candidate", "a:v2", "k2", 7), moved("candidate", "a:v2", "k3", 9)
    over = {**c, "what": "finished"}
    assert standing(c, over) == ""
    assert standing(c, other, over) == "candidate a:v2 39 of 60"
    assert standing(c, moved("candidate", "a:v2", "k2", 30)) == ""
    for what in ("refused", "abandoned", "wedged"):
        assert standing(c, {**c, "what": what}) == ""
    assert standing() == standing({"kind": "case"}, event("posted")) == ""


def test_an_arm_of_many_requests_counts_its_pairs():
    assert standing(one_of_many("posted", 1), ended(12)) == "candidate keeper:v2 12 of 30"
    assert standing(ended(12), one_of_many("progress", 3, counts={"completed": 1}, total=1)).endswith(
        "12 of 30"
    )
    assert standing(ended(30)) == ""


def test_the_updated_line_is_printable():
    assert standing({**moved("candidate", HOSTILE, "k", 1)}).isprintable()


# ---------------------------------------------------- arms of many requests


def one_of_many(what, number, **fields):
    said = {"key": "k", "block": f"k.{number}", "request": f"xreq_{number}", "requests": 30}
    return event(what, **{**said, **fields})


def ended(done, total=30, **fields):
    return {**event("ended", key="k", done=done, total=total, unit="pairs"), **fields}


def told(events):
    crowds = progress.Crowds()
    return [progress.line(one) for one in events if crowds.wanted(one)]


def test_an_arm_of_many_requests_is_told_as_a_whole():
    events = [one_of_many(what, i) for i in range(30) for what in ("posted", "progress", "finished")]
    assert told(events) == ["candidate keeper:v2: 30 requests to post, the first is xreq_0"]
    again = [one_of_many("resumed", i) for i in range(3)]
    assert told(again) == [
        "candidate keeper:v2: goes on with its requests, xreq_0 and others; nothing was posted again"
    ]


@pytest.mark.parametrize("what", ["outage", "refused", "abandoned", "wedged", "answer_lost", "adopted"])
def test_what_goes_wrong_in_many_requests_is_told_once(what):
    assert len(told([one_of_many(what, i) for i in range(5)])) == 1


def test_how_far_the_pairs_are_is_a_line_a_quarter():
    lines = told([ended(done) for done in range(31)])
    assert lines == [f"candidate keeper:v2: {done} of 30 pairs finished" for done in (8, 15, 23, 30)]
    assert told([ended(12), ended(12), ended(11)]) == ["candidate keeper:v2: 12 of 30 pairs finished"]
    assert told([ended(0)]) == []
    assert len(told([ended(9, 9), ended(18, 18)])) == 2, "each look has a count of its own"


def test_a_few_requests_are_told_one_by_one():
    assert len(told([one_of_many("finished", i, requests=3) for i in range(3)])) == 3


def test_only_the_last_share_is_told_in_a_quiet_run():
    assert progress.is_change(ended(30))
    assert not progress.is_change(ended(29))


def test_many_requests_that_still_run_are_one_line():
    events = [one_of_many("posted", i) for i in range(30)]
    events += [one_of_many("finished", i) for i in range(10)]
    assert open_requests(events) == ["candidate keeper:v2 20 requests, xreq_10 … xreq_29"]
    events += [one_of_many("finished", i) for i in range(10, 28)]
    assert open_requests(events) == ["candidate keeper:v2 xreq_28", "candidate keeper:v2 xreq_29"]
