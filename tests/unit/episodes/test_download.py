"""What a download makes of rows that come twice, are hostile, or belong to nobody; no server is needed for that."""

import json
import random
import threading
from dataclasses import replace

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.episodes.artifacts import Artifact, Category, Offer, State
from pytest_evalharness.episodes.download import Download, Wanted
from pytest_evalharness.episodes.index import Index, read_index
from pytest_evalharness.episodes.layout import ReplayNames
from pytest_evalharness.episodes.limits import DownloadLimits
from pytest_evalharness.episodes.references import reference
from pytest_evalharness.episodes.routes import Source
from pytest_evalharness.episodes.transfer import Transfer
from pytest_evalharness.errors import CredentialsRejected, ServerUnreachable
from pytest_evalharness.observatory.models.sources import SourceRow

RESULTS = Artifact(Category.RESULTS)
LOG = Artifact(Category.GAME_LOG)


class Told:
    """Keeps what it is told."""

    def __init__(self):
        self.entries, self.skipped = [], 0

    def found(self, count):
        pass

    def bytes(self, count):
        pass

    def done(self, entry, *, skipped):
        self.entries.append(entry)
        self.skipped += skipped

    def remark(self, text):
        pass


class Calls:
    """A server that says of every episode whether it is sealed, or says nothing."""

    told = None

    def sealed(self, ids):
        return {} if self.told is None else dict.fromkeys(ids, self.told)


class Inline(Source):
    """Has the results of every episode at hand, or fails."""

    def __init__(self, problem=None):
        self.asked = []
        self.problem = problem

    def _offers(self, episode, wanted):
        self.asked.append(episode.id)
        if self.problem is not None and episode.id == "bad":
            raise self.problem
        return [Offer(one, content=b'{"scores": [1]}') for one in [RESULTS] if one.category in wanted]


def row(name, **more):
    return reference(
        SourceRow.model_validate(
            {"id": name, "status": "completed", "created_at": "2026-09-01T12:00:00Z", **more}
        )
    )


@pytest.fixture
def download(tmp_path):
    def make(source, *, clock=None, **wanted):
        clock, stop = clock or SystemClock(), threading.Event()
        transfer = Transfer(None, DownloadLimits(), clock=clock, rng=random.Random(1), stop=stop)
        told = Told()
        found = Download(
            Calls(),
            source,
            transfer,
            read_index(tmp_path),
            Wanted(**wanted),
            clock=clock,
            stop=stop,
            watching=told,
        )
        found.told = told
        return found

    return make


def test_an_episode_that_is_listed_twice_is_fetched_once(download, tmp_path):
    source = Inline()

    entries = download(source).run([row("a"), row("b"), row("a")], late_seconds=0)

    assert sorted(source.asked) == ["a", "b"]
    assert [one.id for one in entries] == ["a", "b"]
    assert all(one.settled for one in read_index(tmp_path).entries.values())


def test_what_is_there_is_skipped_and_what_changed_is_not(download, tmp_path):
    download(Inline()).run([row("a"), row("b")], late_seconds=0)

    source = Inline()
    again = download(source)
    again.run([row("a"), row("b")], late_seconds=0)
    assert (source.asked, again.told.skipped) == ([], 2)

    forced = Inline()
    download(forced, force=True).run([row("a")], late_seconds=0)
    assert forced.asked == ["a"]

    (tmp_path / read_index(tmp_path).entries["b"].folder / "episode.json").unlink()
    mended = Inline()
    download(mended).run([row("a"), row("b")], late_seconds=0)
    assert mended.asked == ["b"]


def test_a_row_that_cannot_be_written_down_fails_alone(download, tmp_path):
    deep = []
    for _ in range(5000):
        deep = [deep]

    download(Inline()).run([row("a", extra=deep), row("b")], late_seconds=0)

    found = read_index(tmp_path).entries
    assert {one.state for one in found["a"].files.values()} == {State.FAILED}
    assert found["b"].settled


def test_an_episode_that_cannot_be_asked_for_fails_alone(download, tmp_path):
    download(Inline(ServerUnreachable("nobody answers"))).run([row("bad"), row("good")], late_seconds=0)

    found = read_index(tmp_path).entries
    assert {one.reason for one in found["bad"].files.values()} == {"nobody answers"}
    assert not found["bad"].settled
    assert found["good"].settled


