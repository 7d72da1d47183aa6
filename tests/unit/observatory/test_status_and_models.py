from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_evalharness.observatory.models import EpisodeRow, ExperienceRequestDetail, Membership, RoundResult
from pytest_evalharness.observatory.status import Status


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("pending", Status.PENDING), ("submitted", Status.SUBMITTED), ("running", Status.RUNNING),
        ("completed", Status.COMPLETED), ("failed", Status.FAILED), ("cancelled", Status.CANCELLED),
        ("success", Status.COMPLETED), ("error", Status.FAILED), ("canceled", Status.CANCELLED),
        ("timeout", Status.FAILED), (" Completed ", Status.COMPLETED), ("paused", Status.UNKNOWN),
        (None, Status.UNKNOWN), (7, Status.UNKNOWN), ("unknown", Status.UNKNOWN),
    ],
)  # fmt: skip
def test_status_words(word, status):
    assert Status.read(word) is status


def test_what_is_terminal():
    assert {status for status in Status if status.terminal} == {
        Status.COMPLETED,
        Status.FAILED,
        Status.CANCELLED,
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("model", [EpisodeRow, ExperienceRequestDetail, Membership, RoundResult])
@given(data=json_values)
def test_anything_is_read_or_refused(model, data):
    with contextlib.suppress(ValidationError):
        model.model_validate(data)


@given(data=st.dictionaries(st.sampled_from(sorted(ExperienceRequestDetail.model_fields)), json_values))
def test_any_value_in_a_known_field_is_read_or_refused(data):
    try:
        found = ExperienceRequestDetail.model_validate({"id": "x", "status": "running", **data})
    except ValidationError:
        return
    assert isinstance(found.labels, tuple)


def test_a_score_is_a_finite_number():
    with pytest.raises(ValidationError):
        RoundResult.model_validate(
            {"score": float("inf"), "policy_version": {"id": "x", "name": "a", "version": 1}}
        )


def test_nobody_pays_for_the_client_who_does_not_use_it():
    code = "import pytest_evalharness.errors, pytest_evalharness.settings, sys; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not any(f"'{name}'" in loaded for name in ("httpx", "httpcore", "pydantic", "yaml"))
