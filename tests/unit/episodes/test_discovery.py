"""When an episode that was found is over; no server is needed for that."""

import pytest

from pytest_evalharness.episodes.discovery import Mode, Selection, find
from pytest_evalharness.observatory.models.sources import SourceRow
from pytest_evalharness.observatory.status import Status


class Server:
    """Shows two episodes of one request; who asks for that is counted."""

    def __init__(self, request_status, status="failed", *, told=True):
        self.episodes = self
        self.request_status_told, self.asked = request_status, []
        of_request = {"experience_request_id": "xreq_1"} if told else {}
        rows = [{"id": name, "status": status, **of_request} for name in ("a", "b")]
        self.rows = {row["id"]: SourceRow.model_validate(row) for row in rows}

    def standing(self, ids):
        return {name: self.rows[name] for name in ids}

    def request_status(self, request_id):
        self.asked.append(request_id)
        return self.request_status_told

    def of_round(self, _):
        plain = [row.model_copy(update={"experience_request_id": None}) for row in self.rows.values()]
        return iter([plain])

    def row(self, name):
        return self.rows[name]


@pytest.mark.parametrize("mode", [Mode.EREQ, Mode.ROUND])
@pytest.mark.parametrize(
    ("status", "over"),
    [(Status.RUNNING, False), (Status.COMPLETED, True), (Status.CANCELLED, True), (None, True)],
)
def test_a_failed_episode_is_over_when_its_request_is(mode, status, over):
    server = Server(status)

    found = find(server, Selection(mode, ("a", "b") if mode.by_name else ("round_1",), failed_only=True))

    assert [one.over for one in found.episodes] == [over, over]
    assert server.asked == ["xreq_1"]


@pytest.mark.parametrize(("status", "told"), [("completed", True), ("failed", False)])
def test_nobody_is_asked_about_what_is_over_or_has_no_request(status, told):
    server = Server(Status.RUNNING, status, told=told)

    found = find(server, Selection(Mode.EREQ, ("a", "b")))

    assert [one.over for one in found.episodes] == [True, True]
    assert server.asked == []
