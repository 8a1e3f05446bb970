"""Every chart, drawn from little."""

import dataclasses
import functools

import numpy as np
import pandas as pd

from attnlab import charts
from attnlab.comparisons.paired import Share
from attnlab.comparisons.published import part_named
from attnlab.comparisons.summary import References
from attnlab.comparisons.verdicts import rows_of
from attnlab.generators import Outline, RuleTable
from attnlab.generators.vocabulary import WEATHER
from attnlab.known_results import KNOWN_RESULTS, Check, verdict_on
from attnlab.known_results.entry import Plot
from attnlab.known_results.shipped import shipped_numbers
from attnlab.lessons.saturation import Histogram
from attnlab.lessons.sweep import Track
from attnlab.optimum import Best
from attnlab.runs.history import empty_history
from attnlab.training.evaluation import Evaluation
from tests.unit.made_up_results import SHORT, evaluation, finished, row_of

SYMBOLS = WEATHER.symbols
MOVING = ((0.5, 0.3, 0.2), (0.1, 0.8, 0.1), (0.2, 0.2, 0.6))


def curve_chart():
    values = np.array([1.0, 0.9, 0.8, 0.7])
    return charts.curve_chart(
        np.arange(1, 5), values, values / 10, x_title="day", y_title="nats", domain=(0, 2),
        reference=("chance", 1.1),
    )  # fmt: skip


def claim_chart():
    claim = Check("high", "ours", "accuracy", least=0.5, published=0.7)
    return charts.claim_chart(verdict_on(claim, {"ours": {"accuracy": {1: 0.6, 2: 0.4}}}))


def result_chart():
    known = KNOWN_RESULTS["belief-mess3"]
    return charts.result_chart(known, shipped_numbers(known)[1])


def plot_chart():
    points = (("test", 1.0, 0.1), ("test", 10.0, 0.9), ("training", 1.0, 0.5))
    return charts.plot_chart(Plot("Accuracy", "step", "accuracy", "line", points))


def frequency_chart():
    known, counted = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.2, 0.2])
    table = charts.frequency_table(known, counted, known / 10, SYMBOLS)
    return charts.frequency_chart(table, names=SYMBOLS, title="share")


def frequency_map_chart():
    known, names = np.array(MOVING), [f"{a} → {b}" for a in SYMBOLS for b in SYMBOLS]
    table = charts.frequency_table(known.ravel(), known.ravel(), known.ravel() / 10, names)
    return charts.frequency_map_chart(
        table, symbols=SYMBOLS, of="counted", row_title="day 1", column_title="day 2", most=1.0,
    )  # fmt: skip


def rule_chart():
    rule = RuleTable("next", Outline("yesterday", SYMBOLS, "today", SYMBOLS), MOVING)
    return charts.rule_chart(charts.rule_table(rule), rule=rule)


def lines_chart(look="points", series=charts.BY_SCALE):
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


def by_day_chart():
    return charts.by_day_chart(
        np.array([2, 3]), np.array([1.0, 0.5]), np.array([0.1, 0.2]), np.array([0.9, 0.25])
    )


def by_lag_chart():
    return charts.by_lag_chart(np.array([0.1, 0.3, 0.0]), np.array([0.01, 0.02, 0.0]))


def calibration_chart():
    bins = np.array([0.2, 0.5, 0.8])
    return charts.calibration_chart(bins, bins, bins / 10, np.array([5, 6, 7]))


def confusion_chart():
    table = charts.confusion_table(np.arange(9).reshape(3, 3), WEATHER)
    return charts.confusion_chart(table, symbols=SYMBOLS)


def final_query_chart():
    rows = {"attends": np.array([0.2, 0.5, 0.3]), "truth": np.array([0.1, 0.1, 0.8])}
    return charts.final_query_chart(
        charts.final_query_table(rows), rows=tuple(rows), symbols=SYMBOLS, most=1.0,
        title="share",
    )  # fmt: skip


def heads_chart():
    words = charts.MapWords(("head 1", "head 2"), "share of attention", "day attended to")
    rows = {"words": words, "read": 2, "symbols": None}
    two = np.stack([HALVES, HALVES])
    table = charts.heads_table(two, TRIANGLE, heads=(0, 1), trained=True, **rows)
    marks = charts.informative_table([1, 3], 2)
    return charts.heads_chart(table, marks, shape=(3, 3), **rows)


def loss_chart():
    history = empty_history().with_losses(np.linspace(1.1, 0.9, 30).astype(np.float32))
    for step in (0, 30):
        history = history.with_test(step, Evaluation(1.2, 0.01, 0.3, 0.01))
    past = charts.PastCurve("run 1", "#888888", ((0, 1.1), (10, 1.0), (30, 0.9)))
    table = charts.loss_table(
        history, known={"floor": 0.8, "chance": 1.1}, last_step=30, latest=None, cursor=12,
        past=(past,),
    )  # fmt: skip
    return charts.loss_chart(table, last_step=30, past=(past[:2],))


def next_day_chart():
    rows = {"true": np.full(3, 1 / 3), "model": np.array([0.2, 0.3, 0.5])}
    table = charts.next_day_table(rows, WEATHER)
    return charts.next_day_chart(table, symbols=SYMBOLS)


def overview_chart():
    heads = [charts.HeadPicture(name, HALVES, TRIANGLE, "0.1") for name in ("L1 H1", "L1 H2")]
    return charts.overview_chart(
        charts.overview_table([heads], dark=False), lines=1, columns=2, texts=True,
        cell="share of attention",
    )  # fmt: skip


