"""Learned attention of small models beside the true alignment, and the kinds of attention."""

from typing import Any

import streamlit as st

from attnlab.charts import SHARES, TRUTHS, Matrix, matrix_chart
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractTask, as_task, read_source
from attnlab.lessons.small_models import (
    ALIGNED_FAMILIES,
    ALIGNED_TASKS,
    WrittenTarget,
    aligning,
    share_aligned,
    small_model,
    write_target,
)
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.lessons import kit

_WHAT = {
    "copy": "The same letters: token j comes from position j.",
    "reverse": "Backwards: token j comes from position n + 1 − j.",
    "sort": "In alphabetical order: where a token comes from depends on all letters.",
}
_BEGIN = "⊢"
_TITLES = ("query: target token", "key: source token")
_KINDS = {
    "source": (
        "Self-attention of the encoder",
        "Queries, keys and values come from the source. Every token attends to all of them.",
        ("query: source", "key: source"),
    ),
    "self": (
        "Masked self-attention of the decoder",
        "Queries and keys come from the target. The mask hides later tokens.",
        ("query: target", "key: target so far"),
    ),
    "cross": (
        "Cross-attention",
        "Queries come from the target, keys and values from the source. There is no mask.",
        ("query: target", "key: source"),
    ),
}
# Shown while a model's program is compiled, which takes some seconds the first time.
_WAITING = "Running the small models …"


def draw_source(task: AbstractTask, default: str, *, key: str) -> tuple[int, ...]:
    """Draw a field for a source; return its tokens, or the default's if the source is invalid."""
    letters, count = task.vocabulary, task.source_length
    label = f"source: {count} letters from a to {letters.symbols[-1]}"
    text = linked(st.text_input, label, default, key=key, width=260, max_chars=40, **kit.KEPT)
    try:
        return tuple(read_source(task, text).tolist())
    except OptionError as error:
        draw_error(f"{error} Shown is {default}.")
        return tuple(read_source(task, default).tolist())


def draw_alignments() -> None:
    """Draw controls, and for each task the learned attention and the true alignment as maps."""
    st.markdown(
        "One small model per task writes a target from your source. Violet shows the attention "
        "weights of each target token. Dashed frames mark the **true alignment**: the source token "
        "that each target token comes from."
    )
    with kit.control_row():
        family = kit.choose("model", ALIGNED_FAMILIES, key="align_model", **kit.KEPT)
        task = as_task(aligning("copy", family).generator)
        tokens = draw_source(task, "fbhdbc", key="align_source")
    experiments = [aligning(task, family) for task in ALIGNED_TASKS]
    with st.spinner(_WAITING):
        found = [write_target(experiment, tokens) for experiment in experiments]
    for experiment, each in kit.in_columns(zip(experiments, found, strict=True)):
        _draw_task(experiment, each)
    st.caption(
        "Rows are target tokens, columns are source tokens. Each row of the attention sums to 1; "
        "in grey maps 1 means yes and 0 means no."
    )
    _draw_meaning()


@panel("Alignment is not dependence", key="align_meaning", icon="call_split")
def _draw_meaning() -> None:
    st.markdown(
        "For `copy` and `reverse` a target token depends only on the source token that it comes "
        "from. A sorted letter *comes from* one position, or from equal letters. But *which* "
        "letter is next depends on all that are not yet written: any of them, if it were "
        "smaller, would come first. So a model that sorts has to use them all, whatever one row "
        "of its attention shows.\n\n"
        "A state of the encoder may contain more than its own letter. So the letter can be right "
        "although the attention is elsewhere."
    )
    st.caption(
        "These models come with attnlab, trained for 2,000 steps with batches of 64 sequences. In "
        "these maps they read the true target so far. Test shares and exact matches are over 500 "
        "sources, ± one standard error."
    )


