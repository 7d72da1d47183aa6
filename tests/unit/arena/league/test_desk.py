import asyncio

import pytest

from pytest_evalharness.arena.game.hosted import Played
from pytest_evalharness.arena.league.desk import AlreadyOverError, KeyConflictError
from pytest_evalharness.arena.league.founding import DAILY
from pytest_evalharness.arena.league.records import Marks, State, policy_scores
from pytest_evalharness.arena.league.roster import UnresolvableError
from pytest_evalharness.arena.league.store import Finished

REFS = ["keeper:v1", "rival:v3", *(f"player{n:02}:v4" for n in range(6))]


def _body(first="keeper:v1", **fields):
    refs = [first, *REFS[1:]]
    roster = [{"player": {"policy_ref": ref}, "slot": slot} for slot, ref in enumerate(refs)]
    return {"target": {"league_id": DAILY}, "roster": roster, "num_episodes": 3, **fields}


def _create(desk, body, mark=None):
    return asyncio.run(desk.create(body, mark or Marks()))[0]


def _seeds(request):
    return [episode.seed for episode in request.episodes]


def test_seeds_depend_on_what_is_asked_not_on_order_notes_or_keys(open_desk):
    one, _ = open_desk("one")
    other, _ = open_desk("other")
    first, second = _create(one, _body()), _create(one, _body("keeper:v2"))
    swapped = (
        _create(other, _body("keeper:v2", notes="n", idempotency_key="evh-1")),
        _create(other, _body(title="t")),
    )

    assert _seeds(first) == _seeds(swapped[1])
    assert _seeds(second) == _seeds(swapped[0])
    assert first.id == swapped[1].id
    assert [each.id for each in first.episodes] == [each.id for each in swapped[1].episodes]


def test_seeds_differ_between_arms_episodes_occurrences_configs_and_arenas(open_desk):
    desk, _ = open_desk()
    elsewhere, _ = open_desk("elsewhere", seed=7)
    requests = [
        _create(desk, _body()),
        _create(desk, _body()),
        _create(desk, _body("keeper:v2")),
        _create(desk, _body(game_config_overrides={"maxTicks": 9000})),
        _create(desk, _body(target={"league_name": "Crewrift Prime"})),
        _create(elsewhere, _body()),
    ]

    seeds = [seed for request in requests for seed in _seeds(request)]

    assert len(set(seeds)) == len(seeds)


def test_more_episodes_of_the_same_begin_alike(open_desk):
    short, _ = open_desk("short")
    long, _ = open_desk("long")

    assert _seeds(_create(long, _body(num_episodes=10)))[:3] == _seeds(_create(short, _body()))


def test_one_spelling_of_a_body_has_the_seeds_of_another(open_desk, world):
    one, _ = open_desk("one")
    other, _ = open_desk("other")
    spelled = _body(game_config_overrides={"imposterCount": 2, "voteTimerTicks": 7200})
    spelled["target"] = {"league_name": "Crewrift Daily", "division_name": "Competition"}
    spelled["roster"][0]["player"]["policy_ref"] = world.version_by_label["keeper:v1"].id

    assert _seeds(_create(one, _body())) == _seeds(_create(other, spelled))


def test_a_given_seed_is_every_episodes_seed(open_desk):
    desk, _ = open_desk()

    assert _seeds(_create(desk, _body(game_config_overrides={"seed": 5}))) == [5, 5, 5]
    assert len(set(_seeds(_create(desk, _body(game_config_overrides={"seed": -1}))))) == 3


def test_a_key_gives_its_request_back_or_conflicts(open_desk):
    desk, _ = open_desk()
    first = _create(desk, _body(idempotency_key="evh-1"))

    assert _create(desk, _body(idempotency_key="evh-1")) is first
    with pytest.raises(KeyConflictError):
        _create(desk, _body(idempotency_key="evh-1", notes="other"))
    assert desk.counters() == {
        "experience_request_posts": 2,
        "experience_requests_created": 1,
        "idempotent_replays": 1,
    }


def test_what_is_refused_leaves_no_trace(open_desk):
    desk, _ = open_desk()
    with pytest.raises(UnresolvableError):
        _create(desk, _body(game_config_overrides={"nonsense": 1}))

    assert desk.requests() == []
    assert set(desk.counters().values()) == {0}


def test_a_request_is_hidden_for_a_while(open_desk, clock):
    desk, _ = open_desk()
    request = _create(desk, _body(), Marks(hidden_seconds=2))

    assert (desk.request(request.id), desk.episode(request.episodes[0].id), desk.requests()) == (
        None,
        None,
        [],
    )
    clock.at += 2
    assert desk.request(request.id) is request
    assert desk.episode(request.episodes[0].id) is request.episodes[0]


