"""Whether two arms are different builds, source by source, and what is said where nobody can tell."""

import json
from dataclasses import replace

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.base.git import Changes, Repository, Unknown, Worktree
from pytest_evalharness.containers.images import LocalImage
from pytest_evalharness.errors import SameBuild, UnprovenBuilds
from pytest_evalharness.league.build_check import BuildCheck
from pytest_evalharness.league.builds import conclude, require_proof
from pytest_evalharness.league.local_builds import BuildSources, LocalBuilds, Missing
from pytest_evalharness.league.provenance import Conclusion, Provenance, Source
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64
NOW = 1_800_000_000.0
DAY = 86_400.0
HEAD, OLD = "1" * 40, "2" * 40
UNTOLD = {"bot:v1": {"image_digest": None}, "bot:v2": {"image_digest": None}}


def image(name="bot:new", id_="sha256:1", **changes):
    said = {
        "name": name, "id": id_, "content": f"content of {id_}", "created": NOW - 60, "revision": None, "dirty": False,
        "repo_digests": (),
    }  # fmt: skip
    return LocalImage(**{**said, **changes})


def local(candidate=None, baseline=None, **changes):
    images = {label: one for label, one in (("bot:v2", candidate), ("bot:v1", baseline)) if one is not None}
    return LocalBuilds(images=images, **changes)


def tree(path="/bot", head=HEAD, branch="main", changes=(), *, here=True):
    return Worktree(path, head, branch, Changes(len(changes), tuple(changes)), here=here)


@pytest.fixture
def judge(make):
    """Concludes about a plan whose labels stand for versions with these changes, and what was found on this machine."""

    def check(plan=None, found=None, *, allow=False, **changes):
        plan = plan or make.plan(candidate={0: "bot:v2"}, baseline={0: "bot:v1"})
        labels = {*plan.candidate.values(), *plan.baseline.values()}
        known = make.policies(*labels)
        policies = {name: replace(known[name], **changes.get(name, {})) for name in labels}
        return conclude(plan, policies, found or LocalBuilds(), allow=allow, at=NOW)

    return check


@pytest.fixture
def refuse(make, judge):
    """The same, refused where it must be."""

    def check(plan=None, found=None, **words):
        concluded = judge(plan, found, **words)
        require_proof(
            plan or make.plan(candidate={0: "bot:v2"}, baseline={0: "bot:v1"}),
            concluded,
            found or LocalBuilds(),
        )
        return concluded

    return check


# ---------------------------------------------------------- the server's word


def test_different_digests_prove_it(refuse):
    found = refuse(**{"bot:v1": {"image_digest": DIGEST}, "bot:v2": {"image_digest": OTHER}})
    assert (found.conclusion, found.source, found.different) == (Conclusion.DIFFERENT, Source.SERVER, True)
    assert found.sentence == f"proved different: the server's image digests, {OTHER[:19]} and {DIGEST[:19]}"
    assert found.candidate.digest == OTHER
    assert [seen.text for seen in found.baseline.evidence] == ["id-bot:v1, yours", f"image digest {DIGEST}"]


def test_one_version_under_two_labels(refuse):
    with pytest.raises(SameBuild, match="one and the same version"):
        refuse(**{"bot:v1": {"policy_version_id": "id-bot:v2"}})


def test_two_versions_of_one_image(refuse):
    twins = {"bot:v1": {"image_digest": DIGEST, "label": "alias\x1b:v1"}, "bot:v2": {"image_digest": DIGEST}}
    with pytest.raises(SameBuild, match="the same build under two names") as caught:
        refuse(**twins)
    assert DIGEST[:19] in caught.value.what
    assert caught.value.what.isprintable()
    assert caught.value.not_done == "nothing was submitted"
    assert "coworld upload-policy IMAGE --name bot" in caught.value.next_step


def test_a_digest_in_capitals_is_the_same_digest(refuse):
    with pytest.raises(SameBuild):
        refuse(**{"bot:v1": {"image_digest": DIGEST}, "bot:v2": {"image_digest": DIGEST.upper()}})


