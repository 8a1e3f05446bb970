"""The loss after ablating each head."""

import pandas as pd
import streamlit as st

from attnlab.comparisons.uncertainty import above_uniform_text
from attnlab.configuration.number_text import show_estimate
from attnlab.inspection import References, ablated_loss, expected_loss, role_of
from attnlab.inspection.ablation import MEAN, REMOVED
from attnlab.models import AbstractModel
from attnlab.training.evaluation import LossByPosition
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.session import kept_result
from attnlab.ui.in_context.heads_panel import head_title
from attnlab.ui.in_context.measures import Course, Measured

_WAYS = {REMOVED: "zeroed", MEAN: "mean pattern"}


@panel("How large is the loss without each head?", key="without_heads", icon="content_cut")
def draw_ablations(
    references: References, model: AbstractModel, measured: Measured, course: Course
) -> None:
    """Draw the loss after ablating each head, and all induction heads, beside the references."""
    with st.spinner("Ablating each head …"):
        losses = kept_result(
            "ablated", model, None, lambda: ablated_losses(references, model, measured, course)
        )
    others = {
        name: [expected_loss(references, probs)] * len(_WAYS)
        for name, probs in zip(references.names, references.probs, strict=True)
    }
    rows = {name: [_shown(loss) for loss in each] for name, each in (losses | others).items()}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*_WAYS.values()])
    st.table(table.rename_axis("predictor"))
    remark = above_uniform_text(
        ((loss.mean, loss.mean_stderr) for each in losses.values() for loss in each),
        references.probs.shape[-1],
    )
    st.caption(
        "Expected loss in nats on the predicted tokens, ± one standard error over sequences. "
        f"{remark}",
        help="**Zeroed**: the output of the head is 0. **Mean pattern**: the head attends as it "
        "does on average over sequences, and still copies values. The model is not trained again.",
    )


def ablated_losses(
    references: References, model: AbstractModel, measured: Measured, course: Course
) -> dict[str, list[LossByPosition]]:
    """Return the losses of the model and of the model without heads, for each of `_WAYS`."""
    sets = {}
    before = course.results[0].heads
    roles = [role_of(*pair) for pair in zip(measured.heads, before, strict=True)]
    for score, role in zip(measured.heads, roles, strict=True):
        sets[f"without {head_title(score)} {role}".rstrip()] = [score]
    induction = [s for s, role in zip(measured.heads, roles, strict=True) if role == "induction"]
    if len(induction) > 1:
        sets["without all induction heads"] = induction
    found = {"the model": [measured.loss] * len(_WAYS)}
    for name, scores in sets.items():
        heads = [(score.layer - 1, score.head - 1) for score in scores]
        found[name] = [ablated_loss(references, model, heads, by) for by in _WAYS]
    return found


def _shown(loss: LossByPosition) -> str:
    # The error of a uniform guess is rounding alone.
    return show_estimate(loss.mean, round(loss.mean_stderr, 9))
