"""Pictures say what the objects say that they are made of, and every label stays where it can be read."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

import ctxkit
from ctxkit import plots
from ctxkit.demo.recorded import RECORDING
from ctxkit.errors import ConfigError
from ctxkit.money.break_even import Edit, Terms, break_even_turns
from ctxkit.plots.base import COLOURS, dollar_format, shortened
from ctxkit.plots.costs import LEVELS
from ctxkit.profile import profile
from ctxkit.replay import ReplayReport, replay
from ctxkit.reports import Report
from ctxkit.transcripts import Transcript

PNG = b"\x89PNG"
PRICE = Decimal("0.000002")


def recorded(**changes: Any) -> Transcript:
    (transcript,) = ctxkit.load(RECORDING)
    return replace(transcript, **changes)


def profiled(*transcripts: Transcript) -> Report:
    return profile(transcripts or [recorded()], keep_attempts=True)


def replayed(max_tokens: int) -> ReplayReport:
    return replay([recorded()], ctxkit.balanced(max_tokens=max_tokens))


@pytest.fixture(scope="module")
def replays() -> Mapping[str, ReplayReport]:
    return {"short": replayed(300), "middle": replayed(600), "long": replayed(2_000)}


def picture(figure: Figure) -> bytes:
    written = io.BytesIO()
    figure.savefig(written, format="png")
    return written.getvalue()


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def boxes(figure: Figure) -> list[Rectangle]:
    return [one for one in figure.axes[0].patches if isinstance(one, Rectangle) and one.get_fill()]


def lines(figure: Figure) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in figure.axes[0].lines}


def test_importing_the_plots_does_not_load_matplotlib() -> None:
    code = "import sys, ctxkit.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_boxes_of_each_level_of_a_bill_are_no_higher_than_the_whole_and_the_first_are_all_of_it() -> None:
    heights = [0.0] * LEVELS
    for box in boxes(plots.cost_flame(profiled())):
        heights[int(box.get_x())] += box.get_height()
    assert heights[:3] == pytest.approx([1, 1, 1])
    assert 0 < heights[3] < 1


def test_the_boxes_of_a_level_stand_below_each_other_and_inside_the_level_before() -> None:
    levels: dict[int, list[Rectangle]] = {}
    for box in boxes(plots.cost_flame(profiled())):
        levels.setdefault(int(box.get_x()), []).append(box)
    for level, found in levels.items():
        for above, below in pairwise(found):
            assert below.get_y() >= above.get_y() + above.get_height() - 1e-9
        for box in found if level else ():
            middle = box.get_y() + box.get_height() / 2
            outer = levels[level - 1]
            assert any(one.get_y() < middle < one.get_y() + one.get_height() for one in outer)


def test_a_box_is_as_high_as_its_share_of_the_bill() -> None:
    report = profiled()
    shown = next(text for text in texts(plots.cost_flame(report)) if text.startswith("system "))
    line = report.totals.by_kind()["system"]
    assert shown == f"system  {line.cost_usd / report.totals.cost_usd:.1%}"


def test_every_label_of_a_bill_stays_in_its_column_however_long_the_names_are() -> None:
    figure = plots.cost_flame(profiled(recorded(id="W" * 15 + "a_very_long_name" * 9)))
    picture(figure)
    axes = figure.axes[0]
    for text in axes.texts:
        end = axes.transData.inverted().transform(text.get_window_extent().get_points())[1][0]
        assert end < int(text.get_position()[0]) + 1


def test_a_name_with_dollar_signs_is_no_formula(replays: Mapping[str, ReplayReport]) -> None:
    name = "$a_{b$"
    figures = [draw(profiled(recorded(id=name))) for draw in (plots.cost_flame, plots.context_timeline)]
    assert all(picture(figure).startswith(PNG) for figure in figures)
    assert picture(plots.sensitivity({name: replays["short"]})).startswith(PNG)


def test_a_bill_without_prices_is_drawn_in_tokens() -> None:
    figure = plots.cost_flame(profiled(recorded(model="unheard-of")))
    assert "tokens went" in figure.axes[0].get_title(loc="left")
    assert sum(box.get_height() for box in boxes(figure) if box.get_x() == 0) == pytest.approx(1)


@pytest.mark.parametrize("draw", [plots.cost_flame, plots.context_timeline])
def test_a_report_that_holds_no_attempts_is_refused_with_the_way_to_keep_them(draw: Any) -> None:
    with pytest.raises(ConfigError, match="keep_attempts=True"):
        draw(profile([recorded()]))


def test_the_bars_of_a_timeline_are_the_input_tokens_of_the_requests() -> None:
    report = profiled()
    (bars,) = plots.context_timeline(report).axes[0].containers
    assert isinstance(bars, BarContainer)
    tokens = [attempt.usage and attempt.usage.input_tokens for attempt in report.tasks[0].attempts]
    assert [bar.get_height() for bar in bars] == tokens


def test_a_triangle_stands_over_each_request_that_could_have_been_read_from_the_cache() -> None:
    figure = plots.context_timeline(profiled())
    assert list(lines(figure)["could have been read"].get_xdata()) == list(range(2, 11))


def test_a_timeline_in_which_nothing_was_missed_has_no_triangle() -> None:
    first = recorded(requests=recorded().requests[:1])
    assert legend(plots.context_timeline(profiled(first))) == ["paid in full"]


def test_a_timeline_names_each_task_and_draws_a_line_between_them() -> None:
    other = recorded(id="other", requests=recorded().requests[:3])
    figure = plots.context_timeline(profiled(other, recorded(id="whole")))
    assert texts(figure) == ["other", "whole"]
    assert [text.get_position()[0] for text in figure.axes[0].texts] == pytest.approx([0.6, 3.6])
    assert 3.5 in [line.get_xdata()[0] for line in figure.axes[0].lines]


def test_policies_that_another_beats_in_both_are_grey(replays: Mapping[str, ReplayReport]) -> None:
    figure = plots.pareto(replays)
    colours = {label.split(":")[0]: line.get_color() for label, line in lines(figure).items()}
    assert {name: colours[name] for name in replays} == {
        "short": COLOURS[0],
        "middle": COLOURS[0],
        "long": COLOURS[6],
    }


def test_a_point_stands_where_its_report_says(replays: Mapping[str, ReplayReport]) -> None:
    (line,) = [line for label, line in lines(plots.pareto(replays)).items() if label.startswith("short")]
    report = replays["short"]
    assert line.get_xdata()[0] == pytest.approx(float(report.replayed.cost_usd))
    assert line.get_ydata()[0] == pytest.approx(100 * (report.evidence_recall or 0))


def test_what_has_no_price_is_left_out_and_nothing_else_is(replays: Mapping[str, ReplayReport]) -> None:
    unpriced = replay([recorded(model="unheard-of")], ctxkit.observe())
    assert len(legend(plots.pareto({"unpriced": unpriced, **replays}))) == 3
    assert legend(plots.sensitivity({"unpriced": unpriced, **replays})) == list(replays)
    for draw in (plots.pareto, plots.sensitivity):
        with pytest.raises(ConfigError, match="known cost"):
            draw({"unpriced": unpriced})
    with pytest.raises(ConfigError, match="unknown cost"):
        plots.spending({"unpriced": unpriced})


def test_a_saving_is_lost_where_its_line_goes_below_zero(replays: Mapping[str, ReplayReport]) -> None:
    line = lines(plots.sensitivity(replays))["middle"]
    break_even = 100 * (replays["middle"].break_even or 0)
    for extra, saved in zip(line.get_xdata(), line.get_ydata(), strict=True):
        assert (saved > 0) == (extra < break_even)
    assert list(line.get_xdata()) == [0, 5, 15, 20]


def test_the_spending_ends_at_the_bill(replays: Mapping[str, ReplayReport]) -> None:
    (line, *_) = plots.spending(replays).axes[0].lines
    assert line.get_ydata()[-1] == pytest.approx(float(replays["short"].replayed.cost_usd))
    assert len(line.get_ydata()) == 10


def test_spending_without_a_run_is_refused() -> None:
    with pytest.raises(ConfigError, match="holds no run"):
        plots.spending({"none": ReplayReport([])})
    with pytest.raises(ConfigError, match="no replay"):
        plots.spending({})


def test_a_line_of_the_break_even_has_the_turns_that_the_formula_gives() -> None:
    terms = Terms(PRICE, write=Decimal("1.25"), read=Decimal("0.1"))
    figure = plots.break_even({"r = 0.1": {"w = 1.25": terms}}, history_tokens=60_000, stable_tokens=10_000)
    (line,) = figure.axes[0].lines
    turns = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
    assert turns[60] == break_even_turns(Edit(10_000, 30_000, 20_000), terms)


def test_a_line_of_the_break_even_has_a_gap_where_an_edit_never_pays_or_pays_at_once() -> None:
    never = Terms(PRICE, read=Decimal(0))
    figure = plots.break_even({"first": {"never": never}, "second": {"at once": Terms(PRICE)}})
    for axes in figure.axes:
        assert not [turns for turns in axes.lines[0].get_ydata() if turns == turns]


def test_lines_of_one_name_are_explained_once_and_look_alike_in_all_panels() -> None:
    lines = {"w = 1": Terms(PRICE, read=Decimal("0.1")), "w = 2": Terms(PRICE, Decimal(2), Decimal("0.1"))}
    figure = plots.break_even({"first": lines, "second": lines})
    assert legend(figure) == ["w = 1", "w = 2"]
    first, second = ([line.get_color() for line in axes.lines] for axes in figure.axes)
    assert first == second


def test_a_break_even_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="no terms"):
        plots.break_even({})


def test_every_picture_can_be_written_and_its_legend_stays_inside(
    replays: Mapping[str, ReplayReport],
) -> None:
    report = profiled()
    terms = {"r": {"w": Terms(PRICE, read=Decimal("0.1"))}}
    for figure in (
        plots.cost_flame(report),
        plots.context_timeline(report),
        plots.pareto(replays),
        plots.sensitivity(replays),
        plots.spending(replays),
        plots.break_even(terms),
    ):
        assert picture(figure).startswith(PNG)
        box = figure.legends[0].get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_a_made_up_run_is_the_same_each_time_and_can_be_replayed() -> None:
    run = plots.made_up_run(turns=4, model="claude-sonnet-5")
    assert run == plots.made_up_run(turns=4, model="claude-sonnet-5")
    report = replay([run], ctxkit.Stack(ctxkit.PlaceCacheBreakpoints()))
    assert report.replayed.requests == 5
    assert report.replayed.cache_read_tokens > report.replayed.cache_write_tokens > 0
    assert report.invalid_requests == 0


@pytest.mark.parametrize(
    ("largest", "shown"), [(0, "$0.00"), (0.0433, "$0.0433"), (2.3, "$2.30"), (410, "$410.00")]
)
def test_dollars_have_three_digits_of_the_largest_and_cents_at_least(largest: float, shown: str) -> None:
    assert dollar_format(largest).format(x=largest) == shown


def test_a_shortened_name_keeps_both_of_its_ends() -> None:
    assert shortened("update_reservation_passengers", 20) == "update_reser…sengers"[:20]
    assert shortened("short", 20) == "short"
