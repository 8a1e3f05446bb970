"""How the settings learn."""

from collections.abc import Sequence

import streamlit as st

from attnlab.charts import bands_chart, bands_table, each_seed_table, levels_table
from attnlab.comparisons.summary import Row
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.core.uncertainty import OF_SEEDS

# As many as have colours of their own.
_MOST, _AT_FIRST, _HEIGHT = 7, 5, 360
_CHOSEN = "compare_curves"
_MEASURES = {"loss": "loss", "gap": "loss − floor", "accuracy": "accuracy"}


def draw_curves(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """The tests during training as bands, of a few settings at a time."""
    drawable = {label: row for label, row in zip(labels, rows, strict=True) if row.finished}
    if not drawable:
        return
    # Another comparison has other settings.
    chosen = [label for label in st.session_state.get(_CHOSEN, ()) if label in labels]
    st.session_state[_CHOSEN] = chosen or list(labels[:_AT_FIRST])
    st.header("Learning curves", anchor=False, divider="gray")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        measure = st.segmented_control(
            "what", list(_MEASURES), format_func=_MEASURES.get, default="loss", required=True,
            key="compare_measure", persist_state="session",
        )  # fmt: skip
        log_steps = st.toggle("log steps", True, key="compare_log_steps", persist_state="session")
        log_values = st.toggle(
            "log values", False, key="compare_log_values", persist_state="session"
        )
        chosen = st.multiselect(
            "settings",
            labels,
            key=_CHOSEN,
            max_selections=_MOST,
            width=520,
            persist_state="session",
        )
    shown = [label for label in labels if label in chosen and label in drawable]
    if not shown:
        st.caption("No run of these settings has ended yet.")
        return
    few = [drawable[label] for label in shown]
    last = [f"{label} {row.nll.mean:.3f}" for label, row in zip(shown, few, strict=True)]
    with st.container(key="chart_compare_curves"):
        draw_chart(
            bands_chart(
                bands_table(few, shown, measure),
                each_seed_table(few, shown, measure),
                levels_table(few, measure),
                measure=measure,
                labels=tuple(shown),
                log_steps=log_steps,
                log_values=log_values,
                dark=on_dark(),
                height=_HEIGHT,
            ),
            name=f"{_MEASURES[measure].capitalize()} during training",
            alt=f"The {_MEASURES[measure]} in tests during training, {len(shown)} settings. "
            f"Mean loss at the end, in nats: {', '.join(last)}.",
        )
    st.caption(
        f"A strong line is the mean over seeds, a thin line one seed. The band is the {OF_SEEDS}; "
        "it takes three seeds. Grey dashes: the best possible and a uniform guess, where all "
        "settings share them."
    )
