"""What the service says, as far as we read it.

Field names are the wire's. Unknown keys are ignored and optional ones may be missing: the service changes
more often than its readers. What an answer is useless without is required, and nothing else.
"""

from __future__ import annotations

from pytest_evalharness.observatory.models.base import Ref
from pytest_evalharness.observatory.models.feed import ChangePage, FeedBatch, FeedEntry, FeedEpisode
from pytest_evalharness.observatory.models.leagues import (
    ContainerImage,
    Division,
    Game,
    Leaderboard,
    League,
    Membership,
    PolicyVersion,
    PolicyVersionDetail,
    Round,
    RoundDetail,
    RoundResult,
    Standing,
    WhoAmI,
)
from pytest_evalharness.observatory.models.requests import (
    Credits,
    CreditStatus,
    CreditUse,
    EpisodeRow,
    ExperienceRequestDetail,
    ExperienceRequestRow,
    Participant,
    PolicyScore,
    Requested,
)
from pytest_evalharness.observatory.status import Status

__all__ = [
    "ChangePage",
    "ContainerImage",
    "CreditStatus",
    "CreditUse",
    "Credits",
    "Division",
    "EpisodeRow",
    "ExperienceRequestDetail",
    "ExperienceRequestRow",
    "FeedBatch",
    "FeedEntry",
    "FeedEpisode",
    "Game",
    "Leaderboard",
    "League",
    "Membership",
    "Participant",
    "PolicyScore",
    "PolicyVersion",
    "PolicyVersionDetail",
    "Ref",
    "Requested",
    "Round",
    "RoundDetail",
    "RoundResult",
    "Standing",
    "Status",
    "WhoAmI",
]