def _end(desk, store, request, states):
    for episode, state in zip(request.episodes, states, strict=False):
        desk.touch(episode)
        played = Played({"scores": [1.0] * 8}, 100) if state is State.COMPLETED else None
        scores = policy_scores(episode.seats, [1.0] * 8) if played else {}
        store.finish(
            [Finished(episode, state, desk.revision, 1.0, 2.0, scores, played, None if played else "e")]
        )
        episode.state, episode.started_at, episode.completed_at, episode.scores = state, 1.0, 2.0, scores


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([State.PENDING] * 3, State.PENDING),
        ([State.SUBMITTED] * 2 + [State.PENDING], State.SUBMITTED),
        ([State.RUNNING, State.SUBMITTED, State.PENDING], State.RUNNING),
        ([State.COMPLETED, State.SUBMITTED, State.SUBMITTED], State.RUNNING),
        ([State.FAILED, State.FAILED, State.RUNNING], State.RUNNING),
        ([State.COMPLETED] * 3, State.COMPLETED),
        ([State.COMPLETED, State.FAILED, State.FAILED], State.COMPLETED),
        ([State.FAILED] * 3, State.FAILED),
    ],
)
def test_a_requests_state_is_rolled_up(open_desk, states, expected):
    desk, _ = open_desk()
    request = _create(desk, _body())
    for episode, state in zip(request.episodes, states, strict=True):
        episode.state = state

    assert request.state is expected
    assert (request.completed_at is None) is True


def test_a_cancel_freezes_counts_and_is_idempotent(open_desk):
    desk, store = open_desk()
    request = _create(desk, _body())
    _end(desk, store, request, [State.COMPLETED])

    desk.cancel(request)
    at = request.cancelled_at
    desk.cancel(request)
    _end(desk, store, request, [State.COMPLETED, State.COMPLETED])

    assert request.state is State.CANCELLED
    assert request.counts["completed"] == 1
    assert request.counts["pending"] == 2
    assert (request.cancelled_at, request.completed_at) == (at, at)


def test_what_is_over_cannot_be_cancelled(open_desk):
    desk, store = open_desk()
    request = _create(desk, _body())
    _end(desk, store, request, [State.COMPLETED] * 3)

    with pytest.raises(AlreadyOverError):
        desk.cancel(request)


def test_a_desk_opened_again_knows_what_was_and_starts_the_rest_anew(open_desk, clock):
    desk, store = open_desk()
    marks = Marks(
        mishaps=(("keeper:v1", "crash"),),
        rolled=(1, "0.7.0"),
        silent=("keeper:v1",),
        wedged=((3, None), (4, "rival:v3")), shuffled=True, queue_seconds=1.5, failing=2,
        doomed=(("keeper:v1", "player_error"),), own_seeds=True,
    )  # fmt: skip
    request = _create(desk, _body(notes="n"), marks)
    cancelled = _create(desk, _body("keeper:v2"))
    _end(desk, store, request, [State.COMPLETED, State.FAILED])
    request.episodes[2].state = State.RUNNING
    desk.cancel(cancelled)
    highest = desk.revision

    again, _ = open_desk()
    loaded, gone = again.request(request.id), again.request(cancelled.id)

    assert (loaded.body, loaded.marks, loaded.config) == (request.body, marks, request.config)
    assert [each.state for each in loaded.episodes] == [State.COMPLETED, State.FAILED, State.PENDING]
    assert [each.seats for each in loaded.episodes] == [each.seats for each in request.episodes]
    assert _seeds(loaded) == _seeds(request)
    assert loaded.episodes[0].scores == request.episodes[0].scores
    assert again.results(loaded.episodes[0]) == {"scores": [1.0] * 8}
    assert again.results(loaded.episodes[2]) is None
    assert gone.state is State.CANCELLED
    assert gone.counts == cancelled.counts
    assert again.unfinished() == [loaded]
    assert loaded.episodes[2].revision > highest, "readers of the feed hear of it again"
    assert loaded.episodes[0].revision <= highest


def test_shuffled_seats_move_everybody(open_desk):
    straight, _ = open_desk("a")
    crooked, _ = open_desk("b")

    one, other = _create(straight, _body()), _create(crooked, _body(), Marks(shuffled=True))

    assert one.episodes[0].seats == other.episodes[0].seats[1:] + other.episodes[0].seats[:1]


def test_scores_are_one_a_policy_version(world):
    keeper, rival = world.version_by_label["keeper:v1"], world.version_by_label["rival:v3"]

    assert policy_scores((keeper, rival, keeper), [3, 1, 0]) == {keeper.id: 1.5, rival.id: 1.0}
