"""Attention by distance on the Beliefs page, beside what theory predicts."""

from functools import partial

import pandas as pd
import streamlit as st

from attnlab.charts import Scale, Series, lines_chart, series_table
from attnlab.charts.style import HUES
from attnlab.configuration.number_text import show_measured
from attnlab.inspection import attention_by_distance, predicted_decay
from attnlab.inspection.belief_probes import ProbeSetup
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result

_CHART_HEIGHT = 260
_MODEL, _THEORY = "model", "theory"


def draw_attention(
    experiment: Experiment, model: AbstractModel, step: int, setup: ProbeSetup
) -> None:
    """Draw the attention to earlier tokens, if theory predicts it for this experiment."""
    decay = predicted_decay(experiment)
    if decay is None:
        return
    sequences = setup.test.sequences
    found = kept_result(
        "attention", model, experiment, partial(attention_by_distance, model, sequences, decay)
    )
    st.header("Attention by distance", anchor=False)
    st.markdown(
        f"For `mess3` with parameter x, theory predicts attention proportional to "
        f"(1 − 3x)^distance = {decay:.3g}^distance.",
        help="One layer can only add up what each token says about the hidden state, which fades "
        "by a factor of 1 − 3x with every move (Piotrowski et al. 2025, “Constrained belief "
        "updates explain geometric structures in transformer representations”). In our runs it "
        "held for parameter a = 0.5 and failed for a = 0.85.",
    )
    distances = range(1, len(found.shares) + 1)
    table = pd.concat(
        [
            series_table(_MODEL, distances, found.shares, found.stderr),
            series_table(_THEORY, distances, found.predicted),
        ]
    )
    draw_chart(
        lines_chart(
            table,
            x=Scale("distance to an earlier token", "d", "d", zero=False),
            y=Scale("share of attention", ".3f"),
            series=(Series(_MODEL), Series(_THEORY, HUES.truth, "diamond")),
            look="points",
            noun="shares",
            height=_CHART_HEIGHT,
        ),
        name="Attention by distance",
        alt=f"Shares of attention at {len(distances)} distances, of the model and in theory.",
    )
    closer = "closer to theory than" if found.deviation < found.uniform else "no closer than"
    st.caption(
        f"At step {step:,} the deviation from theory is "
        f"{show_measured(found.deviation, found.deviation_stderr)}: {closer} equal shares, which "
        f"deviate by {found.uniform:.3f}.",
        help="The deviation is the total variation, half the sum of absolute differences, ± one "
        "standard error over sequences. Shares are of the last token's attention to earlier "
        "tokens; its own token also reaches the output without attention.",
    )
