"""Every chart, drawn from little."""

import dataclasses
import functools

import numpy as np
import pandas as pd

from attnlab import charts
from attnlab.comparisons.paired import Share
from attnlab.comparisons.shipped import Plot
from attnlab.comparisons.summary import References
from attnlab.generators.vocabulary import WEATHER
from attnlab.inspection.belief_planes import belief_colours, plane_of
from attnlab.known_results import KNOWN_RESULTS, Check, verdict_on
from attnlab.known_results.blog_post import part_named
from attnlab.known_results.post_verdicts import rows_of
from attnlab.optimum import Best
from tests.unit.made_up_results import SHORT, evaluation, finished, row_of

SYMBOLS = WEATHER.symbols
MOVING = ((0.5, 0.3, 0.2), (0.1, 0.8, 0.1), (0.2, 0.2, 0.6))


def claim_chart():
    claim = Check("high", "ours", "accuracy", least=0.5, published=0.7)
    return charts.claim_chart(verdict_on(claim, {"ours": {"accuracy": {1: 0.6, 2: 0.4}}}))


def result_chart():
    known = KNOWN_RESULTS["belief-mess3"]
    return charts.result_chart(known, known.shipped_numbers)


def plot_chart():
    points = (("test", 1.0, 0.1), ("test", 10.0, 0.9), ("training", 1.0, 0.5))
    return charts.plot_chart(Plot("Accuracy", "line", "step", "accuracy", points))


def frequency_chart():
    columns = {"known": [0.5, 0.3, 0.2], "counted": [0.6, 0.2, 0.2], "error": 0.05}
    table = pd.DataFrame({"row": range(3), "name": SYMBOLS, "low": 0.1, "high": 0.3, **columns})
    return charts.frequency_chart(table, names=SYMBOLS, title="share")


def frequency_map_chart():
    known = np.array(MOVING).ravel()
    columns = {"known": known, "counted": known, "error": 0.05, "name": "a → b"}
    return charts.frequency_map_chart(
        pd.DataFrame({"row": range(9), **columns}), symbols=SYMBOLS, of="counted",
        row_title="day 1", column_title="day 2", most=1.0,
    )  # fmt: skip


def rule_chart():
    row, column = (at.ravel() for at in np.indices((3, 3)))
    table = pd.DataFrame({"row": row, "column": column, "probability": np.ravel(MOVING)})
    return charts.rule_chart(
        table.assign(row_name="yesterday", column_name="today"), rows=SYMBOLS, columns=SYMBOLS,
        row_title="yesterday", column_title="today",
    )  # fmt: skip


BY_SCALE = (charts.Series("with"), charts.Series("without", charts.past_hue(0), "square"))


def lines_chart(look="points", series=BY_SCALE):
    values = np.array([1.0, 2.0, 4.0])
    tables = [charts.series_table(each.name, (2, 4, 8), values, values / 10) for each in series]
    return charts.lines_chart(
        pd.concat(tables),
        charts.level_table({"law": values}, (2, 4, 8)),
        pd.DataFrame({"at": [5], "name": "here"}),
        x=charts.Scale("d", "d", kind="log", ticks=(2, 4, 8)),
        y=charts.Scale("variance", ".4g", kind="log"),
        series=series,
        look=look,
    )


def stacked_chart():
    names, shares = ("uniform", "optimal"), np.array([[1.0, 0.0], [0.2, 0.8]])
    return charts.stacked_chart(
        charts.stacked_table(names, (0, 10), shares),
        pd.DataFrame({"at": [5], "name": "optimal"}),
        series=charts.distinct(names),
        title="weight",
        noun="reference",
    )


def learning_chart():
    return charts.lines_chart(
        charts.series_table("", range(3), np.array([1.0, 0.8, 0.7])),
        charts.level_table({"best 0.5000": 0.5, "noise 0.1000": 0.1}, (0, 2)),
        x=charts.Scale("step", domain=(0, 2)),
        y=charts.Scale("leave-one-out MSE", domain=(0, 1)),
        look="line",
        tips=(),
    )


TRIANGLE = np.tril(np.ones((3, 3), dtype=bool))
HALVES = TRIANGLE / TRIANGLE.sum(axis=1, keepdims=True)


def alignment_chart():
    rows = {"names": ("head 1", "truth"), "source": SYMBOLS, "target": SYMBOLS[::-1]}
    return charts.alignment_chart(HALVES[None], np.eye(3), cell="share", **rows)


def ledger_chart():
    return charts.ledger_chart({"finite data": 0.03, "optimisation": -0.01, "family": 0.002})


def by_day_chart():
    return charts.by_day_chart(
        np.array([2, 3]), np.array([1.0, 0.5]), np.array([0.1, 0.2]), np.array([0.9, 0.25])
    )


