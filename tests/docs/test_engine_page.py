"""The page of the decision engines lists what the catalogue has, and the worlds' exact values."""

from pytest_evalharness.engines import catalogue, worlds

PAGE = "docs/reference/engine.md"


def test_every_engine_is_listed_with_its_knobs(pages):
    listed = {row[0]: row[1:3] for row in pages[PAGE].table("engine")}
    engines = [*catalogue.all(), catalogue.get(catalogue.SANITY)]
    assert list(listed) == [f"`{one.name}`" for one in engines]
    for one in engines:
        knobs = ", ".join(f"`{knob.name}` {knob.default:g}" for knob in one.declaration.params)
        assert listed[f"`{one.name}`"] == [one.declaration.learns_from, knobs]


def test_every_world_is_listed_with_its_truth(pages):
    listed = {row[0]: row[1:] for row in pages[PAGE].table("world")}
    assert list(listed) == [f"`{name}`" for name in worlds.NAMES]
    for name in worlds.NAMES:
        world = worlds.named(name)
        truth = [f"{world.truth[who]:.2f}" for who in ("today", "random", "optimum")]
        assert listed[f"`{name}`"] == [str(len(world.states)), str(len(world.moves)), *truth]
