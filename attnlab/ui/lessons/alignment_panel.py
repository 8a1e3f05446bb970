"""Learned attention of small models beside the true alignment, and the kinds of attention."""

from typing import Any

import streamlit as st

from attnlab.charts import SHARES, TRUTHS, matrix_table
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
from attnlab.ui.lessons.kit import KEPT, Grid, choose, control_row, draw_matrix, link_to_settings

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
    text = linked(st.text_input, label, default, key=key, width=260, max_chars=40, **KEPT)
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
    with control_row():
        family = choose("model", ALIGNED_FAMILIES, key="align_model", **KEPT)
        task = as_task(aligning("copy", family).generator)
        tokens = draw_source(task, "fbhdbc", key="align_source")
    experiments = [aligning(task, family) for task in ALIGNED_TASKS]
    with st.spinner(_WAITING):
        found = [write_target(experiment, tokens) for experiment in experiments]
    for column, experiment, each in zip(
        st.columns(3, gap="medium"), experiments, found, strict=True
    ):
        with column:
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
    st.markdown(f"**{task}** {_WHAT[task]} {link_to_settings(experiment)}")
    pairs = enumerate(zip(found.tokens, found.target, strict=True), 1)
    wrong = ", ".join(f"{n} ({letters[token]})" for n, (token, true) in pairs if token != true)
    st.caption(
        f"{''.join(columns)} → {''.join(rows)}, "
        f"{f'wrong at {wrong}' if wrong else 'all correct'}. "
        f"{show_percent(share_aligned(pattern, found.alignment))} of the attention is on the "
        f"true alignment ({show_percent(small.aligned)} over test sources). Exact match "
        f"{100 * small.exact_match:.1f} ± {100 * small.exact_match_stderr:.1f} %."
    )
    maps = [("learned", "Learned attention", pattern)]
    maps += [("alignment", "True alignment", found.alignment)]
    maps += [("dependence", "True dependence", found.dependence)] * (task == "sort")
    for kind, title, shares in maps:
        known = kind != "learned"
        st.markdown(title)
        _draw_map(
            st,
            f"{kind}_{task}",
            Grid(f"{title} of {task}", shares.astype(float), *_TITLES, shares=True),
            (rows, columns),
            about=f"{title} of {task}, target by source",
            known=known,
            framed=None if known else found.alignment,
        )
    if task == "sort":
        taken, depends = (int(part[0].sum()) for part in (found.alignment, found.dependence))
        st.markdown(
            f"The first token, {rows[0]}, comes from {_places(taken)} and depends on "
            f"{_places(depends)}."
        )


def _places(count: int) -> str:
    return f"{count} position{'' if count == 1 else 's'}"


def draw_maps() -> None:
    """Draw controls, and the maps of self-, masked and cross-attention for one task."""
    st.markdown(
        "Three kinds of attention use the same formula. They differ in the mask and in the "
        "sources of queries, keys and values."
    )
    with control_row():
        task = choose("task", ALIGNED_TASKS, "reverse", key="maps_task", **KEPT)
        experiment = aligning(task, "encoder-decoder")
        tokens = draw_source(as_task(experiment.generator), "hacebd", key="maps_source")
    with st.spinner(_WAITING):
        found = write_target(experiment, tokens)
    letters = experiment.generator.vocabulary.symbols
    source = tuple(letters[token] for token in found.source)
    read = (_BEGIN, *(letters[token] for token in found.target[:-1]))
    axes = {"source": (source, source), "self": (read, read), "cross": (read, source)}
    for column, (kind, (title, says, titles)) in zip(
        st.columns(3, gap="medium"), _KINDS.items(), strict=True
    ):
        pattern, mask = found.maps[kind]
        column.markdown(f"**{title}** {says}")
        _draw_map(
            column,
            f"map_{kind}",
            Grid(title, pattern, *titles, shares=True),
            axes[kind],
            about=f"{title} of {task}",
            seen=mask,
        )
    st.caption(
        "Rows are queries, columns are keys; each row sums to 1. A decoder row reads a token "
        f"({_BEGIN} at the beginning) and writes the next one. "
        f"{link_to_settings(experiment)}"
    )


def _draw_map(
    place: Any,
    key: str,
    grid: Grid,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    *,
    about: str,
    known: bool = False,
    **cells: Any,
) -> None:
    """Draw a map, whose text alternative is `about` and the largest share of each row.

    `names` are the tokens of rows and columns, `known` a map of the truth, and `cells` the seen and
    framed ones, as in `matrix_table`.
    """
    rows, columns = names
    most = "; ".join(
        f"{at + 1} {rows[at]}: {key + 1} {columns[key]} ({grid.values[at, key]:.2f})"
        for at, key in enumerate(grid.values.argmax(axis=1))
    )
    draw_matrix(
        place,
        key,
        grid,
        matrix_table(grid.values, names=names, **cells),
        alt=f"{about}. Largest in each row: {most}",
        name=grid.title,
        ramp=TRUTHS if known else SHARES,
        names=names,
        meaning="1: yes, 0: no" if known else "share of attention",
    )
