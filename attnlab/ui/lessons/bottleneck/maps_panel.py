"""The three kinds of attention of an encoder and a decoder, told apart by their maps."""

import streamlit as st

from attnlab.lessons.small_models import ALIGNED_TASKS, Looked, aligning, look
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.lessons.bottleneck.alignment_panel import (
    TokenMap,
    draw_token_map,
    largest_in_words,
)
from attnlab.ui.lessons.bottleneck.letters import draw_source
from attnlab.ui.lessons.bottleneck.waiting import draw_answered

_FAMILY = "encoder-decoder"
_BEGINS = "⊢"
_KINDS = {
    "source": (
        "Self-attention of the encoder",
        "Queries and keys are both of the source: every token sees every other, also those after "
        "it.",
        ("source, as key →", "← source, as query"),
    ),
    "self": (
        "Masked self-attention of the decoder",
        "Queries and keys are both of the target, and the mask hides what is not yet written: "
        "nothing above the diagonal.",
        ("target so far, as key →", "← target, as query"),
    ),
    "cross": (
        "Cross-attention",
        "Queries of the target, keys and values of the source. No mask; here the alignment shows.",
        ("source, as key →", "← target, as query"),
    ),
}


def draw_maps() -> None:
    """A task, its letters, and the three maps beside each other."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        task = linked(
            st.segmented_control, "task", ALIGNED_TASKS, default="reverse", required=True,
            key="maps_task",
        )  # fmt: skip
        experiment = aligning(task, _FAMILY)
        tokens = draw_source(experiment.generator, "hacebd", key="maps_source")
    draw_answered((look, experiment, tokens), draw=_draw_kinds, key="attention_kinds")


def _draw_kinds(found: Looked) -> None:
    task = found.small.experiment.generator
    letters, maps = task.vocabulary.symbols, found.written.maps
    source = tuple(letters[token] for token in found.source)
    read = (_BEGINS, *(letters[token] for token in found.truth.target[:-1]))
    along = {"source": (source, source), "self": (read, read), "cross": (read, source)}
    for column, (kind, (title, says, titles)) in zip(
        st.columns(3, gap="medium"), _KINDS.items(), strict=True
    ):
        rows, columns = along[kind]
        pattern, mask = maps[kind]
        with column:
            st.markdown(f"**{title}** {says}")
            draw_token_map(
                TokenMap(pattern, rows, columns, titles=titles, seen=mask),
                name=title,
                alt=f"{title} of {task.name}. Largest in each row: "
                + largest_in_words(pattern, rows, columns),
                key=f"map_{kind}",
            )
    st.caption(
        "How to read it: rows are queries, columns keys, each row sums to 1; what the mask hides "
        f"is not drawn. A row of the decoder stands at the token that it has just read, {_BEGINS} "
        "at the beginning, and writes the next one. The model has one layer and one head of each "
        "kind, and here the true target so far is given."
    )