def test_a_token_that_does_not_count_ends_it_and_keeps_what_came(download, tmp_path):
    found = download(Inline(CredentialsRejected("no")))

    with pytest.raises(CredentialsRejected):
        found.run([row("good"), row("bad")], late_seconds=0)

    index = json.loads((tmp_path / "index.json").read_text())
    assert {one["id"] for one in index["episodes"]} == {"good", "bad"}
    assert not read_index(tmp_path).entries["bad"].settled


def test_before_a_file_is_replaced_the_index_stops_telling_of_it(download, tmp_path):
    download(Inline()).run([row("a"), row("b")], late_seconds=0)
    seen = []

    class Looking(Inline):
        def _offers(self, episode, wanted):
            seen.append(dict(read_index(tmp_path).entries["a"].files))
            return super()._offers(episode, wanted)

    download(Looking(), force=True).run([row("a")], late_seconds=0)
    assert seen == [{}]
    (tmp_path / read_index(tmp_path).entries["a"].folder / "results.json").write_text("{}")
    download(Looking()).run([row("a"), row("b")], late_seconds=0)
    assert seen == [{}, {}]
    assert read_index(tmp_path).entries["a"].settled


class Ended(Source):
    """Has what is asked for at hand, as far as it is said to; whatever comes after that ends the run, as Ctrl-C does."""

    def __init__(self, **there):
        self.there = there

    def _offers(self, episode, wanted):
        return [Offer(Artifact(one), address="/away", content=self.there.get(one.value)) for one in wanted]


class CtrlC:
    """A server in whose answer somebody has enough."""

    def open(self, *_, **__):
        raise KeyboardInterrupt


def test_an_episode_that_was_being_mended_is_not_complete(download, tmp_path):
    ids = ["a", "b"]
    download(Inline(), categories=(Category.RESULTS,)).run([row(one) for one in ids], late_seconds=0)
    known = read_index(tmp_path).entries
    for each in ids:
        (tmp_path / known[each].folder / "results.json").unlink()

    interrupted = download(Inline(), categories=(Category.RESULTS,))
    interrupted._stop.set()
    interrupted.run([row(one) for one in ids], late_seconds=0)
    assert not any(one.settled for one in read_index(tmp_path).entries.values())

    entries = download(Inline(), categories=(Category.RESULTS,)).run(
        [row(one) for one in ids], late_seconds=0
    )
    assert all((tmp_path / one.folder / "results.json").is_file() for one in entries)


def test_a_large_file_is_known_before_its_episode_is_through(download, tmp_path):
    log, wanted = b"line\n" * 300_000, (Category.GAME_LOG, Category.RESULTS)
    broken = download(Ended(game_logs=log), categories=wanted)
    broken._transfer._streams = CtrlC()

    with pytest.raises(KeyboardInterrupt):
        broken.run([row("a")], late_seconds=0)

    (entry,) = read_index(tmp_path).entries.values()
    assert (list(entry.files), entry.settled) == (["logs/game.log"], False)
    assert entry.lost(tmp_path) == []

    # What is there is not asked for again: no server is needed but for the rest.
    download(Ended(results=b"{}"), categories=wanted).run([row("a")], late_seconds=0)
    (entry,) = read_index(tmp_path).entries.values()
    assert (sorted(entry.files), entry.settled) == (["logs/game.log", "results.json"], True)


class Partly(Source):
    """Has some artifacts, and no others by now."""

    def __init__(self, *there):
        self.there = there

    def _offers(self, episode, wanted):
        return [
            Offer(one, content=b'{"scores": [1]}' if one in self.there else None) for one in (RESULTS, LOG)
        ]