@pytest.mark.parametrize("digests", [(None, None), (None, DIGEST), (DIGEST, None), ("", DIGEST)])
def test_images_that_the_server_does_not_tell_prove_nothing_and_are_refused(refuse, digests):
    with pytest.raises(
        UnprovenBuilds, match="nothing proves that candidate bot:v2 and baseline bot:v1"
    ) as caught:
        refuse(**{"bot:v1": {"image_digest": digests[1]}, "bot:v2": {"image_digest": digests[0]}})
    untold = [label for label, digest in zip(("bot:v2", "bot:v1"), digests, strict=True) if not digest]
    assert (
        f"the server tells no image digest of {' and '.join(untold)}; no local image was named"
        in caught.value.what
    )
    assert caught.value.not_done.startswith("nothing was submitted")
    assert "--eval-candidate-image" in caught.value.next_step
    assert "--eval-unproven-builds=allow" in caught.value.next_step


def test_what_was_allowed_is_compared_and_says_so(refuse):
    found = refuse(allow=True, **UNTOLD)
    assert (found.conclusion, found.allowed, found.different, found.unproven) == (
        Conclusion.UNPROVEN,
        True,
        False,
        True,
    )
    assert found.sentence.startswith("not proved different, taken on trust: the server tells no image digest")


def test_permission_is_no_part_of_what_is_proved(refuse):
    assert not refuse(allow=True).allowed


def test_permission_lets_no_build_meet_itself(refuse):
    with pytest.raises(SameBuild):
        refuse(allow=True, **{"bot:v1": {"image_digest": DIGEST}, "bot:v2": {"image_digest": DIGEST}})


def test_an_aa_run_refuses_nothing_and_says_where_it_is_none(refuse, make):
    plan = make.plan(candidate={0: "bot:v2"}, baseline={0: "bot:v1"}, aa=True)
    assert refuse(plan, **UNTOLD).conclusion is Conclusion.UNPROVEN
    twins = {"bot:v1": {"image_digest": DIGEST}, "bot:v2": {"image_digest": DIGEST}}
    same = refuse(plan, **twins)
    assert (same.conclusion, same.warnings) == (Conclusion.SAME, ())
    assert same.sentence.startswith("one build: the arms are the same build under two names")
    (warning,) = refuse(plan).warnings
    assert warning.startswith("this A/A run compares two builds that are proved different")


# ------------------------------------------------------ another player's word


@pytest.mark.parametrize("whose", [("bot:v1",), ("bot:v2",), ("bot:v1", "bot:v2")])
def test_another_player_s_image_is_not_visible_and_another_version_suffices(refuse, whose):
    private = {label: {"owned": False, "image_digest": None} for label in whose}
    found = refuse(**private)
    assert (found.conclusion, found.different) == (Conclusion.NOT_VISIBLE, True)
    assert "image not visible" in found.sentence
    assert all(label in found.sentence for label in whose)
    arm = found.baseline if "bot:v1" in whose else found.candidate
    assert [seen.text for seen in arm.evidence] == [f"id-{arm.label}, another player's", "image not visible"]


def test_another_player_s_version_against_itself_is_refused(refuse):
    theirs = {"owned": False, "image_digest": None, "policy_version_id": "x"}
    with pytest.raises(SameBuild):
        refuse(**{"bot:v1": theirs, "bot:v2": theirs})


def test_nothing_here_says_anything_about_builds_of_others(refuse):
    theirs = {"owned": False, "image_digest": None}
    dirty = LocalBuilds(repository=Repository((tree(changes=["a.py"]),)))
    found = refuse(found=dirty, **{"bot:v1": theirs, "bot:v2": theirs})
    assert (found.warnings, found.notes) == ((), ())


# ------------------------------------------------------------- other seats


def test_arms_that_differ_in_another_seat_are_different(refuse, make):
    found = refuse(make.plan(candidate={0: "bot:v1", 4: "rival:v3"}, baseline={0: "bot:v1", 4: "rival:v2"}))
    assert found.because.startswith("in seat 4, the server's image digests")
    found = refuse(make.plan(candidate={0: "bot:v1", 4: "rival:v3"}, baseline={0: "bot:v1"}))
    assert (found.conclusion, found.source) == (Conclusion.DIFFERENT, Source.LAYOUT)


