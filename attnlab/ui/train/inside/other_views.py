"""Views that are not maps of query against key: alignment, weights, states, influence by lag."""

from types import MappingProxyType

import jax.numpy as jnp
import numpy as np
import pandas as pd

from attnlab import charts
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import present
from attnlab.generators import AbstractTask, as_task
from attnlab.inspection.targets import alignment_shares
from attnlab.models import HIDDEN_STATES, TIME_SCALES, WEIGHTS_BY_POSITION, AttentionMap, Trace
from attnlab.models.inside import head_name
from attnlab.ui.train.inside.shown import MEAN, InsideView, Shown


def cross_maps(trace: Trace) -> tuple[AttentionMap, ...]:
    """Return the cross-attention maps of a trace, first layer first."""
    return tuple(found for found in trace.attention if found.kind == "cross")


def _chosen_map(shown: Shown) -> AttentionMap:
    maps = cross_maps(shown.trace)
    return maps[min(shown.choice.place, len(maps) - 1)]


def _task_and_sources(shown: Shown) -> tuple[AbstractTask, np.ndarray]:
    task, probes = as_task(shown.snapshot.experiment.generator), present(shown.snapshot.probes)
    if shown.choice.sequence != MEAN:
        probes = probes[[int(shown.choice.sequence)]]
    return task, probes[:, : task.prompt_length()]


def _alignment_chart(shown: Shown, height: int) -> charts.Drawing:
    found, (task, sources) = _chosen_map(shown), _task_and_sources(shown)
    count, heads = task.prompt_length(), range(len(found.pattern))
    if len(heads) == 1:
        names = ["cross-attention"]
    elif len(cross_maps(shown.trace)) > 1:
        names = [head_name(found, head) for head in heads]
    else:
        names = [f"head {head + 1}" for head in heads]
    source = target = None
    if shown.choice.sequence != MEAN:
        symbols, tokens = task.vocabulary.symbols, jnp.asarray(sources[0])
        source = tuple(symbols[token] for token in sources[0])
        target = tuple(symbols[token] for token in task.target_of(tokens).tolist())
    return charts.alignment_chart(
        # The last source position predicts the first target token.
        found.pattern[:, count - 1 :, :count],
        alignment_shares(task, sources),
        names=(*names, "true alignment"),
        cell="share of attention",
        source=source,
        target=target,
        height=height,
    )


def _on_truth_in_words(shown: Shown) -> str:
    if shown.inside.on_truth is None:
        return ""
    shares = shown.inside.on_truth[min(shown.choice.place, len(cross_maps(shown.trace)) - 1)]
    if len(shares) == 1:
        return f"On the true alignment: {show_percent(shares[0])} of the attention."
    best = int(shares.argmax())
    share = show_percent(shares[best])
    return f"Head {best + 1} has the largest share of attention on the true alignment: {share}."


def _alignment_how(shown: Shown) -> str:
    many = len(present(shown.snapshot.probes)) if shown.choice.sequence == MEAN else 1
    over = f"means over {many} sequences" if many > 1 else "those of this sequence"
    return (
        "Rows are target tokens, columns are source tokens; each row sums to 100 %. Grey: the "
        f"source tokens that the target token comes from. {_on_truth_in_words(shown)} Shares are "
        f"{over}."
    )


ALIGNMENT_VIEW = InsideView(
    lambda inside: bool(cross_maps(inside.trace)),
    lambda shown: f"Alignment of {_task_and_sources(shown)[0].prompt_length()} target tokens",
    _alignment_chart,
    _alignment_how,
    _on_truth_in_words,
)


def _weight_table(shown: Shown) -> pd.DataFrame:
    """Return the weights by position and pair of tokens, centred over the predicted tokens."""
    weights = shown.trace.values[WEIGHTS_BY_POSITION].astype(float)
    symbols = shown.snapshot.experiment.generator.vocabulary.symbols
    centred = weights - weights.mean(axis=2, keepdims=True)
    pairs = [(seen, outcome) for outcome in symbols for seen in symbols]
    table = charts.cells_table(
        ("day", range(1, len(weights) + 1)),
        ("row", range(len(pairs))),
        weight=centred.swapaxes(1, 2).reshape(len(weights), -1),
    )
    seen, outcome = zip(*(pairs[row] for row in table["row"]), strict=True)
    return table.assign(seen=seen, outcome=outcome)


def _weights_chart(shown: Shown, height: int) -> charts.Drawing:
    symbols = shown.snapshot.experiment.generator.vocabulary.symbols
    names = tuple(f"{seen} → {outcome}" for outcome in symbols for seen in symbols)
    return charts.heatmap_chart(
        _weight_table(shown),
        x=charts.Side("day", shown.word, tuple(range(1, shown.length + 1))),
        y=charts.Side("row", "token seen → token predicted", tuple(range(len(names))), names),
        shades=(charts.Shade("weight (nats)", charts.SIGNED, None),),
        tips=(
            ("day", shown.word, ""),
            ("seen", "token seen", ""),
            ("outcome", "token predicted", ""),
            ("weight", "weight (nats)", "+.3f"),
        ),
        value="weight",
        height=height,
    )


