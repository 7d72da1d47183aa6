from __future__ import annotations

import zlib

import pytest

from pytest_evalharness.errors import AmbiguousPolicy, UnknownPolicy
from pytest_evalharness.observatory import resolve_policy
from pytest_evalharness.observatory.models import Membership

OWNED = [("keeper", n) for n in (1, 2, 3, 4)] + [("keeper-alias", 1), ("solo", 7)]
VERSIONS = "/stats/policy-versions"


def pv(name, version):
    return f"00000000-0000-4000-8000-{zlib.crc32(name.encode()) % 10**6:06d}{version:06d}"


@pytest.fixture
def league(client, wire):
    """A server with owned versions, which tells their images unless asked not to."""

    def make(*, images=True, owned=OWNED):
        def listing(request):
            query = dict(request.query)
            rows = [
                {"id": pv(name, version), "name": name, "version": version}
                for name, version in owned
                if query.get("name_exact") in {None, name} and query.get("version") in {None, str(version)}
            ]
            return {"entries": rows, "next_cursor": None}

        routes = {f"GET {VERSIONS}": lambda request: wire.reply(listing(request))}
        for name, version in owned:
            image = f"img_{name.replace('-alias', '')}{1 if 'alias' in name else version}"
            routes[f"{VERSIONS}/{pv(name, version)}"] = {
                "id": pv(name, version), "name": name, "version": version, "container_image_id": image,
            }  # fmt: skip
            if images:
                routes[f"/v2/container_images/{image}"] = {"id": image, "image_digest": f"sha256:{image}"}
        return client(routes=routes)

    return make


@pytest.fixture
def live(sample):
    rival = "99999999-9999-4999-8999-999999999999"
    rows = [
        sample.member("rival", 3, pv=rival),
        sample.member("twin", 1, pv="a"),
        sample.member("twin", 2, pv="b"),
    ]
    return [Membership.model_validate(row) for row in rows]


def test_an_owned_version(league, live):
    found = resolve_policy(league(), " keeper:v2 ", live=live)
    assert (found.label, found.name, found.version) == ("keeper:v2", "keeper", 2)
    assert found.policy_version_id == pv("keeper", 2)
    assert found.image_digest == "sha256:img_keeper2"
    assert found.owned


def test_the_same_build_under_another_name(league, live):
    made = league()
    digests = {
        resolve_policy(made, label, live=live).image_digest for label in ("keeper:v1", "keeper-alias:v1")
    }
    assert len(digests) == 1


def test_a_server_that_does_not_tell_images(league, live):
    assert resolve_policy(league(images=False), "keeper:v2", live=live).image_digest is None


def test_a_live_member_s_version(league, live):
    found = resolve_policy(league(), "rival:v3", live=live)
    assert not found.owned
    assert (found.player_id, found.player_name) == ("ply_1", "Ann")
    assert found.image_digest is None


@pytest.mark.parametrize("label", ["solo", "solo:v7"])
def test_a_bare_name_with_one_version(league, live, label):
    assert resolve_policy(league(), label, live=live).label == "solo:v7"


def test_a_bare_live_name(league, live):
    assert resolve_policy(league(), "rival", live=live).label == "rival:v3"


def test_a_bare_name_with_several_versions(league, live):
    with pytest.raises(AmbiguousPolicy) as caught:
        resolve_policy(league(), "keeper", live=live)
    assert caught.value.what == "keeper has 4 versions: v1, v2, v3, v4"
    assert "keeper:v4" in caught.value.next_step


def test_a_bare_live_name_with_several_versions(league, live):
    with pytest.raises(AmbiguousPolicy, match="twin has 2 versions"):
        resolve_policy(league(), "twin", live=live)


def test_one_label_for_two_policies(league, live, sample):
    double = [*live, Membership.model_validate(sample.member("rival", 3, pv="other"))]
    with pytest.raises(AmbiguousPolicy, match=r"rival:v3 .*other"):
        resolve_policy(league(), "rival:v3", live=double)


def test_one_version_in_two_divisions_is_one(league, live, sample):
    twice = [
        *live,
        Membership.model_validate(sample.member("rival", 3, pv=live[0].policy_version.id, id="lpm_x")),
    ]
    assert resolve_policy(league(), "rival:v3", live=twice).label == "rival:v3"


@pytest.mark.parametrize(
    ("label", "help_", "do"),
    [
        ("keeper:v9", "keeper has v1, v2, v3, v4", "name one of them"),
        ("keper:v2", "did you mean keeper:v2", "correct the name"),
        ("kepeer", "did you mean keeper", "correct the name"),
        ("rivall:v3", "did you mean rival:v3", "correct the name"),
        ("keeper:2", "did you mean keeper:v2", "correct the name"),
        ("rival:v9", "rival has v3", "name one of them"),
    ],
)
def test_an_unknown_label_says_what_comes_near(league, live, label, help_, do):
    with pytest.raises(UnknownPolicy) as caught:
        resolve_policy(league(), label, live=live)
    assert help_ in caught.value.what
    assert caught.value.next_step.startswith(f"{do}, or upload it: coworld upload-policy IMAGE --name ")
    assert caught.value.not_done == "nothing was submitted"


def test_an_unknown_label_says_how_to_upload(league, live):
    with pytest.raises(UnknownPolicy) as caught:
        resolve_policy(league(), "zebra:v1", live=live)
    assert caught.value.what == "zebra:v1 is no owned, uploaded policy and no live member of the league"
    assert caught.value.next_step == "coworld upload-policy IMAGE --name zebra"


def test_many_versions_are_shortened(league, live):
    made = league(owned=[("keeper", n) for n in range(1, 200)])
    with pytest.raises(UnknownPolicy, match=r"keeper has v1, v2, …, v191, .*v199\n"):
        resolve_policy(made, "keeper:v900", live=live)


def test_hostile_labels_are_printable(league, live):
    with pytest.raises(UnknownPolicy) as caught:
        resolve_policy(league(), "x\x1b[31m:v1; rm -rf ~", live=live)
    assert "\x1b" not in str(caught.value)


def test_an_owned_id(league, live):
    found = resolve_policy(league(), pv("keeper", 3).upper(), live=live)
    assert (found.label, found.owned) == ("keeper:v3", True)


def test_a_live_id(league, live):
    found = resolve_policy(league(), live[0].policy_version.id, live=live)
    assert (found.label, found.owned) == ("rival:v3", False)


def test_a_stale_id(league, live):
    with pytest.raises(UnknownPolicy, match="neither yours nor a live member"):
        resolve_policy(league(), "12345678-1234-4234-8234-123456789012", live=live)
