"""The view of cross-attention, from target to source tokens, with the true alignment."""

from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import numpy as np

from attnlab.charts import Drawing, alignment_chart
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import present
from attnlab.generators import AbstractTask, as_task
from attnlab.inspection.targets import alignment_shares
from attnlab.models import AttentionMap, Trace
from attnlab.models.inside import head_name
from attnlab.ui.train.inside.shown import ALIGNMENT, MEAN, InsideView, Shown

_TRUTH = "true alignment"
_SHARE = "share of attention"


def cross_maps(trace: Trace) -> tuple[AttentionMap, ...]:
    """Return the cross-attention maps of a trace, first layer first."""
    return tuple(found for found in trace.attention if found.kind == "cross")


def _chosen(shown: Shown) -> AttentionMap:
    maps = cross_maps(shown.trace)
    return maps[min(shown.choice.place, len(maps) - 1)]


def _task_and_sources(shown: Shown) -> tuple[AbstractTask, np.ndarray]:
    task, probes = as_task(shown.snapshot.experiment.generator), present(shown.snapshot.probes)
    if shown.choice.sequence != MEAN:
        probes = probes[[int(shown.choice.sequence)]]
    return task, probes[:, : task.given()]


def _drawing(shown: Shown, **look: Any) -> Drawing:
    found, (task, sources) = _chosen(shown), _task_and_sources(shown)
    count = task.given()
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
    return alignment_chart(learned, alignment_shares(task, sources), cell=_SHARE, **rows, **look)


def _alternative(shown: Shown) -> str:
    count = shown.snapshot.experiment.generator.given()
    alternative = f"Alignment of {count} target tokens to {count} source tokens, with the true one."
    return alternative + (f" {_on_truth_in_words(shown)}" if shown.at_rest else "")


def _on_truth_in_words(shown: Shown) -> str:
    if shown.inside.on_truth is None:
        return ""
    shares = shown.inside.on_truth[min(shown.choice.place, len(cross_maps(shown.trace)) - 1)]
    if len(shares) == 1:
        return f"On the true alignment: {show_percent(shares[0])} of the attention."
    best = int(shares.argmax())
    share = show_percent(shares[best])
    return f"Head {best + 1} puts most on the true alignment: {share} of its attention."


def _how(shown: Shown) -> str:
    many = len(present(shown.snapshot.probes)) if shown.choice.sequence == MEAN else 1
    over = f"means over {many} sequences" if many > 1 else "those of this sequence"
    return (
        "Rows are target tokens, columns are source tokens; each row sums to 100 %. Grey: the "
        f"source tokens that the target token comes from. {_on_truth_in_words(shown)} Shares are "
        f"{over}."
    )


ALIGNMENT_VIEWS = MappingProxyType(
    {
        ALIGNMENT: InsideView(
            lambda inside: bool(cross_maps(inside.trace)),
            lambda shown: "Alignment",
            _drawing,
            _alternative,
            _how,
        ),
    }
)