def map_chart():
    table = charts.map_table(HALVES, seen=TRIANGLE, symbols=SYMBOLS, stderr=HALVES / 10)
    return charts.map_chart(
        table, length=3, title="share", titles=("key", "query"), symbols=SYMBOLS, errors=True
    )


def state_chart():
    table = charts.state_table(np.arange(6.0).reshape(3, 2))
    return charts.state_chart(table, length=3, symbols=SYMBOLS)


def time_scale_chart():
    return charts.time_scale_chart(np.array([2.0, 30.0, 0.5]), length=10)


def weight_chart():
    table = charts.weight_table(np.arange(18.0).reshape(2, 3, 3), WEATHER)
    return charts.weight_chart(table, length=2, vocabulary=WEATHER)


# Two gains, two seeds, three looks.
FIGURES = np.linspace(0.6, 0.1, 12).reshape(2, 2, 3)
TRACKS = [
    Track(4, scale, np.array([0, 10, 20]), FIGURES, FIGURES, FIGURES)
    for scale in ("1/sqrt(d)", "none")
]


def component_chart():
    table = charts.component_table(np.arange(8.0).reshape(4, 2))
    return charts.component_chart(table, domain=(0, 8))


def distribution_chart():
    one = Histogram(np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.5, 0.3]), np.full(3, 0.3))
    table = charts.distribution_table({charts.SCALED: one, charts.UNSCALED: one})
    return charts.distribution_chart(table)


def exact_match_chart():
    points = [(3, 8, 0.5, 0.4, 0.6), (5, 8, 0.1, 0.0, 0.2), (3, 16, 0.9, 0.8, 1.0)]
    return charts.exact_match_chart(
        points,
        lengths=(3, 5),
        bits=("14.4", "21.3"),
        widths=(8, 16),
        attends=True,
    )


def fit_chart():
    x = np.linspace(0, 1, 5)
    fit = charts.fit_table(x, x, x**2, 2)
    points = charts.points_table(x[:3], x[:3], np.array([0.2, 0.5, 0.3]))
    return charts.fit_chart(fit, points, x_domain=(0, 1), y_domain=(0, 1), largest=0.5)


def gap_map_chart():
    table = charts.gap_map_table(TRACKS, (0.5, 1.0), "none")
    return charts.gap_map_chart(table, widths=(4,), gains=(0.5, 1.0), most=1.0)


def matrix_chart():
    values = np.array([[1.0, -np.inf, 0.5], [0.0, 2.0, 3.0]])
    return charts.matrix_chart(
        charts.matrix_table(values), shape=(2, 3), row_title="row", column_title="column",
        domain=(-3, 3), ramp=charts.SHARES,
        lit=(charts.Lit("#000000", row=1),),
    )  # fmt: skip


def path_chart():
    table = charts.path_table(np.cos(np.arange(5.0)), np.sin(np.arange(5.0)))
    return charts.path_chart(table, domain=(-1.0, 1.0), x_title="1", y_title="2")


def plane_chart():
    x = np.array([[0.1, 0.2], [0.5, 0.6], [0.9, 0.1]])
    table = charts.plane_table(x, np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.3, 0.5]), 1)
    return charts.plane_chart(table)


def reached_chart():
    table = charts.reached_table(TRACKS, 0.5, 0, 20)
    return charts.reached_chart(table, widths=(4,), last_step=20)


def softmax_chart():
    weights = np.array([0.2, 0.3, 0.5])
    return charts.softmax_chart(charts.softmax_table(weights, weights, weights), keys=3)


def tokens_matrix():
    shares, names = np.array([[0.7, 0.3], [0.2, 0.8]]), (("a", "b"), ("b", "a"))
    table = charts.matrix_table(
        shares, names=names, seen=np.tri(2, dtype=bool), framed=np.eye(2, dtype=bool)
    )
    return charts.matrix_chart(
        table, shape=(2, 2), row_title="target", column_title="source", domain=(0, 1),
        ramp=charts.SHARES, names=names,
    )  # fmt: skip


def training_chart():
    table = charts.training_table(TRACKS, "gap", 0)
    return charts.training_chart(table, y_title="gap", last_step=20, widths=(4,), logarithmic=False)


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
    tests = ((0, evaluation(1.2)), (10, evaluation(1.0)))
    return charts.losses_chart(dict.fromkeys(LABELS, tests), {"floor": 0.9})


def bands_chart():
    return charts.bands_chart(
        charts.bands_table(rows(), LABELS, "loss"),
        charts.each_seed_table(rows(), LABELS, "loss"),
        charts.levels_table(rows(), "loss"),
        measure="loss",
        labels=LABELS,
        log_steps=True,
        log_values=True,
    )


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
    axes = parallel_axes()
    return charts.parallel_chart(
        charts.lines_table(axes, LABELS, (True, False)),
        charts.marks_table(axes),
        titles=("length", "loss"),
    )


def shares_chart():
    shares = [Share(("length",), 0.7, 1, 0.3), Share((), 0.3, 2, 0.7)]
    return charts.shares_chart(charts.shares_table(shares), parts=charts.share_names(shares))


def simplex_chart():
    beliefs = np.random.default_rng(3).dirichlet(np.ones(3), (40, 5))
    plane = charts.plane_of("ABC", beliefs)
    colours = charts.belief_colours(beliefs).reshape(-1, 3)
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
    "line": functools.partial(lines_chart, "line", charts.distinct(["a", "b"])),
    "band": functools.partial(lines_chart, "band", (charts.Series(),)),
}
