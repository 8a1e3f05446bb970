"""The rule of a process: its formula, and the tables it looks up."""

import streamlit as st

from attnlab.charts import rule_chart, rule_table
from attnlab.generators import AbstractGenerator
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark


def draw_formula(generator: AbstractGenerator) -> None:
    """The rule with the options' numbers plugged in."""
    st.markdown(generator.summary)
    if generator.formula:
        with st.container(key="formula"):
            st.latex(generator.formula)


def draw_rule_tables(generator: AbstractGenerator) -> None:
    """A heatmap for each table."""
    if not generator.tables:
        return
    for column, rule in zip(st.columns(2, gap="medium"), generator.tables, strict=False):
        likeliest = max(
            (probability, row, name)
            for row, probs in zip(rule.outline.rows, rule.probs, strict=True)
            for name, probability in zip(rule.outline.columns, probs, strict=True)
        )
        with column, st.container(key=f"chart_rule_{rule.name}"):
            st.markdown(f"**{rule.name}**")
            draw_chart(
                rule_chart(rule_table(rule), rule=rule, dark=on_dark()),
                name=f"Table {rule.name}",
                alt=f"Table `{rule.name}` with {len(rule.probs)} rows. Its largest probability is "
                f"{likeliest[0]:g}, of {likeliest[2]} after {likeliest[1]}.",
            )
    st.caption(
        "How to read it: a row is what is known, and sums to 1; the stronger the colour of a "
        "cell, the more probable its column."
    )