def _weights_numbers(shown: Shown) -> str:
    table = _weight_table(shown)
    largest = table.loc[table["weight"].abs().idxmax()]
    return (
        f"The largest, {largest['weight']:+.2f} nats, belongs to {largest['seen']} on {shown.word} "
        f"{largest['day']} for {largest['outcome']}."
    )


def _weights_how(shown: Shown) -> str:
    return (
        "Each cell is a token's contribution to an outcome's logit, minus the mean over outcomes. "
        f"Compare tokens within one {shown.word} only: the bias absorbs shifts between "
        f"{shown.word}s. This model has no attention."
    )


def _states_chart(shown: Shown, height: int) -> charts.Drawing:
    states = shown.trace.values[HIDDEN_STATES].astype(float)
    # In a long sequence only every second position is drawn, or fewer.
    every = charts.block_of(len(states))
    days = tuple(range(every, len(states) + 1, every))
    components = tuple(range(1, states.shape[1] + 1))
    names = charts.position_names(days, shown.symbols)
    look = (("ticks", True), ("domain", True), ("values", components))
    return charts.heatmap_chart(
        charts.cells_table(
            ("component", components), ("day", days), state=states[every - 1 :: every].T
        ),
        x=charts.Side("day", f"after {shown.word}", days, names, charts.HUES.truth),
        y=charts.Side("component", "component", components, look=look),
        shades=(charts.Shade("state", charts.SIGNED, None),),
        tips=(("day", shown.word, ""), ("component", "component", ""), ("state", "state", "+.3f")),
        value="state",
        height=height,
    )


def _states_how(shown: Shown) -> str:
    is_task = shown.snapshot.experiment.generator.prompt_length() > 0
    predicted = "last target token is predicted" if is_task else "prediction is made"
    return (
        f"Columns are the model's states after each {shown.word}, rows are components. The "
        f"{predicted} from column {shown.read + 1}. This model has no attention."
    )


def _scales_chart(shown: Shown, height: int) -> charts.Drawing:
    scales = shown.trace.values[TIME_SCALES]
    order, places = np.argsort(-scales, kind="stable"), np.arange(1, len(scales) + 1)
    return charts.lines_chart(
        charts.series_table("", places, scales[order]).assign(component=order + 1),
        charts.level_table({f"{shown.length} {shown.word}s": float(shown.length)}, places),
        x=charts.Scale("component, longest first", kind="ordinal"),
        y=charts.Scale(f"time scale ({shown.word}s)", ".3~g", kind="log", domain=(0.1, 1000)),
        look="dots",
        tips=(("component", "component", "d"),),
        height=height,
    )


def _scales_numbers(shown: Shown) -> str:
    scales = shown.trace.values[TIME_SCALES]
    return f"From {scales.min():.2g} to {scales.max():.2g} {shown.word}s."


def _scales_how(shown: Shown) -> str:
    return (
        f"How many {shown.word}s each component of the state takes to fall to 1/e: −1/log of the "
        f"eigenvalue. The line marks the {shown.length} visible {shown.word}s: components that "
        "fade much faster are gone before the prediction."
    )


def _lags_chart(shown: Shown, height: int) -> charts.Drawing:
    # From the query, with lag 0, back to the first position.
    influence, stderr = (row[shown.read :: -1] for row in shown.influence_row)
    lags = np.arange(len(influence))
    return charts.lines_chart(
        charts.series_table("", lags, influence, stderr).assign(day=lags[::-1] + 1),
        x=charts.Scale(f"{shown.word}s before the query", "d", labels="d"),
        y=charts.Scale("influence (total variation)", ".1%", labels="%"),
        tips=(("error", "± standard error", ".1%"), ("day", shown.word, "d")),
        height=height,
    )


def _lags_numbers(shown: Shown) -> str:
    influence = shown.influence_row[0]
    last, first = show_percent(influence[shown.read]), show_percent(influence[0])
    return f"The last {shown.word} changes it by {last}, the first by {first}."


def _lags_how(shown: Shown) -> str:
    return (
        f"How much the prediction changes when a {shown.word} at each distance from the query is "
        "resampled: total variation ± one standard error. A value of 0 means that the "
        f"{shown.word} is forgotten or carries no information."
    )


VALUE_VIEWS = MappingProxyType(
    {
        "weights": InsideView(
            lambda inside: WEIGHTS_BY_POSITION in inside.trace.values,
            lambda shown: "Weights of the linear model",
            _weights_chart,
            _weights_how,
            _weights_numbers,
        ),
        "hidden states": InsideView(
            lambda inside: HIDDEN_STATES in inside.trace.values,
            lambda shown: "Hidden states",
            _states_chart,
            _states_how,
        ),
        "time scales": InsideView(
            lambda inside: TIME_SCALES in inside.trace.values,
            lambda shown: "Time scales of the components of the state",
            _scales_chart,
            _scales_how,
            _scales_numbers,
        ),
        "by lag": InsideView(
            lambda inside: bool(inside.influence) and HIDDEN_STATES in inside.trace.values,
            lambda shown: f"By lag: influence of each {shown.word} on the prediction",
            _lags_chart,
            _lags_how,
            _lags_numbers,
        ),
    }
)