def test_arms_that_are_alike_in_every_pinned_seat_are_refused(refuse, make):
    with pytest.raises(SameBuild):
        refuse(make.plan(candidate={0: "bot:v1", 4: "rival:v3"}, baseline={0: "bot:v1", 4: "rival:v3"}))


def test_the_strongest_of_the_other_seats_tells(refuse, make):
    plan = make.plan(
        candidate={0: "bot:v1", 3: "bot:v2", 4: "rival:v3"},
        baseline={0: "bot:v1", 3: "bot:v3", 4: "rival:v2"},
    )
    untold = {label: {"image_digest": None} for label in ("bot:v2", "bot:v3")}
    assert refuse(plan, **untold).because.startswith("in seat 4, the server's")
    private = {label: {"owned": False, "image_digest": None} for label in ("rival:v2", "rival:v3")}
    assert refuse(plan, **untold, **private).conclusion is Conclusion.NOT_VISIBLE
    secret = {label: {"image_digest": None} for label in ("rival:v2", "rival:v3")}
    with pytest.raises(UnprovenBuilds, match="in seat 3, the server tells no image digest"):
        refuse(plan, **untold, **secret)


def test_an_unproven_edit_in_the_tested_seat_is_not_proved_by_another_seat(refuse, make):
    plan = make.plan(candidate={0: "bot:v2", 4: "rival:v3"}, baseline={0: "bot:v1", 4: "rival:v2"})
    with pytest.raises(UnprovenBuilds):
        refuse(plan, **UNTOLD)


# ------------------------------------------------------- this machine's images


def test_two_ids_of_local_images_prove_it_where_the_server_is_silent(refuse):
    found = refuse(found=local(image(), image("bot:old", "sha256:2")), **UNTOLD)
    assert (found.conclusion, found.source) == (Conclusion.DIFFERENT, Source.IMAGE)
    assert found.sentence == "proved different: the ids of the local images, sha256:1 and sha256:2"
    assert (found.candidate.image_id, found.baseline.image_id) == ("sha256:1", "sha256:2")
    assert "bot:old has id sha256:2, built 2027-01-15T" in found.baseline.evidence[2].text


def test_one_id_of_two_local_images_is_one_build(refuse):
    with pytest.raises(SameBuild, match=r"the same build under two names \(local image sha256:1\)"):
        refuse(found=local(image(), image("bot:old")), **UNTOLD)


def test_the_server_is_believed_before_the_images_and_the_contradiction_told(judge):
    found = judge(found=local(image(), image("bot:old")))
    assert (found.conclusion, found.source) == (Conclusion.DIFFERENT, Source.SERVER)
    assert found.warnings == (
        "the local images have one id and the server tells two digests: a local image is not the one that was uploaded",
    )
    twins = {"bot:v1": {"image_digest": DIGEST}, "bot:v2": {"image_digest": DIGEST}}
    found = judge(found=local(image(), image("bot:old", "sha256:2")), **twins)
    assert found.conclusion is Conclusion.SAME
    assert "two ids and the server tells one digest" in found.warnings[0]


def test_one_image_alone_proves_nothing(refuse):
    with pytest.raises(UnprovenBuilds, match="no local image was named for bot:v1"):
        refuse(found=local(image()), **UNTOLD)


def test_an_image_that_cannot_be_inspected_is_told_with_what_to_type(refuse, judge):
    gone = local(image(), Missing("bot:old", "there is no local image bot:old", "docker pull bot:old"))
    with pytest.raises(UnprovenBuilds, match="there is no local image bot:old") as caught:
        refuse(found=gone, **UNTOLD)
    assert caught.value.next_step.startswith("docker pull bot:old; then run again. ")
    proved = judge(found=gone)
    assert proved.different
    assert proved.warnings == (
        "the local image bot:old of bot:v1 was not inspected: there is no local image bot:old",
    )