@pytest.mark.parametrize(
    ("there", "sealed", "never", "states"),
    [
        ((RESULTS,), True, True, (State.OK, State.NOT_PRODUCED)),
        ((RESULTS,), False, True, (State.OK, State.PENDING)),
        ((RESULTS,), None, True, (State.OK, State.NOT_PRODUCED)),
        ((RESULTS,), None, False, (State.OK, State.PENDING)),
        ((), True, False, (State.NOT_PRODUCED, State.NOT_PRODUCED)),
        ((), False, True, (State.PENDING, State.PENDING)),
        (
            (),
            None,
            True,
            (State.PENDING, State.PENDING),
        ),  # a game that was played has results, sooner or later
        ((LOG,), None, True, (State.PENDING, State.OK)),
    ],
    ids=range(8),
)
@pytest.mark.failure_mode(number=18)
def test_what_is_absent_may_come_or_never_will(download, there, sealed, never, states):
    episode = replace(row("a"), sealed=sealed, created_at=SystemClock().now())
    found = download(Partly(*there))
    found._calls.told = sealed

    (entry,) = found.run([episode], late_seconds=0, never=lambda _: never)

    assert (entry.files["results.json"].state, entry.files["logs/game.log"].state) == states


class Late(Source):
    """Has no log when it is asked first; the machine stands still before its answer is looked at."""

    def __init__(self, meanwhile):
        self.asked = 0
        self.meanwhile = meanwhile

    def _offers(self, episode, wanted):
        self.asked += 1
        found = [
            Offer(RESULTS, content=b'{"scores": [1]}'),
            Offer(LOG, content=b"log" if self.asked > 1 else None),
        ]
        self.meanwhile()
        return found


class HandClock(SystemClock):
    skipped = 0.0

    def monotonic(self):
        return self.skipped

    def wait(self, seconds, stop=None):
        self.skipped += seconds
        return stop is not None and stop.is_set()


def test_what_was_absent_before_it_could_come_no_more_is_asked_for_once_more(download):
    clock = HandClock()
    source = Late(lambda: setattr(clock, "skipped", clock.skipped + 1000.0))
    episode = replace(row("a"), created_at=clock.now())

    (entry,) = download(source, clock=clock).run([episode], late_seconds=30)

    assert (entry.files["logs/game.log"].state, source.asked) == (State.OK, 2)


def test_what_was_absent_before_it_never_comes_may_still_come(download):
    source = Late(lambda: None)
    episode = replace(row("a"), created_at=SystemClock().now())

    (entry,) = download(source).run([episode], late_seconds=0, never=lambda _: source.asked > 0)

    assert entry.files["logs/game.log"].state is State.PENDING


class Replays(Source):
    """Has a replay at hand, or nothing but its refusal."""

    def __init__(self, content):
        self.content = content

    def _offers(self, episode, wanted):
        return [Offer(Artifact(Category.REPLAY), content=self.content)]


SEED_NAMES = ReplayNames(seed_names=True)


def test_other_names_of_replays_are_made_in_a_folder_that_is_complete(download, tmp_path):
    download(Replays(b"raw")).run([row("a")], late_seconds=0)

    (entry,) = download(Replays(b"raw"), replay=SEED_NAMES).run([row("a")], late_seconds=0)
    again = download(Replays(b"raw"), replay=SEED_NAMES)
    again.run([row("a")], late_seconds=0)

    assert sorted(entry.files) == ["replay.bin", "replay.json", "replay.json.z", "replay.raw"]
    assert all((tmp_path / entry.folder / path).read_bytes() == b"raw" for path in entry.files)
    assert again.told.skipped == 1


def test_a_replay_that_failed_under_another_name_is_forgotten_once_it_is_there(download):
    (entry,) = download(Replays(b"x\x9cno zlib")).run([row("a")], late_seconds=0)
    assert entry.files["replay.bin"].state is State.FAILED
    assert not entry.settled

    (entry,) = download(Replays(b"raw"), replay=SEED_NAMES, force=True).run([row("a")], late_seconds=0)
    assert entry.settled

    (entry,) = download(Replays(b"x\x9cno zlib")).run([row("b")], late_seconds=0)
    (entry,) = download(Replays(b"raw"), replay=SEED_NAMES).run([row("b")], late_seconds=0)
    assert "replay.bin" not in entry.files
    assert entry.settled


def test_an_index_without_a_folder_yet_is_empty(tmp_path):
    assert read_index(tmp_path / "nowhere") == Index(tmp_path / "nowhere")
