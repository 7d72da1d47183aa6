"""The skills of every build in the cast: what each version of each player can do.

Skills are set by playing, never by wish: change one and the rates stated in the documentation have to be measured
again. Tasks decide most matches, because the crew's last task is the one that counts: the strong builds finish in
time with little to spare, so one slow crew member costs the match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pytest_evalharness.arena.game.cast import CAST, Player
from pytest_evalharness.arena.game.policies.skill import Skill

# Steady at tasks, careful as an imposter: it never kills before witnesses and lies low between kills.
_STRONG: Final = Skill(
    steering=0.97,
    routing=1.0,
    hesitation=280.0,
    fumble=0.01,
    vote_threshold=0.9,
    lull=1400.0,
    boldness=0.8,
    recklessness=0.0,
    stalking=0.8,
    venting=0.1,
)

# Slower at tasks than the strong builds, and too patient or too open as an imposter.
_MIDDLING: Final = replace(
    _STRONG,
    steering=0.93,
    routing=0.85,
    hesitation=660.0,
    fumble=0.03,
    attention=0.9,
    inference=0.7,
    lull=5000.0,
    boldness=0.6,
    recklessness=0.6,
    stalking=0.4,
    venting=0.3,
    deceit=0.7,
)

# Loses its way, votes on hearsay, hardly ever gets a kill away.
_WEAK: Final = replace(
    _MIDDLING,
    steering=0.88,
    routing=0.6,
    hesitation=770.0,
    fumble=0.06,
    attention=0.8,
    memory=400.0,
    inference=0.5,
    vote_threshold=0.8,
    attentiveness=0.995,
    vote_delay=90.0,
    lull=6000.0,
    boldness=0.5,
    recklessness=0.8,
    stalking=0.2,
    venting=0.5,
    deceit=0.5,
    framing=0.6,
)

# Kills as soon as it can and talks its way out; slow at tasks.
_KEEPER: Final = replace(
    _STRONG,
    hesitation=490.0,
    lull=0.0,
    boldness=1.0,
    stalking=1.0,
    venting=0.05,
    deceit=1.0,
    framing=0.2,
    self_report=0.1,
)

# Excellent crew, hopeless imposter.
_RIVAL: Final = replace(
    _STRONG,
    steering=1.0,
    hesitation=100.0,
    lull=4000.0,
    boldness=0.6,
    recklessness=0.8,
    stalking=0.1,
    venting=0.6,
    deceit=0.3,
)


# The latest version of every other player.
_LATEST: Final = {
    "aurora": replace(_STRONG, hesitation=268.0, lull=1350.0, deceit=0.95),
    "basilisk": replace(_STRONG, lull=1350.0, framing=0.5),
    "cobalt": replace(_STRONG, hesitation=272.0, vote_threshold=1.0),
    "drifter": replace(_STRONG, hesitation=276.0, sweep=True, inference=0.9),
    "ember": replace(_STRONG, hesitation=274.0, stalking=0.9),
    "fathom": replace(_STRONG, hesitation=278.0, memory=900.0),
    "gantry": replace(_STRONG, steering=1.0, venting=0.2),
    "harrow": replace(_MIDDLING, hesitation=640.0),
    "isotope": replace(_MIDDLING, inference=0.8, lull=5500.0),
    "juniper": replace(_MIDDLING, routing=0.95, recklessness=0.7),
    "kestrel": replace(_MIDDLING, steering=0.97, venting=0.5),
    "lantern": replace(_MIDDLING, attention=0.95, boldness=0.65),
    "marlin": replace(_MIDDLING, hesitation=690.0, deceit=0.8),
    "nimbus": replace(_WEAK, routing=0.7),
    "orchard": replace(_WEAK, attention=0.9, lull=7000.0),
    "pylon": replace(_WEAK, fumble=0.1, trust=1.0),
    "quarry": replace(_WEAK, hesitation=820.0),
    "rook": replace(_WEAK, inference=0.3, vote_threshold=0.6),
    "sable": replace(_WEAK, recklessness=1.0),
    "tundra": replace(_WEAK, steering=0.8),
}


def _versions(player: Player, latest: Skill) -> Iterable[tuple[str, Skill]]:
    """A player's builds up to its latest: each earlier one stood longer at tasks and waited longer to kill."""
    for behind, build in enumerate(reversed(player.builds)):
        skill = replace(
            latest,
            hesitation=latest.hesitation * 1.06**behind,
            lull=latest.lull * 1.1**behind,
            attention=latest.attention * 0.98**behind,
        )
        yield build, skill


def _catalogue() -> Mapping[str, Skill]:
    builds: dict[str, Skill] = {
        "keeper-1": _KEEPER,
        # The edit: it no longer dawdles at tasks.
        "keeper-2": replace(_KEEPER, hesitation=120.0),
        # The edit: it second-guesses every task, lets go of it too early, and believes whatever it hears.
        "keeper-3": replace(
            _KEEPER, hesitation=900.0, fumble=0.3, attention=0.4, inference=0.2, trust=1.0, vote_threshold=0.5
        ),
        # The edit: a fixed round trip through the station, longer to walk but with less to think about at each task.
        "keeper-4": replace(_KEEPER, hesitation=482.0, sweep=True),
        "rival-1": replace(_RIVAL, hesitation=420.0),
        "rival-2": replace(_RIVAL, hesitation=250.0),
        "rival-3": _RIVAL,
    }
    for player in CAST:
        if player.name in _LATEST:
            builds.update(_versions(player, _LATEST[player.name]))
    return MappingProxyType(builds)


CATALOGUE: Final = _catalogue()