def calibration_chart():
    bins = np.array([0.2, 0.5, 0.8])
    return charts.calibration_chart(bins, bins, bins / 10, np.array([5, 6, 7]))


def confusion_chart():
    return charts.confusion_chart(np.arange(9).reshape(3, 3), symbols=SYMBOLS)


def final_query_chart():
    rows = {"attends": np.array([0.2, 0.5, 0.3]), "truth": np.array([0.1, 0.1, 0.8])}
    return charts.final_query_chart(rows, symbols=SYMBOLS, most=1.0, title="share")


def heads_chart():
    heads = [charts.HeadPicture(f"head {n}", HALVES, TRIANGLE) for n in (1, 2)]
    words = {"cell": "share of attention", "key": "day attended to"}
    return charts.heads_chart(heads, **words, read=2, informative=(1, 3))


def heatmap_chart():
    places = (1, 2, 3)
    return charts.heatmap_chart(
        charts.cells_table(("row", places), ("column", places), seen=TRIANGLE, value=HALVES),
        x=charts.Side("column", "across", places),
        y=charts.Side("row", "down", places, ("one", "two", "three")),
        shades=(charts.Shade("share"),),
        tips=(("row", "down", ""), ("value", "share", ".2f")),
    )


def next_day_chart():
    rows = {"true": np.full(3, 1 / 3), "model": np.array([0.2, 0.3, 0.5])}
    return charts.next_day_chart(rows, symbols=SYMBOLS)


def overview_chart():
    heads = [charts.HeadPicture(name, HALVES, TRIANGLE, "0.1") for name in ("L1 H1", "L1 H2")]
    return charts.overview_chart([heads], texts=True, cell="share of attention")


def map_chart():
    return charts.map_chart(
        HALVES, seen=TRIANGLE, symbols=SYMBOLS, stderr=HALVES / 10, title="share",
        titles=("key", "query"),
    )  # fmt: skip


FIGURES = pd.DataFrame(
    {"value": [0.5, 0.2, 0.1], "error": 0.01, "d_attn": 4, "seed": [0, 1, 2], "series": "with"}
)


def component_chart():
    places = {"position": [1, 2, 1, 2], "component": [1, 1, 2, 2], "name": ["1", "", "", "2"]}
    table = pd.DataFrame({**places, "value": np.arange(4.0)})
    return charts.component_chart(table, domain=(0, 8))


def distribution_chart():
    bins = {"centres": [-1.0, 0.0, 1.0], "density": [0.2, 0.5, 0.3], "normal": 0.3}
    table = pd.concat([pd.DataFrame(bins).assign(series=one.name) for one in BY_SCALE])
    return charts.distribution_chart(table, series=BY_SCALE)


def fit_chart():
    x = np.linspace(0, 1, 5)
    chosen, points = x == 0.5, {"x": x[:3], "y": x[:3], "weight": [0.2, 0.5, 0.3]}
    fit = pd.DataFrame({"place": range(5), "x": x, "fit": x, "truth": x**2, "chosen": chosen})
    points = pd.DataFrame(points)
    return charts.fit_chart(fit, points, x_domain=(0, 1), y_domain=(0, 1), largest=0.5)


def gap_map_chart():
    table = FIGURES.assign(gain=["0.5", "1", "2"])
    return charts.gap_map_chart(table, widths=(4,), gains=("0.5", "1", "2"), most=1.0)


def matrix_chart():
    values = np.array([[1.0, -np.inf, 0.5], [0.0, 2.0, 3.0]])
    matrix = charts.Matrix("numbers", values, "row", "column", row=1)
    return charts.matrix_chart(matrix, largest=3.0, ramp=charts.SHARES)


def path_chart():
    days = np.arange(5.0)
    table = pd.DataFrame({"position": days, "x": np.cos(days), "y": np.sin(days), "name": "a"})
    return charts.path_chart(table, domain=(-1.0, 1.0), x_title="1", y_title="2")


def plane_chart():
    weights = np.array([0.2, 0.3, 0.5])
    places = {"first": [0.1, 0.5, 0.9], "second": [0.2, 0.6, 0.1], "y": [-1.0, 0.0, 1.0]}
    points = {"point": [1, 2, 3], "chosen": [False, True, False], "relative": weights / 0.5}
    return charts.plane_chart(pd.DataFrame({**points, **places, "weight": weights}))


def reached_chart():
    table = FIGURES.assign(step=[0, 10, 20], reached=["reached", "reached", "not reached"])
    return charts.reached_chart(table, widths=(4,), last_step=20, series=BY_SCALE)