def test_a_local_image_that_registries_know_by_the_server_s_digest_is_what_was_uploaded(judge):
    found = judge(found=local(image(repo_digests=(OTHER,))), **{"bot:v2": {"image_digest": OTHER}})
    assert "is what was uploaded" in found.candidate.evidence[2].text
    found = judge(found=local(image(repo_digests=(DIGEST,))), **{"bot:v2": {"image_digest": OTHER}})
    assert "uploaded" not in found.candidate.evidence[2].text


def test_images_belong_to_their_labels_and_to_no_others(judge, make):
    plan = make.plan(candidate={0: "rival:v3"}, baseline={0: "bot:v1"})
    found = judge(
        plan, local(image(), image("bot:old"), files=("a.py",)), **{"rival:v3": {"image_digest": None}}
    )
    assert found.conclusion is Conclusion.UNPROVEN
    assert found.files is None


# -------------------------------------------------------------------- doubts


@pytest.mark.parametrize(("age", "told"), [(DAY - 1, False), (DAY + 1, True), (None, False), (-5.0, False)])
def test_a_baseline_that_is_older_than_a_day(judge, age, told):
    old = image("bot:old", "sha256:2", created=None if age is None else NOW - age)
    warnings = judge(found=local(image(), old)).warnings
    assert [text.startswith("the baseline image was built 1 d ago") for text in warnings] == [True] * told


def test_an_old_candidate_is_no_doubt(judge):
    assert judge(found=local(image(created=NOW - 9 * DAY), image("bot:old", "sha256:2"))).warnings == ()


def test_images_that_differ_in_labels_or_dates_only(judge):
    alike = local(image(content="c"), image("bot:old", "sha256:2", content="c"))
    (warning,) = judge(found=alike, **UNTOLD).warnings
    assert "the edit is probably not in the candidate" in warning


def test_images_that_say_their_tree_was_not_clean(judge):
    found = judge(found=local(image(dirty=True, revision=HEAD), image("bot:old", "sha256:2", dirty=True)))
    assert [text.partition(" says ")[0] for text in found.warnings] == [
        "the candidate image",
        "the baseline image",
    ]
    assert "from a tree that was not clean" in found.candidate.evidence[2].text


def test_uncommitted_changes_here(judge):
    found = judge(found=LocalBuilds(repository=Repository((tree(changes=["a.py", "b\x1b.py"]),))))
    assert found.warnings == (
        "this worktree holds 2 uncommitted changes (a.py, b\ufffd.py): every build that was made here has them in it",
    )


def test_many_changes_are_counted(judge):
    dirty = Worktree("/bot", HEAD, "main", Changes(70, tuple(f"f{i}" for i in range(50))), here=True)
    (warning,) = judge(found=LocalBuilds(repository=Repository((dirty,)))).warnings
    assert "70 uncommitted changes (f0, f1, f2, f3, f4 and 65 more)" in warning


def test_an_edit_in_another_worktree_while_this_one_is_clean(judge):
    trees = Repository((tree(), tree("/bot-2", branch="fix", changes=["a.py"], here=False)))
    (warning,) = judge(found=LocalBuilds(repository=trees)).warnings
    assert warning.startswith(
        "the worktree /bot-2 (fix) holds 1 uncommitted change (a.py), and this worktree, /bot (main), none"
    )


def test_edits_in_two_worktrees_are_a_doubt_and_a_fact(judge):
    trees = Repository((tree(changes=["b.py"]), tree("/bot-2", branch=None, changes=["a.py"], here=False)))
    found = judge(found=LocalBuilds(repository=trees))
    assert len(found.warnings) == 1
    assert "the worktree /bot-2 holds 1 uncommitted change (a.py)" in found.notes


def test_a_candidate_that_was_built_from_another_worktree(judge):
    trees = Repository((tree(), tree("/bot-2", head=OLD, branch="fix", here=False)))
    found = judge(found=local(image(revision=OLD), repository=trees, commits={"bot:v2": OLD}))
    (warning,) = found.warnings
    assert "built at revision 222222222222, which is checked out in the worktree /bot-2 (fix)" in warning
    assert "this worktree, /bot (main), is at 111111111111" in warning
    assert found.candidate.evidence[-1].text == "revision 222222222222 is checked out in /bot-2 (fix)"
    assert found.candidate.revision == found.candidate.commit == OLD


