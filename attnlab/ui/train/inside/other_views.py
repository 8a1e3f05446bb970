"""Views that are not maps of query against key: alignment, weights, states, influence by lag."""

from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import numpy as np

from attnlab import charts
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import present
from attnlab.generators import AbstractTask, as_task
from attnlab.inspection.targets import alignment_shares
from attnlab.models import HIDDEN_STATES, TIME_SCALES, WEIGHTS_BY_POSITION, AttentionMap, Trace
from attnlab.models.inside import head_name
from attnlab.ui.train.inside.shown import MEAN, InsideView, Shown

_TRUTH = "true alignment"
_SHARE = "share of attention"


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


def _alignment_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    found, (task, sources) = _chosen_map(shown), _task_and_sources(shown)
    count = task.prompt_length()
    heads = len(found.pattern)
    several = len(cross_maps(shown.trace)) > 1
    # The last source position predicts the first target token.
    learned = found.pattern[:, count - 1 :, :count]
    names = tuple(
        head_name(found, head) if several else f"head {head + 1}" for head in range(heads)
    )
    rows: dict[str, Any] = {"names": (*(names if heads > 1 else ("cross-attention",)), _TRUTH)}
    rows |= {"source": None, "target": None}
    if shown.choice.sequence != MEAN:
        symbols = task.vocabulary.symbols
        rows["source"] = tuple(symbols[token] for token in sources[0])
        rows["target"] = tuple(
            symbols[token] for token in task.target_of(jnp.asarray(sources[0])).tolist()
        )
    truth = alignment_shares(task, sources)
    return charts.alignment_chart(learned, truth, cell=_SHARE, **rows, **look)


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
    _alignment_drawing,
    _alignment_how,
    _on_truth_in_words,
)


def _weights_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    vocabulary = shown.snapshot.experiment.generator.vocabulary
    table = charts.weight_table(shown.trace.values[WEIGHTS_BY_POSITION], vocabulary)
    return charts.weight_chart(
        table, vocabulary=vocabulary, length=shown.length, word=shown.word, **look
    )


def _weights_numbers(shown: Shown) -> str:
    vocabulary = shown.snapshot.experiment.generator.vocabulary
    table = charts.weight_table(shown.trace.values[WEIGHTS_BY_POSITION], vocabulary)
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


def _states_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    table = charts.state_table(shown.trace.values[HIDDEN_STATES])
    return charts.state_chart(
        table, symbols=shown.symbols, length=shown.length, word=shown.word, **look
    )


def _states_how(shown: Shown) -> str:
    is_task = shown.snapshot.experiment.generator.prompt_length() > 0
    predicted = "last target token is predicted" if is_task else "prediction is made"
    return (
        f"Columns are the model's states after each {shown.word}, rows are components. The "
        f"{predicted} from column {shown.read + 1}. This model has no attention."
    )


def _scales_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    scales = shown.trace.values[TIME_SCALES]
    return charts.time_scale_chart(scales, length=shown.length, word=shown.word, **look)


def _scales_numbers(shown: Shown) -> str:
    scales = shown.trace.values[TIME_SCALES]
    return f"From {scales.min():.2g} to {scales.max():.2g} {shown.word}s."


def _scales_how(shown: Shown) -> str:
    return (
        f"How many {shown.word}s each component of the state takes to fall to 1/e: −1/log of the "
        f"eigenvalue. The line marks the {shown.length} visible {shown.word}s: components that "
        "fade much faster are gone before the prediction."
    )


def _lags_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    rows = [row[: shown.read + 1] for row in shown.influence_row]
    return charts.by_lag_chart(*rows, word=shown.word, **look)


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
            _weights_drawing,
            _weights_how,
            _weights_numbers,
        ),
        "hidden states": InsideView(
            lambda inside: HIDDEN_STATES in inside.trace.values,
            lambda shown: "Hidden states",
            _states_drawing,
            _states_how,
        ),
        "time scales": InsideView(
            lambda inside: TIME_SCALES in inside.trace.values,
            lambda shown: "Time scales of the components of the state",
            _scales_drawing,
            _scales_how,
            _scales_numbers,
        ),
        "by lag": InsideView(
            lambda inside: bool(inside.influence) and HIDDEN_STATES in inside.trace.values,
            lambda shown: f"By lag: influence of each {shown.word} on the prediction",
            _lags_drawing,
            _lags_how,
            _lags_numbers,
        ),
    }
)
