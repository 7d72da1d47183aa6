import pytest

from pytest_evalharness.clbench.campaign.checkout import Checkout
from pytest_evalharness.clbench.campaign.plan import Campaign, PlanKind
from pytest_evalharness.clbench.campaign.resuming import ACCEPTABLE, require_same
from pytest_evalharness.errors import CampaignChanged


@pytest.fixture
def campaign(tmp_path):
    def make(
        revision="aaaa", environment=(("OUROBOROS_EFFORT_TASK", "low"),), images=(), runs="1", parallel="2"
    ):
        checkout = Checkout(tmp_path, embedded=False, revision=revision, dirty=False, program=("clbench",))
        args = ("--runs", runs)
        argv = (
            "clbench",
            "run-all",
            "--name",
            "mine",
            "--system",
            "s",
            "--task-parallelism",
            parallel,
            *args,
        )
        return Campaign(
            "mine",
            PlanKind.SEED,
            checkout,
            "s",
            ("a",),
            1,
            argv,
            args,
            dict(environment),
            (),
            images=dict(images),
        )

    return make


def test_the_same_is_the_same(campaign):
    assert require_same(campaign(), campaign().identity(), ()) == []


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"revision": "bbbb"}, "revision", 'revision was "bbbb" and is "aaaa"'),
        ({"images": {"i": "sha256:1"}}, "image", 'image i was "sha256:1" and is not set'),
        ({"environment": ()}, "environment", 'variable OUROBOROS_EFFORT_TASK was not set and is "low"'),
        ({"parallel": "9"}, "arguments", '"--task-parallelism", "9"'),
    ],
)
def test_what_differs_is_named_refused_and_may_be_accepted(campaign, change, kind, words):
    before = campaign(**change).identity()
    with pytest.raises(CampaignChanged) as caught:
        require_same(campaign(), before, ())
    assert words in caught.value.what
    assert f"--accept {kind}" in caught.value.next_step
    for other in set(ACCEPTABLE) - {kind}:
        with pytest.raises(CampaignChanged):
            require_same(campaign(), before, [other])
    (told,) = require_same(campaign(), before, [kind])
    assert words in told


def test_what_the_benchmark_itself_refuses_cannot_be_accepted(campaign):
    before = campaign(runs="5").identity()
    with pytest.raises(CampaignChanged) as caught:
        require_same(campaign(), before, list(ACCEPTABLE))
    assert 'system_args was ["--runs", "5"]' in caught.value.what
    assert "--accept" not in caught.value.next_step


def test_two_differences_need_two_words(campaign):
    before = campaign(revision="b", images={"i": "1"}).identity()
    with pytest.raises(CampaignChanged) as caught:
        require_same(campaign(), before, ["image"])
    assert "image i" not in caught.value.what, "what was accepted is no reason"
    assert "--accept revision" in caught.value.next_step
    assert "--accept image" not in caught.value.next_step
    assert len(require_same(campaign(), before, ["image", "revision"])) == 2


def test_a_secret_that_changed_is_told_without_it(campaign):
    before = campaign(environment={"CLBENCH_API_KEY": "sk-or-v1-0123456789abcdef"}).identity()
    with pytest.raises(CampaignChanged) as caught:
        require_same(campaign(environment={"CLBENCH_API_KEY": "sk-or-v1-fedcba9876543210"}), before, ())
    assert "variable CLBENCH_API_KEY was" in caught.value.what
    assert "0123456789abcdef" not in str(caught.value)
    assert "fedcba9876543210" not in str(caught.value)
