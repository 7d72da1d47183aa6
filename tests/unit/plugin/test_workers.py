import decimal
import enum
import pathlib

import numpy as np
import pytest
from execnet import dumps

from pytest_evalharness.plugin.workers import sendable


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "value",
    [
        "é",
        3,
        1 - 2**31,
        0.5,
        float("inf"),
        True,
        None,
        b"\x00",
        [1, ["a"]],
        (1, 2),
        {"a": [None]},
        {1},
        frozenset({"x"}),
    ],
    ids=repr,
)
def test_what_can_travel_is_left_alone(value):
    assert sendable(value) is value
    dumps(value)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.float64(0.5), "0.5"), (np.int64(3), "3"), (np.bool_(1), "True"), (pathlib.PurePosixPath("a/b"), "a/b"),
        (-(2**31) - 1, "-2147483649"), ("a\udcff", "a\\udcff"), ([{"a": -(2**40)}], "[{'a': -1099511627776}]"),
        (decimal.Decimal("1.5"), "1.5"), (Colour.RED, "red"), ([1, np.int64(2)], str([1, np.int64(2)])),
        ({"a": {"b": Colour.RED}}, str({"a": {"b": Colour.RED}})), ({Colour.RED: 1}, str({Colour.RED: 1})),
    ],
    ids=repr,
)  # fmt: skip
def test_the_rest_travels_as_the_file_would_show_it(value, told):
    assert sendable(value) == told
    assert type(sendable(value)) is str
    dumps(sendable(value))
