"""Inspect: the logits of the prediction as the sum of what each part adds to them."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import streamlit as st

from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment


def draw_contributions(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    """A row for each part; nothing for a model whose logits are no sum of them."""
    if not model.logits_are_a_sum:
        return
    # Drawn when opened: a model's first arithmetic takes seconds.
    panel = st.expander(
        "What makes the logits",
        key="contributions_panel",
        on_change="rerun",
        icon=":material/stacked_bar_chart:",
    )
    if not panel.open:
        return
    query = experiment.read_position
    found = model.contributions(jnp.asarray(tokens), query)
    with panel:
        st.table(contribution_table(found, experiment.generator.vocabulary.symbols))
        st.caption(
            "How to read it: what each part adds to the logits after "
            f"{experiment.generator.position_word} {query + 1} of the "
            "sequence above, in nats, less the mean over tokens, which changes no prediction. The "
            "rows sum to the last one, whose softmax is the prediction. These are direct "
            "contributions: what a head writes may also be read by later parts, and then counts "
            "as theirs."
        )


def contribution_table(found: dict[str, np.ndarray], symbols: tuple[str, ...]) -> pd.DataFrame:
    """A row for every part, in the order of the model, and one for their sum."""
    rows = {name: np.asarray(row, dtype=np.float64) for name, row in found.items()}
    rows["logits"] = np.sum(list(rows.values()), axis=0)
    cells = [[f"{value:+.2f}".replace("-", "−") for value in row - row.mean()]
             for row in rows.values()]  # fmt: skip
    return pd.DataFrame(cells, index=list(rows), columns=list(symbols))
