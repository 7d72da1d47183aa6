import json

import pytest

from pytest_evalharness.ledger.keys import arm_key, digest, new_token, plan_key


def test_a_digest_is_the_sha256_of_the_canonical_json():
    # printf '{"a":[1,2],"b":"\xc3\xa9"}' | sha256sum
    assert digest({"b": "é", "a": [1, 2]}) == (
        "d902c5ef87c42c33059e8d7b7aa30485809a5c0ff84b8d0d285616d5b03f23ea"
    )


def test_order_of_keys_does_not_matter_and_order_of_lists_does():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest([1, 2]) != digest([2, 1])


def test_numbers_and_words_are_different():
    assert len({digest(value) for value in (1, "1", True, None, "", [], {})}) == 7


@pytest.mark.parametrize("value", [float("nan"), {"a": float("inf")}])
def test_what_is_no_json_has_no_digest(value):
    with pytest.raises(ValueError):
        digest(value)


def test_a_lone_surrogate_in_a_strangers_name_has_a_digest():
    assert len(digest(json.loads('"\\ud800"'))) == 64


def test_keys_say_what_they_are_of():
    same = {"n": 30}
    assert plan_key(same).startswith("plan-")
    assert arm_key(same).startswith("arm-")
    assert plan_key(same) == plan_key(dict(same))
    assert plan_key(same) != plan_key({"n": 31})


def test_a_token_comes_from_the_entropy_it_is_given():
    assert new_token(bytes) == "evh-" + "a" * 16
    assert new_token(lambda n: b"\xff" * n) == "evh-" + "7" * 16


def test_tokens_differ_and_need_no_quoting():
    tokens = {new_token() for _ in range(500)}
    assert len(tokens) == 500
    assert all(token[4:].isalnum() and token == token.lower() and len(token) == 20 for token in tokens)