def _draw_task(experiment: Experiment, found: WrittenTarget) -> None:
    task, letters = experiment.generator.name, experiment.generator.vocabulary.symbols
    small, pattern = small_model(experiment), found.maps["cross"].pattern
    columns, rows = (tuple(letters[t] for t in each) for each in (found.source, found.target))
    st.markdown(f"**{task}** {_WHAT[task]} {kit.link_to_settings(experiment)}")
    pairs = enumerate(zip(found.tokens, found.target, strict=True), 1)
    wrong = ", ".join(f"{n} ({letters[token]})" for n, (token, true) in pairs if token != true)
    st.caption(
        f"{''.join(columns)} → {''.join(rows)}, "
        f"{f'wrong at {wrong}' if wrong else 'all correct'}. "
        f"{show_percent(share_aligned(pattern, found.alignment))} of the attention is on the "
        f"true alignment ({show_percent(small.aligned)} over test sources). Exact match "
        f"{100 * small.exact_match:.1f} ± {100 * small.exact_match_stderr:.1f} %."
    )
    truths = {"True alignment": found.alignment}
    if task == "sort":
        truths["True dependence"] = found.dependence
    of_truth = {"ramp": TRUTHS, "meaning": "1: yes, 0: no"}
    maps = [("Learned attention", pattern, {"framed": found.alignment})]
    maps += [(title, truth.astype(float), of_truth) for title, truth in truths.items()]
    for title, shares, look in maps:
        st.markdown(title)
        matrix = Matrix(f"{title} of {task}", shares, *_TITLES, shares=True)
        _draw_map(matrix, (rows, columns), about=f"{matrix.title}, target by source", **look)
    if task == "sort":
        counts = (int(truth[0].sum()) for truth in truths.values())
        taken, depends = (f"{count} position{'' if count == 1 else 's'}" for count in counts)
        st.markdown(f"The first token, {rows[0]}, comes from {taken} and depends on {depends}.")


def draw_maps() -> None:
    """Draw controls, and the maps of self-, masked and cross-attention for one task."""
    st.markdown(
        "Three kinds of attention use the same formula. They differ in the mask and in the "
        "sources of queries, keys and values."
    )
    with kit.control_row():
        task = kit.choose("task", ALIGNED_TASKS, "reverse", key="maps_task", **kit.KEPT)
        experiment = aligning(task, "encoder-decoder")
        tokens = draw_source(as_task(experiment.generator), "hacebd", key="maps_source")
    with st.spinner(_WAITING):
        found = write_target(experiment, tokens)
    letters = experiment.generator.vocabulary.symbols
    source = tuple(letters[token] for token in found.source)
    read = (_BEGIN, *(letters[token] for token in found.target[:-1]))
    axes = {"source": (source, source), "self": (read, read), "cross": (read, source)}
    for kind, (title, says, titles) in kit.in_columns(_KINDS.items()):
        pattern, mask = found.maps[kind]
        st.markdown(f"**{title}** {says}")
        matrix = Matrix(title, pattern, *titles, shares=True)
        _draw_map(matrix, axes[kind], about=f"{title} of {task}", seen=mask)
    st.caption(
        "Rows are queries, columns are keys; each row sums to 1. A decoder row reads a token "
        f"({_BEGIN} at the beginning) and writes the next one. "
        f"{kit.link_to_settings(experiment)}"
    )


def _draw_map(
    matrix: Matrix, names: tuple[tuple[str, ...], tuple[str, ...]], *, about: str, **look: Any
) -> None:
    """Draw a map; its text alternative is `about` and the largest share of each row.

    `names` are the tokens of rows and columns.
    """
    rows, columns = names
    most = "; ".join(
        f"{at + 1} {rows[at]}: {key + 1} {columns[key]} ({matrix.values[at, key]:.2f})"
        for at, key in enumerate(matrix.values.argmax(axis=1))
    )
    look = {"ramp": SHARES, "meaning": "share of attention"} | look
    alt = f"{about}. Largest in each row: {most}"
    draw_chart(matrix_chart(matrix, names=names, **look), name=matrix.title, alt=alt)
