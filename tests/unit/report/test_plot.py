import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.report.plot import WIDTH, Axis, arms_plot, difference_plot, reach

SHARES = st.floats(-1, 1)


def judged(diff=0.1, ci=(-0.1, 0.3), ci_margin=(-0.07, 0.27), *, margin=None, claim="better", games=30):
    return {
        "diff": diff,
        "ci": list(ci),
        "ci_margin": list(ci_margin),
        "declaration": {"margin": margin, "claim": claim},
        "candidate": {"wins": games, "finished": games},
        "baseline": {"wins": games // 2, "finished": games},
        "wilson_candidate": [0.88, 1.0],
        "wilson_baseline": [0.33, 0.67],
    }


def test_nothing_is_drawn_without_games():
    assert arms_plot(judged(games=0)) is None
    assert difference_plot(judged(diff=None)) is None


def test_an_axis_ends_inside_of_the_drawing_and_holds_what_lies_beyond():
    axis = Axis(-0.5, 0.5)
    assert axis.at(-9) == axis.at(-0.5) > 0
    assert axis.at(9) == axis.at(0.5) < WIDTH
    assert axis.at(0.0) == WIDTH / 2


@given(SHARES, SHARES)
def test_an_axis_keeps_the_order_of_values(first, second):
    axis = Axis(-1.0, 1.0)
    assert (axis.at(first) - axis.at(second)) * (first - second) >= 0


def test_both_arms_stand_where_their_rates_are():
    plot = arms_plot(judged())
    axis = Axis(0.0, 1.0)
    assert (plot.candidate.low, plot.candidate.x, plot.candidate.high) == (
        axis.at(0.88),
        axis.at(1),
        axis.at(1),
    )
    assert plot.baseline.x == axis.at(0.5)
    assert plot.candidate.y < plot.baseline.y < plot.axis
    assert [tick.label for tick in plot.ticks] == ["0", "25", "50", "75", "100"]


@given(SHARES, SHARES, SHARES, st.none() | st.floats(0.01, 0.99))
def test_every_mark_of_a_difference_lies_on_its_axis(diff, low, high, margin):
    low, high = sorted((low, high))
    plot = difference_plot(judged(diff, (low, high), (low, high), margin=margin, claim="equivalent"))
    left, right = plot.ticks[0].x, plot.ticks[-1].x
    marks = [
        plot.whisker.low,
        plot.whisker.x,
        plot.whisker.high,
        plot.zero,
        *(plot.margin or ()),
        *(plot.inner or ()),
    ]
    assert all(left <= mark <= right for mark in marks)
    assert plot.whisker.low <= plot.whisker.high
    assert plot.zero == WIDTH / 2


@given(st.lists(SHARES, min_size=1))
def test_an_axis_has_room_for_every_value(values):
    assert reach(values) >= max(map(abs, values))


@pytest.mark.parametrize(
    ("values", "half"),
    [([0.0], 0.1), ([0.09], 0.1), ([0.1], 0.2), ([-0.57], 0.6), ([0.58], 1.0), ([-1.0], 1.0)],
)
def test_an_axis_is_no_wider_than_it_must_be(values, half):
    assert reach(values) == half


def test_without_a_margin_there_is_no_band_and_no_inner_interval():
    plot = difference_plot(judged())
    assert (plot.margin, plot.inner, plot.one_sided) == (None, None, False)
    assert [tick.label for tick in plot.ticks] == ["−40", "−20", "0", "+20", "+40"]  # noqa: RUF001


def test_a_noninferiority_margin_limits_losses_only():
    plot = difference_plot(judged(margin=0.2, claim="noninferior"))
    assert plot.one_sided
    assert plot.margin == (Axis(-0.4, 0.4).at(-0.2), plot.ticks[-1].x)


def test_any_other_margin_limits_both_directions():
    plot = difference_plot(judged(margin=0.2, claim="better"))
    axis = Axis(-0.4, 0.4)
    assert plot.margin == (axis.at(-0.2), axis.at(0.2))
    assert plot.inner == (axis.at(-0.07), axis.at(0.27))