def test_a_candidate_that_was_built_from_no_worktree(judge):
    trees = Repository((tree(head=None),))
    found = judge(found=local(image(revision=OLD), repository=trees, commits={"bot:v2": OLD}))
    assert "checked out in no worktree" in found.warnings[0]
    assert "has no commit yet" in found.warnings[0]


def test_a_candidate_that_was_built_here(judge):
    trees = Repository((tree(),))
    found = judge(found=local(image(revision=HEAD[:9]), repository=trees, commits={"bot:v2": HEAD}))
    assert found.warnings == ()
    assert found.candidate.evidence[-1].text == "revision 111111111111 is checked out in /bot (main)"


def test_a_revision_that_the_repository_does_not_have(judge):
    unknown = Unknown("this repository has no such commit")
    found = judge(
        found=local(image(revision="f" * 40), repository=Repository((tree(),)), commits={"bot:v2": unknown})
    )
    assert found.warnings == (
        "the candidate image says that it was built at revision ffffffffffff: this repository has no such commit",
    )
    assert (found.candidate.commit, found.candidate.revision) == (None, "f" * 40)


def test_the_baseline_may_be_at_any_revision(judge):
    trees, old = Repository((tree(),)), image("bot:old", "sha256:2", revision=OLD)
    assert judge(found=local(image(), old, repository=trees, commits={"bot:v1": OLD})).warnings == ()


# --------------------------------------------------------------------- facts


def test_the_files_that_differ_between_the_arms(judge):
    files = tuple(f"f{i}.py" for i in range(12))
    found = judge(found=local(image(), image("bot:old", "sha256:2"), files=files))
    assert found.files == files
    assert found.notes[-1].startswith("12 files differ between the arms' revisions: f0.py, f1.py")
    assert found.notes[-1].endswith("f9.py and 2 more")
    assert judge(found=local(image(), image("o", "sha256:2"), files=())).notes == (
        "0 files differ between the arms' revisions",
    )
    told = judge(found=local(image(), image("o", "sha256:2"), files=Unknown("10001 files differ")))
    assert told.files is None
    assert told.notes == ("which files differ between the arms' revisions is not known: 10001 files differ",)


def test_no_repository_is_a_fact_where_images_were_named_and_nothing_otherwise(judge):
    nowhere = Unknown("not a git repository")
    assert judge(found=local(image(), repository=nowhere)).notes == (
        "git knows nothing of this folder: not a git repository",
    )
    assert judge(found=LocalBuilds(repository=nowhere)).notes == ()


def test_a_git_that_was_too_slow(judge):
    slow = Repository(
        (Worktree("/bot", HEAD, "main", None, here=True), tree("/b", changes=["a"], here=False))
    )
    found = judge(found=LocalBuilds(repository=slow))
    assert "git did not tell in time what is not committed here" in found.notes
    assert found.warnings == ()


def test_everything_hostile_is_harmless_in_every_line(judge, make):
    evil = "\x1b[2J\u202e::error::x\n"
    trees = Repository(
        (
            tree(evil, branch=evil, changes=[evil]),
            tree(evil, head=OLD, branch=evil, changes=[evil], here=False),
        )
    )
    found = judge(
        found=local(
            image(evil, "sha256:" + evil, revision=evil, dirty=True), Missing(evil, evil, evil), repository=trees,
            commits={"bot:v2": OLD}, files=(evil,),
        ),
        **{"bot:v2": {"image_digest": evil, "label": evil}, "bot:v1": {"image_digest": None, "label": evil}},
    )  # fmt: skip
    for line in (*found.summary(), *found.warnings):
        assert line.isprintable(), repr(line)
    with pytest.raises(UnprovenBuilds) as caught:
        require_proof(make.plan(), found, LocalBuilds())
    assert all(line.isprintable() for line in str(caught.value).splitlines())


# ---------------------------------------------------------------- plain data


