"""Whatever a server says of what episodes left: files keep our names, the token stays at home, and nothing else breaks."""

import random
import re
import threading

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.layout import ReplayNames, file_of
from pytest_evalharness.episodes.limits import DownloadLimits
from pytest_evalharness.episodes.manifest import _offer
from pytest_evalharness.episodes.references import reference
from pytest_evalharness.episodes.routes import replay_offer, seat_of, shown
from pytest_evalharness.episodes.transfer import Transfer
from pytest_evalharness.net import NetError, Streams
from pytest_evalharness.observatory.models.sources import ManifestEntry, SourceRow

OURS = re.compile(
    r"results\.json|error_info\.json|replay\.raw|logs/game\.log|logs/policy_agent_\d{1,2}\.log|artifacts/policy_artifact_\d{1,2}\.zip"
)
NAMES = st.sampled_from(["../../x", "/etc/passwd", "a\0b", "logs", "", "..", "x" * 5000, "C:\\x"]) | st.text(
    max_size=30
)
ADDRESSES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "//evil.example/x", "/\r\nHost: evil", "https://user:secret@evil.example/x", "http://127.0.0.1/x", "https://localhost/x",
            "https://league.example.evil.example/x", "https://league.example/api/observatory/v2/x", "https://[::1]/", "ftp://x/", "/../../x",
            "https://evil.example:99999/", "https://evil.example/\x00", "https://2130706433/x", "https://[bad", "https://[::1/x?a", "https://league.example@evil.example/",
        ]
    ),
    st.text(max_size=20).map(lambda tail: f"https://evil.example/{tail}"),
)  # fmt: skip
WORDS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 2**70), st.floats(), NAMES, st.lists(st.integers(), max_size=2)
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "episode_request_id": WORDS,
        "category": st.sampled_from(
            ["results", "replay", "events", "player_logs", "player_artifact", "game_logs"]
        )
        | WORDS,
        "position": st.integers(-1, 70) | WORDS,
        "state": st.sampled_from(["ready", "pending", "not_produced", "unavailable"]) | WORDS,
        "filename": NAMES,
        "size": WORDS,
        "etag": WORDS,
        "url": ADDRESSES | WORDS,
        "inline_json": WORDS | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    },
)


@given(ENTRIES)
def test_an_entry_of_a_manifest_names_no_file_of_its_own(told):
    try:
        offer = _offer(ManifestEntry.model_validate(told))
    except ValidationError:
        return

    if offer is not None:
        assert OURS.fullmatch(file_of(offer.artifact, ReplayNames()))


@given(st.one_of(WORDS, st.integers(0, 99).map(lambda seat: f"policy_agent_{seat}.log")))
def test_a_listed_name_is_a_seat_or_nothing(name):
    assert seat_of(name) is None or 0 <= seat_of(name) < 64


class Recorder(httpx.BaseTransport):
    """Answers everything, and keeps what it was asked."""

    def __init__(self, asked):
        self.asked = asked

    def handle_request(self, request):
        self.asked.append(request)
        return httpx.Response(200, content=b"bytes")


def streams(asked):
    return Streams(
        "https://league.example/api/observatory",
        headers={"Authorization": "Bearer s3cret-t0ken"},
        environ={},
        carrier=lambda *_: Recorder(asked),
    )


@settings(max_examples=300)
@given(ADDRESSES)
def test_wherever_an_address_leads_the_token_stays_at_home(address):
    asked = []
    with streams(asked) as found:
        try:
            with found.open(address, deadline=Deadline.after(SystemClock(), 5.0)) as answer:
                assert b"".join(answer.chunks) == b"bytes"
        except NetError:
            assert asked == []
    for request in asked:
        at_home = request.url.host == "league.example" and request.url.scheme == "https"
        assert "authorization" not in request.headers or (at_home and address.startswith("/"))
        assert request.url.scheme == "https"
        assert not request.url.userinfo
        assert request.url.host not in {"localhost", "127.0.0.1", "::1"}


@given(ADDRESSES)
def test_a_public_replay_is_fetched_or_asked_of_the_server(address):
    row = SourceRow.model_validate({"id": "ereq_1", "status": "completed", "replay_url": address})

    offer = replay_offer(reference(row), "/route")

    assert offer.address in {address, "/route"}
    assert "?" not in offer.route
    assert offer.route == printable(offer.route, 300)


@given(ADDRESSES)
def test_what_is_shown_of_an_address_holds_no_signature(address):
    assert "?" not in shown(address)
    assert "secret" not in shown(address)


@pytest.mark.parametrize("seed", range(3))
def test_random_offers_never_leave_their_folder(tmp_path, seed):
    rng = random.Random(seed)
    before = sorted(tmp_path.iterdir())
    asked = []
    root = tmp_path / "out"
    root.mkdir()
    with streams(asked) as found:
        transfer = Transfer(found, DownloadLimits(), clock=SystemClock(), rng=rng, stop=threading.Event())
        for category in ("results", "replay", "player_logs", "player_artifact"):
            entry = ManifestEntry.model_validate(
                {
                    "episode_request_id": "../../x", "category": category, "position": rng.randrange(64), "state": "ready",
                    "filename": "../../../evil", "url": "https://storage.example/../../evil", "size": 5, "etag": "x",
                }
            )  # fmt: skip
            offer = _offer(entry)
            transfer.fetch(offer, root, file_of(offer.artifact, ReplayNames()))
    assert [path for path in sorted(tmp_path.iterdir()) if path not in before] == [root]
    names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    assert len(names) == 3, "all but the results, which are no JSON"
    assert all(map(OURS.fullmatch, names))
