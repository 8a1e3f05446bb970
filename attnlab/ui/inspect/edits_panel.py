"""Inspect: mean patterns of all heads, and the effect of replacing each head's pattern."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import overview_chart, overview_table
from attnlab.configuration.number_text import show_measured
from attnlab.generators import is_task, loss_mask_of
from attnlab.inspection import Ablation, Effect, ablations, can_align, replacements
from attnlab.inspection.ablation import REMOVED
from attnlab.live.jobs import JobState
from attnlab.models import AbstractModel, Trace
from attnlab.models.inside import heads_of, layer_name
from attnlab.training.experiment import Experiment
from attnlab.ui.core.display import on_dark
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, forget_job, job_of, start_job
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.inspect.view import known_truth, mean_patterns
from attnlab.ui.train.inside.maps import head_picture

# Number of columns, so that names fit on a phone; heights in pixels.
_MOST_COLUMNS, _LINE_HEIGHT, _LEGEND_HEIGHT = 6, 150, 24


# A head: the kind of its map, its layer, and its index in the layer (both from 0).
Head = tuple[str, int, int]
_WORK = "edits"
# Number of sequences whose mean patterns are drawn.
_SEQUENCES = 256
_TRUTH = (
    "**Truth**: attention in proportion to what the true prediction depends on. If the loss falls, "
    "the head's own pattern was worse; if it rises, that proves nothing."
)
_ALIGNMENT = (
    "**Alignment**: all attention is on the source token that the target token comes from. “–”: "
    "the head does not look at the source."
)


def removals_of_all(found: Iterable[Ablation]) -> dict[Head, Effect]:
    """Return the effect of removing each head, for maps of every kind, the most costly first."""
    removed = [each for each in found if each.by == REMOVED]
    removed.sort(key=lambda each: each.effect.nll_change, reverse=True)
    return {(each.kind, each.layer, each.head): each.effect for each in removed}


def draw_heads(trace: Trace, removed: Mapping[Head, Effect], *, of: int) -> None:
    """Draw each head's mean pattern over `of` sequences, above the cost of removing the head.

    `removed` has the effects known so far, the largest loss first; the other heads are drawn last.
    """
    pictures = {
        (found.kind, found.layer, head): head_picture(found, head)
        for found in trace.attention
        for head in range(len(found.pattern))
    }
    heads = [*removed, *(head for head in pictures if head not in removed)]
    shown = [
        pictures[head]._replace(
            text=show_measured(effect.nll_change, effect.nll_change_stderr)
            if (effect := removed.get(head))
            else ""
        )
        for head in heads
    ]
    lines = [shown[first : first + _MOST_COLUMNS] for first in range(0, len(shown), _MOST_COLUMNS)]
    order = "by cost of removal" if removed else "by layer"
    with st.container(key="chart_heads"):
        draw_chart(
            overview_chart(
                overview_table(lines, dark=on_dark()),
                lines=len(lines),
                columns=len(lines[0]),
                texts=True,
                cell="share of attention",
                height=_LEGEND_HEIGHT + _LINE_HEIGHT * len(lines),
            ),
            name="Mean patterns of all heads",
            alt=f"Mean attention patterns of all {len(heads)} heads, {order}.",
        )
    st.caption(
        f"How to read it: each map is the mean pattern of a head over {of:,} test sequences. A "
        f"number below a map is the loss added by removing the head, in nats."
    )


def draw_edits(
    experiment: Experiment,
    model: AbstractModel,
    test: np.ndarray,
    earlier: Mapping[int, AbstractModel],
) -> None:
    """Draw all heads and the effects of replacing their patterns, if the model has heads.

    `earlier` has models of the same run by step, whose patterns can replace this model's patterns.
    """
    if not model.has_heads:
        return
    with st.expander("Edit the forward pass", key="edits_panel", icon=":material/edit:"):
        st.markdown(
            "Which heads matter? Replace the pattern of one head at a time, and test the model "
            "again without training it."
        )
        process = experiment.generator
        task = process if is_task(process) else None
        known = known_truth(experiment) if task is None else None
        if task is None and known is None:
            st.caption(":material/hourglass_top: Computing the true dependence …")
            return
        frozen = None
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if earlier:
                steps = list(earlier)
                frozen = earlier[
                    st.selectbox(
                        "step of the frozen pattern",
                        steps,
                        len(steps) // 2,
                        format_func="{:,}".format,
                        key="frozen_step",
                        width=200,
                    )
                ]
            # Keep the models, not their ids: Python may reuse the id of a deleted object.
            replaced = (model, frozen)
            job = job_of(_WORK)
            if job and any(now is not then for now, then in zip(replaced, job.of, strict=True)):
                forget_job(_WORK)
            make = partial(
                ablations,
                model,
                test,
                None if known is None else known[0].replacement,
                experiment.training.readout,
                earlier=frozen,
                task=task,
                loss_mask=loss_mask_of(experiment.generator, test),
            )
            start = partial(start_job, _WORK, make, of=replaced)
            draw_job_buttons(_WORK, "Replace each head", start)
        ways = replacements(has_earlier=frozen is not None, is_task=task is not None)
        trace = mean_patterns(model, test[:_SEQUENCES, :-1])
        shown = {"trace": trace, "ways": ways, "size": len(test), "is_task": task is not None}
        shown["word"] = process.position_word
        shown["which"] = ", all predicted tokens" * experiment.generator.has_loss_mask()
        count = len(heads_of(trace)) * len(ways)
        if task is not None:
            count -= sum(not can_align(trace.attention[place]) for place, _ in heads_of(trace))
        draw_job(
            _WORK,
            partial(_draw, **shown),
            failed="The computation",
            progress=lambda found: (len(found or ()) / count, ""),
        )


def _draw(
    state: JobState | None,
    *,
    trace: Trace,
    ways: Sequence[str],
    size: int,
    is_task: bool,
    word: str,
    which: str,
) -> None:
    found: tuple[Ablation, ...] = (state and state.latest) or ()
    draw_heads(trace, removals_of_all(found), of=min(size, _SEQUENCES))
    if not found:
        return
    for title, figure in (("loss (nats)", "nll"), ("accuracy", "accuracy")):
        st.markdown(f"**Change of the {title}**")
        with st.container(key=f"edits_{figure}"):
            st.table(ablation_table(found, figure, ways))
    st.caption(
        "How to read it: after minus before, ± one standard error of the difference over "
        f"{size:,} test sequences{which}. Changes of several heads do not add up.",
        help="**Removed**: the head's output is 0. **Uniform**: equal attention to every unmasked "
        f"{word}. **Mean**: its mean pattern over test sequences. "
        f"{_ALIGNMENT if is_task else _TRUTH.format(word=word)} **Frozen**: its mean pattern at "
        "the earlier step. One head can make up for another.",
    )


def ablation_table(found: Sequence[Ablation], figure: str, ways: Sequence[str]) -> pd.DataFrame:
    """Return a table with a row per head, the most costly first, and a column per replacement.

    `figure` names the shown attribute of the effects, and `ways` are the replacements.
    """
    cells = {
        (each.kind, each.layer, each.head, each.by): _change(
            getattr(each.effect, f"{figure}_change"),
            getattr(each.effect, f"{figure}_change_stderr"),
        )
        for each in found
    }
    heads = list(removals_of_all(found))
    done = {(each.kind, each.layer, each.head) for each in found[:-1] if each.by != found[-1].by}
    last = found[-1]
    current = (last.kind, last.layer, last.head)

    def missing(head: tuple[str, int, int], by: str) -> str:
        # A head that is finished only lacks replacements that are impossible for it.
        return "–" if head in done and head != current else "…"

    rows = [[cells.get((*head, by), missing(head, by)) for by in ways] for head in heads]
    several = len({head[:2] for head in heads}) > 1
    names = [
        f"layer {layer_name(layer, kind)}, head {head + 1}" if several else f"head {head + 1}"
        for kind, layer, head in heads
    ]
    return pd.DataFrame(rows, index=names, columns=list(ways))


def _change(change: float, stderr: float) -> str:
    return "unchanged" if stderr == 0 else show_measured(change, stderr)