def softmax_chart():
    table = {"key": [1, 2, 3], "logit": "1", "weight": [0.2, 0.3, 0.5], "at_one": 0.3}
    return charts.softmax_chart(pd.DataFrame(table), keys=3)


def tokens_matrix():
    shares, names = np.array([[0.7, 0.3], [0.2, 0.8]]), (("a", "b"), ("b", "a"))
    return charts.matrix_chart(
        charts.Matrix("attention", shares, "target", "source", shares=True), names=names,
        seen=np.tri(2, dtype=bool), framed=np.eye(2, dtype=bool),
    )  # fmt: skip


def training_chart():
    table = FIGURES.assign(step=[0, 10, 20])
    return charts.training_chart(
        table, title="gap", last_step=20, widths=(4,), series=BY_SCALE, logarithmic=False
    )


LABELS = ("one", "other")
KNOWN = References(Best(0.9, 0.5), Best(float(np.log(3)), 1 / 3), Best(1.05, 0.4), Best(1.0, 0.45))


def rows():
    tests = ((0, evaluation(1.2)), (10, evaluation(1.0)))
    found = [
        row_of(SHORT, losses, options=[("length", text), ("batch", "9")])
        for text, losses in (("2", [1.0, 0.9]), ("3", [0.95, 0.97]))
    ]
    return [
        dataclasses.replace(
            row,
            references=KNOWN,
            results=tuple(dataclasses.replace(run, tests=tests) for run in row.results),
        )
        for row in found
    ]


def dots_chart():
    return charts.dots_chart(rows(), LABELS, "nll")


def losses_chart():
    tests = ((0, 1.2, 0.01), (10, 1.0, 0.01))
    return charts.losses_chart(dict.fromkeys(LABELS, tests), {"floor": 0.9})


def bands_chart():
    return charts.bands_chart(rows(), LABELS, measure="loss", log_steps=True, log_values=True)


def swept_chart():
    return charts.swept_chart(
        charts.swept_table(rows(), "length", "batch", "nll"),
        figure="nll",
        titles=("length", "batch"),
        across=("2", "3"),
        down=("9",),
        domain=(0.9, 1.1),
    )


def parallel_axes():
    return [
        charts.axis_of_texts("length", ["2", "3"], ("2", "3")),
        charts.axis_of_numbers("loss", [1.0, None], ".2f"),
    ]


def parallel_chart():
    return charts.parallel_chart(parallel_axes(), LABELS, (True, False))


def shares_chart():
    shares = [Share(("length",), 0.7, 1, 0.3), Share((), 0.3, 2, 0.7)]
    return charts.shares_chart(charts.shares_table(shares), parts=charts.share_names(shares))


def simplex_chart():
    beliefs = np.random.default_rng(3).dirichlet(np.ones(3), (40, 5))
    plane = plane_of("ABC", beliefs)
    colours = belief_colours(beliefs).reshape(-1, 3)
    picture = pd.DataFrame({"url": [charts.simplex_address(plane.of(beliefs), colours)]})
    points = charts.belief_table(plane, beliefs[0], list("ABCDE"), chosen=2)
    return charts.simplex_chart(picture, charts.corner_table(plane), points, states=tuple("ABC"))


POST_KNOWN = References(Best(0.3, 0.9), Best(1.1, 1 / 3), Best(1.0, 0.4), Best(0.6, 0.7))


@functools.cache
def published_rows(name, process):
    """Two seeds of every setting."""
    part = part_named(name, [process])
    results = [
        finished(setting.experiment, 1.0, seed=seed, accuracy=0.4 + 0.03 * place + 0.01 * seed)
        for place, setting in enumerate(part.settings)
        for seed in (0, 1)
    ]
    return rows_of(part, results, references=lambda _: POST_KNOWN)


def _dots_of(name, process, **look):
    found = published_rows(name, process)
    labels = tuple(row.model for row in found)
    return charts.dots_chart([row.row for row in found], labels, "accuracy", **look)


def published_chart():
    published = published_rows("table", "recall")
    return _dots_of("table", "recall", published=published)


def climb_chart():
    return _dots_of("ladder", "dotmod", climbs=True)


EXAMPLES = {name: draw for name, draw in dict(globals()).items() if name.endswith("_chart")}
EXAMPLES |= {
    "tokens": tokens_matrix,
    "dots_without_line": functools.partial(lines_chart, "dots", charts.distinct(["a", "b"])),
    "opacities": functools.partial(
        lines_chart, "points", (charts.Series("a", opacity=0.5), charts.Series("b"))
    ),
    "line": functools.partial(lines_chart, "line", charts.distinct(["a", "b"])),
    "band": functools.partial(lines_chart, "band", (charts.Series(),)),
}