def test_it_survives_the_ledger(judge):
    trees = Repository((tree(), tree("/b", head=OLD, changes=["a"], here=False)))
    machine = local(
        image(revision=HEAD), Missing("bot:old", "gone", "docker pull"), repository=trees,
        commits={"bot:v2": HEAD}, files=Unknown("why"),
    )  # fmt: skip
    for one in (
        machine,
        LocalBuilds(),
        local(image(), repository=Unknown("no"), commits={"bot:v2": Unknown("x")}, files=("a",)),
    ):
        assert LocalBuilds.from_json(json.loads(json.dumps(one.to_json()))) == one
    found = judge(found=machine, allow=True, **UNTOLD)
    assert Provenance.from_json(json.loads(json.dumps(found.to_json()))) == found


# ---------------------------------------------------------- proofs that were kept


@pytest.fixture
def check(tmp_path):
    """The check with a ledger of its own and no source but the server."""
    with Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current("r1")) as ledger:
        yield BuildCheck(ledger, SystemClock(), "r1", BuildSources())


def untold(make, *labels):
    return {label: replace(one, image_digest=None) for label, one in make.policies(*labels).items()}


def test_a_proof_that_was_kept_serves_the_same_versions_only(check, judge, make):
    plan, silent = make.plan(), untold(make, "bot:v1", "bot:v2")
    assert check.of(plan, silent, [judge()]) == judge()
    for other in (judge(**{"bot:v2": {"policy_version_id": "another"}}), judge(allow=True, **UNTOLD)):
        with pytest.raises(UnprovenBuilds):
            check.of(plan, silent, [other])


def test_a_proof_about_another_seat_is_lent_to_no_other_layout(check, judge, make):
    wider = make.plan(candidate={0: "bot:v1", 4: "bot:v2"}, baseline={0: "bot:v1"})
    proved = judge(wider)
    assert proved.source is Source.LAYOUT
    narrower = make.plan(candidate={0: "bot:v1", 4: "bot:v2"}, baseline={0: "bot:v1", 4: "bot:v3"})
    with pytest.raises(UnprovenBuilds):
        check.of(narrower, untold(make, "bot:v1", "bot:v2", "bot:v3"), [proved])


@pytest.mark.parametrize(
    ("found", "allow", "images", "accepted"),
    [
        ("proved", False, {}, True), ("proved", False, {"bot:v2": "x"}, True), ("trusted", True, {}, True),
        ("trusted", False, {}, False), ("trusted", True, {"bot:v2": "x"}, False), ("nothing", True, {}, False),
    ],
)  # fmt: skip
def test_what_is_enough_to_read_results_again(tmp_path, judge, make, *, found, allow, images, accepted):
    known = {"proved": judge(), "trusted": judge(allow=True, **UNTOLD), "nothing": None}[found]
    with Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current("r1")) as ledger:
        check = BuildCheck(ledger, SystemClock(), "r1", BuildSources(images=images, allow=allow))
        assert check.accepts(make.plan(), known) is accepted


# ------------------------------------------------------------------- sources


def sources(tmp_path, **settings):
    return BuildSources.of(settings.get, folder=tmp_path, home=tmp_path / "home")


def test_images_are_those_of_the_named_policies(tmp_path):
    found = sources(
        tmp_path, candidate="bot:v2", baseline="bot:v1", candidate_image="new", baseline_image="old"
    )
    assert found.images == {"bot:v2": "new", "bot:v1": "old"}
    assert (found.folder, found.allow, found.unused) == (tmp_path, False, ())
    assert sources(tmp_path, unproven_builds="allow").allow


def test_an_image_without_its_policy_is_told(tmp_path):
    found = sources(tmp_path, candidate="bot:v2", candidate_image="new", baseline_image="old")
    assert found.images == {"bot:v2": "new"}
    assert found.unused == (
        "--eval-baseline-image old was not used: there is no --baseline that it could belong to",
    )


def test_no_repository_has_the_embedded_league_s_invented_players(tmp_path):
    assert sources(tmp_path, server="embedded").folder is None
    named = sources(tmp_path, server="embedded", candidate="keeper:v2", candidate_image="new")
    assert named.folder == tmp_path
