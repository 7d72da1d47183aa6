"""Policies: skills, what a seat can observe, and the decisions made from both."""

from pytest_evalharness.arena.game.policies.base import Policy
from pytest_evalharness.arena.game.policies.catalogue import CATALOGUE
from pytest_evalharness.arena.game.policies.crew import CrewPolicy
from pytest_evalharness.arena.game.policies.imposter import ImposterPolicy
from pytest_evalharness.arena.game.policies.observation import Ballot, Observation, Rules, Statement
from pytest_evalharness.arena.game.policies.skill import Skill

__all__ = [
    "CATALOGUE",
    "Ballot",
    "CrewPolicy",
    "ImposterPolicy",
    "Observation",
    "Policy",
    "Rules",
    "Skill",
    "Statement",
]
