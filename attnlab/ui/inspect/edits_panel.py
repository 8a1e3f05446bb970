"""Mean patterns of all heads, and the effect of replacing each head's pattern."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import overview_chart
from attnlab.configuration.number_text import show_measured
from attnlab.generators import is_task, loss_mask_of
from attnlab.inspection import Ablation, Effect, ablations, can_align, removals, replacements
from attnlab.live.jobs import JobState
from attnlab.models import AbstractModel, Trace
from attnlab.models.inside import heads_of, layer_name
from attnlab.training.experiment import Experiment
from attnlab.ui.core.display import on_dark
from attnlab.ui.core.figures import waiting
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, forget_job, job_of, start_job
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.inspect.view import known_truth, mean_patterns
from attnlab.ui.train.inside.maps import head_picture

# Number of columns, so that names fit on a phone; heights in pixels.
_MOST_COLUMNS, _LINE_HEIGHT, _LEGEND_HEIGHT = 6, 150, 24
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
    panel = st.expander("Which heads matter?", key="edits_panel", icon=":material/edit:")
    with panel, waiting():
        st.markdown(
            "Replace the pattern of one head at a time, and test the model again without training "
            "it."
        )
        process, truth = experiment.generator, None
        task = process if is_task(process) else None
        if task is None and (known := known_truth(experiment)[0]) is not None:
            truth = known.replacement
        frozen = None
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if earlier:
                steps = list(earlier)
                step = st.selectbox(
                    "step of the frozen pattern",
                    steps,
                    len(steps) // 2,
                    format_func="{:,}".format,
                    key="frozen_step",
                    width=200,
                )
                frozen = earlier[step]
            # Keep the models, not their ids: Python may reuse the id of a deleted object.
            replaced = (model, frozen)
            job = job_of(_WORK)
            if job and any(now is not then for now, then in zip(replaced, job.of, strict=True)):
                forget_job(_WORK)
            make = partial(
                ablations,
                model,
                test,
                truth,
                experiment.training.readout,
                earlier=frozen,
                task=task,
                loss_mask=loss_mask_of(process, test),
            )
            draw_job_buttons(
                _WORK, "Replace each head", partial(start_job, _WORK, make, of=replaced)
            )
        ways = replacements(
            has_earlier=frozen is not None, is_task=task is not None, has_law=process.has_law
        )
        trace = mean_patterns(model, test[:_SEQUENCES, :-1])
        heads = heads_of(trace)
        count = len(heads) * len(ways)
        if task is not None:
            count -= sum(not can_align(trace.attention[place]) for place, _ in heads)
        draw_job(
            _WORK,
            partial(_draw, experiment=experiment, trace=trace, ways=ways, size=len(test)),
            failed="The computation",
            progress=lambda found: (len(found or ()) / count, ""),
        )


def _draw(
    state: JobState | None,
    *,
    experiment: Experiment,
    trace: Trace,
    ways: Sequence[str],
    size: int,
) -> None:
    found: tuple[Ablation, ...] = (state and state.latest) or ()
    _draw_heads(trace, removals(found), of=min(size, _SEQUENCES))
    if not found:
        return
    for title, figure in (("loss (nats)", "nll"), ("accuracy", "accuracy")):
        st.markdown(f"**Change of the {title}**")
        with st.container(key=f"edits_{figure}"):
            st.table(ablation_table(found, figure, ways))
    process = experiment.generator
    which = ", all predicted tokens" * process.has_loss_mask()
    st.caption(
        "How to read it: after minus before, ± one standard error of the difference over "
        f"{size:,} test sequences{which}. Changes of several heads do not add up.",
        help="**Removed**: the head's output is 0. **Uniform**: equal attention to every unmasked "
        f"{process.position_word}. **Mean**: its mean pattern over test sequences. "
        f"{_ALIGNMENT if is_task(process) else _TRUTH * process.has_law} **Frozen**: its mean "
        "pattern at the earlier step. One head can make up for another.",
    )


def _draw_heads(trace: Trace, removed: Mapping[tuple, Effect], *, of: int) -> None:
    """Draw each head's mean pattern over `of` sequences, above the cost of removing the head.

    `removed` has the effects known so far, the largest loss first; the other heads are drawn last.
    """
    costs = {head: show_measured(*effect.nll_change) for head, effect in removed.items()}
    pictures = {
        (found.kind, found.layer, head): head_picture(found, head)
        for found in trace.attention
        for head in range(len(found.pattern))
    }
    shown = [
        pictures[head]._replace(text=costs.get(head, ""))
        for head in dict.fromkeys([*costs, *pictures])
    ]
    lines = [shown[first : first + _MOST_COLUMNS] for first in range(0, len(shown), _MOST_COLUMNS)]
    order = "by cost of removal" if removed else "by layer"
    with st.container(key="chart_heads"):
        draw_chart(
            overview_chart(
                lines,
                cell="share of attention",
                texts=True,
                dark=on_dark(),
                height=_LEGEND_HEIGHT + _LINE_HEIGHT * len(lines),
            ),
            name="Mean patterns of all heads",
            alt=f"Mean attention patterns of all {len(shown)} heads, {order}.",
        )
    st.caption(
        f"How to read it: each map is the mean pattern of a head over {of:,} test sequences. A "
        f"number below a map is the loss added by removing the head, in nats."
    )


def ablation_table(found: Sequence[Ablation], figure: str, ways: Sequence[str]) -> pd.DataFrame:
    """Return a table with a row per head, the most costly first, and a column per replacement.

    `figure` is `nll` or `accuracy`, and `ways` are the replacements.
    """
    cells = {}
    for each in found:
        change = getattr(each.effect, f"{figure}_change")
        cells[each.place, each.by] = "unchanged" if change.stderr == 0 else show_measured(*change)
    heads, current = list(removals(found)), found[-1]
    done = {each.place for each in found if each.by != current.by} - {current.place}
    # A head that is finished only lacks replacements that are impossible for it.
    rows = [[cells.get((head, by), "–" if head in done else "…") for by in ways] for head in heads]
    several = len({head[:2] for head in heads}) > 1
    names = [
        f"layer {layer_name(layer, kind)}, " * several + f"head {head + 1}"
        for kind, layer, head in heads
    ]
    return pd.DataFrame(rows, index=names, columns=list(ways)).rename_axis("head")
