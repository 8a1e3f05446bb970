"""What the loss becomes without each head."""

import pandas as pd
import streamlit as st

from attnlab.configuration.number_text import show_measured
from attnlab.inspection import References, ablated_loss, expected_loss, role_of
from attnlab.inspection.ablation import MEAN, REMOVED
from attnlab.models import AbstractModel
from attnlab.training.evaluation import LossByPosition
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.session import kept_result
from attnlab.ui.in_context.heads_panel import head_title
from attnlab.ui.in_context.measures import Course, Measured

_WAYS = {REMOVED: "zeroed", MEAN: "mean attention pattern"}


@panel("The loss without each head", key="without_heads", icon="content_cut")
def draw_ablations(
    references: References, model: AbstractModel, measured: Measured, course: Course
) -> None:
    """Draw the loss after ablating each head, and all induction heads, beside the references."""
    with st.spinner("Ablating each head …"):
        table = kept_result(
            "ablated", model, None, lambda: ablation_table(references, model, measured, course)
        )
    st.table(table)
    st.caption(
        "Expected loss in nats on the predicted tokens, ± one standard error over sequences.",
        help="**Zeroed**: the output of the head is 0. **Mean pattern**: the head attends as it "
        "does on average over sequences, and still copies values. The model is not trained again.",
    )


def ablation_table(
    references: References, model: AbstractModel, measured: Measured, course: Course
) -> pd.DataFrame:
    """Return a table of losses: the model, the model without heads, and every reference."""
    sets = {}
    before = course.results[0].heads
    roles = [role_of(*pair) for pair in zip(measured.heads, before, strict=True)]
    for score, role in zip(measured.heads, roles, strict=True):
        sets[f"without {head_title(score)} {role}".rstrip()] = [score]
    induction = [s for s, role in zip(measured.heads, roles, strict=True) if role == "induction"]
    if len(induction) > 1:
        sets["without all induction heads"] = induction
    rows = {"the model": [_shown(measured.loss)] * len(_WAYS)}
    for name, scores in sets.items():
        heads = [(score.layer - 1, score.head - 1) for score in scores]
        rows[name] = [_shown(ablated_loss(references, model, heads, by)) for by in _WAYS]
    for name, probs in zip(references.names, references.probs, strict=True):
        rows[name] = [_shown(expected_loss(references, probs))] * len(_WAYS)
    return pd.DataFrame.from_dict(rows, orient="index", columns=[*_WAYS.values()])


def _shown(loss: LossByPosition) -> str:
    # The error of a uniform guess is rounding alone.
    return show_measured(loss.mean, round(loss.mean_stderr, 9))
