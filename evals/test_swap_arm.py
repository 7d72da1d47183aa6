"""Would a rival's bot do better in our seat? A swap arm: their live version against our baseline."""

import pytest


@pytest.mark.league_ab(candidate_seats={0: "rival:v3"}, claim="better", episodes=30)
def test_their_bot_in_our_seat(ab):
    """In seat 0, the rival's version wins more often than our baseline."""
    ab.require()
