"""The map: twelve rooms, the corridors between them with their travel times in ticks, and the vents."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

ROOMS: Final = (
    "mess",
    "armory",
    "infirmary",
    "archive",
    "foundry",
    "pumps",
    "relay",
    "hold",
    "lab",
    "dock",
    "bridge",
    "garden",
)
HUB: Final = 0  # where the emergency button is, where a match starts and where it goes on after a meeting

_CORRIDORS: Final = (
    ("mess", "armory", 72),
    ("mess", "infirmary", 64),
    ("mess", "archive", 56),
    ("armory", "garden", 64),
    ("armory", "bridge", 84),
    ("garden", "bridge", 56),
    ("infirmary", "foundry", 76),
    ("foundry", "relay", 56),
    ("foundry", "pumps", 72),
    ("relay", "pumps", 56),
    ("pumps", "hold", 84),
    ("archive", "hold", 64),
    ("hold", "lab", 64),
    ("lab", "dock", 56),
    ("hold", "dock", 84),
    ("dock", "bridge", 76),
)
_VENTS: Final = (("foundry", "pumps", "relay"), ("infirmary", "archive"), ("garden", "bridge", "dock"))

RADIUS: Final = (72, 48, 44, 40, 48, 44, 36, 60, 40, 52, 44, 40)  # pixels from a room's centre to its wall
WALK: Final = 2  # pixels a tick
VENT_TICKS: Final = 24
GHOST_PACE: Final = 0.8  # a ghost flies straight, through walls

# Two stations in most rooms, three in the largest; a station is known by its room.
STATIONS: Final = tuple(room for room, size in enumerate(RADIUS) for _ in range(3 if size > 50 else 2))  # noqa: PLR2004

_INDEX: Final = {name: index for index, name in enumerate(ROOMS)}


def _corridors() -> tuple[dict[int, int], ...]:
    ways: tuple[dict[int, int], ...] = tuple({} for _ in ROOMS)
    for start, end, ticks in _CORRIDORS:
        ways[_INDEX[start]][_INDEX[end]] = ticks
        ways[_INDEX[end]][_INDEX[start]] = ticks
    return ways


def _shortest_from(start: int) -> tuple[list[int], list[int]]:
    """Distances in ticks from a room, and the first room on the way to each other one (Dijkstra)."""
    distance = [10**9] * len(ROOMS)
    first = [start] * len(ROOMS)
    distance[start] = 0
    heap = [(0, start, start)]
    while heap:
        ticks, room, via = heappop(heap)
        if ticks > distance[room]:
            continue
        first[room] = via
        for neighbour, step in CORRIDORS[room].items():
            if ticks + step < distance[neighbour]:
                distance[neighbour] = ticks + step
                heappush(heap, (ticks + step, neighbour, neighbour if room == start else via))
    return distance, first


CORRIDORS: Final = _corridors()
NEIGHBOURS: Final = tuple(tuple(ways) for ways in CORRIDORS)
_PATHS: Final = tuple(_shortest_from(room) for room in range(len(ROOMS)))
DISTANCE: Final = tuple(tuple(distance) for distance, _ in _PATHS)
NEXT_ROOM: Final = tuple(tuple(first) for _, first in _PATHS)
VENTS: Final = tuple(
    tuple(
        _INDEX[other] for group in _VENTS if ROOMS[room] in group for other in group if other != ROOMS[room]
    )
    for room in range(len(ROOMS))
)


def reach_ticks(room: int, reach: int) -> int:
    """Ticks to walk from a room's middle until something at its wall is within reach (in pixels)."""
    return max(0, RADIUS[room] - reach) // WALK
