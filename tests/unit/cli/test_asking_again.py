"""What a command says while a server lets it wait: nothing of a moment, and then not too often."""

from pytest_evalharness.cli.asking_again import AskingAgain


def test_a_moment_is_not_told_and_a_long_wait_now_and_then():
    said = []
    again = AskingAgain(said.append)
    told = []
    for _ in range(30):
        before = len(said)
        again("GET /x: HTTP 404", 0.9)
        told.append(len(said) - before)
    # 2.7 s are more than a moment; then it is told again after ten seconds each.
    assert [at for at, count in enumerate(told) if count] == [2, 14, 26]
    assert set(said) == {"asking again: GET /x: HTTP 404"}


def test_what_a_server_says_cannot_steer_the_terminal():
    said = []
    AskingAgain(said.append)("\x1b[2J503\nnext", 5.0)
    assert said == ["asking again: \ufffd[2J503\ufffdnext"]
