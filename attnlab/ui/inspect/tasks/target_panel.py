"""Inspect: the target that the model writes for a source, beside the true one."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import streamlit as st

from attnlab.generators import AbstractTask
from attnlab.inspection import probs_by_query
from attnlab.inspection.decoding import write_target
from attnlab.models import AbstractModel


def draw_target(task: AbstractTask, model: AbstractModel, tokens: np.ndarray) -> None:
    """A row for each target token: the true one, the one that is written, and how sure that is."""
    count, symbols = task.given(), task.vocabulary.symbols
    source = jnp.asarray(tokens[:count])
    true = np.asarray(task.target_of(source))
    written = np.asarray(write_target(model, source, count=count))
    probs = probs_by_query(model, tokens[None])[0, count - 1 :]
    wrong = int((written != true).sum())
    with st.container(key="target"):
        st.table(target_table(true, written, probs, symbols))
        st.caption(
            ("**Every token is right.** " if not wrong else f"**{wrong} of {count} wrong.** ")
            + "How to read it: written is the target that the model writes by itself, each time "
            "the most probable token behind those that it wrote before. p(true) is its probability "
            "of the true token given the true ones before it, and most probable what it gives most "
            "to there."
        )


def target_table(
    true: np.ndarray, written: np.ndarray, probs: np.ndarray, symbols: tuple[str, ...]
) -> pd.DataFrame:
    """A column for each target token."""
    best = probs.argmax(axis=1)
    rows = {
        "true": [symbols[token] for token in true],
        "written": [
            symbols[token] + ("" if token == right else " ✗")
            for token, right in zip(written, true, strict=True)
        ],
        "p(true)": [f"{row[token]:.3f}" for row, token in zip(probs, true, strict=True)],
        "most probable": [
            f"{symbols[token]} {row[token]:.2f}" for row, token in zip(probs, best, strict=True)
        ],
    }
    return pd.DataFrame(rows.values(), rows.keys(), [str(n + 1) for n in range(len(true))])
