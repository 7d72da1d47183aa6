"""What a server answers once and for all."""


def test_versions_are_known_when_all_labels_are_and_for_their_account_and_server_only(ledger, opened):
    ledger.known.note_versions("s", "ann", {"bot:v1": "1", "bot:v2": "2"})
    other = opened(pid=2)
    assert other.known.versions("s", "ann", ["bot:v2", "bot:v1"]) == {"bot:v2": "2", "bot:v1": "1"}
    assert other.known.versions("s", "ann", ["bot:v1", "bot:v3"]) is None
    assert other.known.versions("s", "bob", ["bot:v1"]) is None
    assert other.known.versions("t", "ann", ["bot:v1"]) is None


def test_a_server_that_answers_otherwise_all_the_same_is_believed(ledger):
    ledger.known.note_versions("s", "ann", {"bot:v1": "1"})
    ledger.known.note_versions("s", "ann", {"bot:v1": "other", "bot:v2": "2"})
    assert ledger.known.versions("s", "ann", ["bot:v1", "bot:v2"]) == {"bot:v1": "other", "bot:v2": "2"}


def test_who_plays_on_a_server_with_one_account_is_kept(ledger):
    assert ledger.known.account("embedded:1") is None
    ledger.known.note_account("embedded:1", {"subject_id": "usr_1"})
    assert ledger.known.account("embedded:1") == {"subject_id": "usr_1"}
    assert ledger.known.account("embedded:2") is None
