"""A budget in credits: refused before, stopped while, and never pretended where the server does not tell."""

import threading
from types import SimpleNamespace

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.errors import OverBudget, ServerUnreachable
from pytest_evalharness.league.cost import LOOK_SECONDS, CostGuard, SharedPurse, costs_of, estimate, spent
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.observatory.models import Credits

WEIGHT = 30 * 10_000.0


def told(balance=1000.0, **costs):
    rows = [{"experience_request_id": name, "compute_cost_credits": cost} for name, cost in costs.items()]
    return Credits.model_validate({"status": {"balance_credits": balance}, "recent_requests": rows})


class Account:
    """Tells these credits, the last of them for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    def credits(self, *, deadline):
        assert deadline.allowed <= 10
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def guard():
    def build(budget, purse=None):
        clock = SimpleNamespace(time=0.0)
        clock.monotonic = clock.now = lambda: clock.time
        events = []
        log = SimpleNamespace(append=lambda kind, **fields: events.append((kind, fields)))
        return SimpleNamespace(it=CostGuard(budget, clock, log, purse), clock=clock, events=events)

    return build


def post(made, account, name, preview, weight=WEIGHT):
    with made.it.posting(account, f"request {name}", weight):
        made.it.noted(name, preview, weight)


@pytest.mark.parametrize("answer", [None, ServerUnreachable("HTTP 503"), told(balance=None)])
def test_a_budget_that_nobody_can_keep_is_refused_before_anything_is_sent(guard, answer):
    made = guard(5.0)
    for _ in range(2):
        with pytest.raises(OverBudget, match="does not tell") as caught:
            post(made, Account(answer), "a", None)
        assert caught.value.not_done == "nothing was submitted"
        assert caught.value.exit_code == 11


@pytest.mark.parametrize("answer", [None, ServerUnreachable("HTTP 503"), told(balance=3.0)])
def test_without_a_budget_nothing_is_in_the_way_and_the_balance_is_told_once(guard, answer):
    made, account = guard(None), Account(answer)
    for name in "abc":
        post(made, account, name, 1e9)
    assert made.it.over is None
    assert made.events == [("credits", {"balance": 3.0 if isinstance(answer, Credits) else None})]
    made.it.look(account)
    assert account.asked == 1


def test_the_second_request_is_refused_by_the_price_of_the_first(guard):
    made, account = guard(10.0), Account(told())
    post(made, account, "a", {"estimated_credits": 6.0})
    with pytest.raises(OverBudget, match="would cost about 6 credits; 6 of the budget of 10"):
        post(made, account, "b", 6.0)
    assert made.it.over is not None, "what was submitted is to be cancelled"


def test_a_smaller_request_may_still_fit(guard):
    made, account = guard(10.0), Account(told())
    post(made, account, "a", 6.0)
    post(made, account, "b", 2.0, WEIGHT / 3)
    assert made.it.over is None


def test_a_first_request_that_is_too_dear_by_itself_is_to_be_cancelled(guard):
    made = guard(10.0)
    post(made, Account(told()), "a", 11.0)
    assert "the server expects 11 credits" in made.it.over.what


def test_the_price_of_one_is_known_before_the_next_is_sent(guard):
    """Or both would be sent at once, and the budget be kept by chance."""
    made, account = guard(10.0), Account(told())
    inside, refused = threading.Event(), []

    def second():
        inside.wait(120)
        try:
            post(made, account, "b", 6.0)
        except OverBudget as error:
            refused.append(error)

    thread = threading.Thread(target=second)
    thread.start()
    with made.it.posting(account, "request a", WEIGHT):
        inside.set()
        thread.join(0.2)
        assert thread.is_alive()
        made.it.noted("a", 6.0, WEIGHT)
    thread.join(120)
    assert len(refused) == 1


def test_what_was_spent_is_read_now_and_then_and_ends_the_run(guard):
    made = guard(5.0)
    account = Account(told(a=1.0), told(a=4.0, other=99.0), ServerUnreachable("503"), told(a=3.0, b=2.0))
    post(made, account, "a", None)
    post(made, account, "b", None)
    for _ in range(3):
        made.it.look(account)
        made.it.look(account)
        assert made.it.over is None
        made.clock.time += LOOK_SECONDS
    made.it.look(account)
    assert account.asked == 4
    assert "the run has cost 5 credits by now" in made.it.over.what


def test_two_processes_of_a_run_together_keep_one_budget(tmp_path, guard):
    """Each of them alone would think that there is room for its own request."""
    ledgers = [
        Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current("run", worker))
        for worker in ("gw0", "gw1")
    ]
    made = [guard(10.0, SharedPurse(ledger.spending, "run")) for ledger in ledgers]
    account = Account(told())
    post(made[0], account, "a", 6.0)
    with pytest.raises(OverBudget, match="6 of the budget of 10 are promised by now"):
        post(made[1], account, "b", 6.0)
    assert made[0].it.over is None
    made[0].clock.time += 2.0
    made[0].it.look(account)
    assert "would cost about 6 credits" in made[0].it.over.what, (
        "what this one submitted is to be cancelled as well"
    )
    for ledger in ledgers:
        ledger.close()


def test_another_process_s_requests_are_counted_when_the_account_is_read(tmp_path, guard):
    with Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current("run")) as ledger:
        one, other = (guard(5.0, SharedPurse(ledger.spending, "run")) for _ in range(2))
        account = Account(told(a=3.0, b=2.0, c=50.0))
        post(one, account, "a", None)
        post(other, account, "b", None)
        one.clock.time += LOOK_SECONDS
        one.it.look(account)
        assert "the run has cost 5 credits by now" in one.it.over.what


@pytest.mark.parametrize(
    ("preview", "amount"),
    [
        (3, 3.0), (0.5, 0.5), ({"estimated_credits": 4}, 4.0), ({"credits": 2.5, "x": 1}, 2.5), ({"total_credits": 0}, 0.0),
        (None, None), ({}, None), ("3", None), (True, None), (-1, None), (float("nan"), None), ({"credits": None}, None), ([3], None),
    ],
)  # fmt: skip
def test_a_preview_is_a_number_or_an_object_with_one(preview, amount):
    assert estimate(preview) == amount


def test_what_is_not_told_is_unknown_and_never_nothing():
    assert costs_of(told(a=1.5), ["a", "b"]) == {"a": 1.5, "b": None}
    row = spent(1000.0, told(balance=990.0, a=4.0, b=6.0), ["a", "b"], verdicts=2, budget=20.0)
    assert (row["spent"], row["per_verdict"], row["balance_after"]) == (10.0, 5.0, 990.0)
    for answer, requests in ((told(a=4.0), ["a", "b"]), (None, ["a"]), (told(a=4.0), [])):
        row = spent(None, answer, requests, verdicts=1, budget=None)
        assert (row["spent"], row["per_verdict"]) == (None, None)
