import pytest

from pytest_evalharness.ledger.filesystem import network_kind

ROOT = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw"


@pytest.fixture
def on(tmp_path):
    """What kind of network file system a folder is on, given mounts below `tmp_path`."""
    folder = tmp_path / "home" / "kim" / ".evalharness"
    folder.mkdir(parents=True)

    def ask(*lines):
        table = tmp_path / "mountinfo"
        table.write_text("\n".join([ROOT, *lines]) + "\n")
        return network_kind(folder, table)

    return ask


def mount(point, kind, optional="shared:7"):
    return f"40 27 0:50 / {point} rw,relatime {optional} - {kind} server:/export rw,vers=4.2"


def test_a_local_disk_is_fine(on):
    assert on() is None


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "lustre"])
def test_a_network_home_is_named(on, tmp_path, kind):
    assert on(mount(tmp_path / "home", kind)) == kind


@pytest.mark.parametrize("kind", ["9p", "virtiofs", "overlay", "tmpfs", "fuse.gocryptfs"])
def test_what_serves_one_machine_is_left_to_the_probe(on, tmp_path, kind):
    assert on(mount(tmp_path / "home", kind)) is None


def test_the_innermost_mount_counts(on, tmp_path):
    assert on(mount(tmp_path / "home", "nfs4"), mount(tmp_path / "home/kim", "ext4")) is None
    assert on(mount(tmp_path / "home/kim", "nfs4"), mount(tmp_path / "home", "ext4")) == "nfs4"


def test_of_two_mounts_at_one_place_the_later_is_on_top(on, tmp_path):
    assert on(mount(tmp_path / "home", "autofs"), mount(tmp_path / "home", "nfs4")) == "nfs4"


def test_a_neighbour_with_a_longer_name_is_not_above_us(on, tmp_path):
    assert on(mount(tmp_path / "ho", "nfs4")) is None


def test_escaped_blanks_in_mount_points(tmp_path):
    folder = tmp_path / "my home"
    folder.mkdir()
    table = tmp_path / "mountinfo"
    table.write_text(mount(str(folder).replace(" ", "\\040"), "nfs", optional="") + "\n")
    assert network_kind(folder, table) == "nfs"


def test_nobody_can_tell(tmp_path):
    assert network_kind(tmp_path, tmp_path / "absent") is None
    (tmp_path / "odd").write_text("nonsense\n1 2 3 -\n - x\n\n")
    assert network_kind(tmp_path, tmp_path / "odd") is None
