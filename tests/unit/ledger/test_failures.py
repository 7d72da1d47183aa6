import json

import pytest

from pytest_evalharness import errors
from pytest_evalharness.ledger.failures import rebuilt, stored


def family(kind):
    return [kind, *(grandchild for child in kind.__subclasses__() for grandchild in family(child))]


@pytest.mark.parametrize("kind", family(errors.EvalHarnessError))
def test_every_error_comes_back_whole(kind):
    error = kind("seat 3 hangs", not_done="nothing was judged", next_step="run again")
    back = rebuilt(json.loads(json.dumps(stored(error))))
    if kind.__module__ == errors.__name__:  # others may share a code with their parent
        assert type(back) is kind
    assert str(back) == str(error)


def test_an_error_of_a_later_version_is_still_an_error():
    back = rebuilt({"code": "EVH999", "what": "something new"})
    assert type(back) is errors.Untrustworthy
    assert back.what == "something new"


def test_a_damaged_record_is_still_an_error():
    assert rebuilt({}).exit_code == 11
