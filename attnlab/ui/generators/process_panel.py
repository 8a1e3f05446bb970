"""The process of a page: its controls in the sidebar, and its rule and tables on the page."""

import dataclasses

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnlab.charts import rule_chart
from attnlab.configuration.options import OptionError
from attnlab.generators import (
    AbstractGenerator,
    AbstractHiddenChain,
    AbstractTask,
    HiddenChain,
    as_hidden_chain,
)
from attnlab.runs.links import control_key
from attnlab.testing.law_report import LawReport
from attnlab.training.limits import check_limit
from attnlab.training.steps import Training
from attnlab.ui.controls.address import go_to
from attnlab.ui.controls.address_controls import or_last_good
from attnlab.ui.controls.form import draw_process_form, in_control_words
from attnlab.ui.controls.form_state import fill_form, read_form
from attnlab.ui.controls.tables import draw_process_tables
from attnlab.ui.core.display import TRAIN_PAGE, draw_button
from attnlab.ui.core.outside import as_message, draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits


def draw_formula(generator: AbstractGenerator, length: int) -> None:
    """Draw the summary of a process, its source and its formula with the numbers of its options."""
    # The rule above it may begin with the same sentence.
    if not generator.rule_in_words(length).startswith(generator.summary):
        st.markdown(generator.summary)
    if generator.source:
        st.caption(f"Source: {generator.source}.")
    if generator.formula:
        with st.container(key="formula"):
            st.latex(generator.formula)


def draw_rule_tables(generator: AbstractGenerator) -> None:
    """Draw each table of probabilities of a process as a heatmap."""
    if not generator.tables:
        return
    for rule in generator.tables:
        outline, probs = rule.outline, np.array(rule.probs)
        row, column = (at.ravel() for at in np.indices(probs.shape))
        names = np.array(outline.rows)[row], np.array(outline.columns)[column]
        table = pd.DataFrame({"row": row, "column": column, "probability": probs.ravel()})
        likeliest = int(probs.argmax())
        st.markdown(f"**{rule.name}**")
        draw_chart(
            rule_chart(
                table.assign(row_name=names[0], column_name=names[1]),
                rows=outline.rows,
                columns=outline.columns,
                row_title=outline.row_title,
                column_title=outline.column_title,
            ),
            name=f"Probabilities: {rule.name}",
            alt=f"Table `{rule.name}` with {len(probs)} rows. Its largest probability is "
            f"{probs.max():g}, of {names[1][likeliest]} after {names[0][likeliest]}.",
        )
    st.caption("Each row is a probability distribution over the columns, given the row's label.")


def draw_process(train: DeltaGenerator) -> tuple[AbstractGenerator, int] | None:
    """Draw controls, rule and tables of the process; return the process and its length.

    The buttons that use it are in `train`.
    If the settings are invalid, return the last valid process of the same class, or None.
    """
    with st.sidebar:
        kind, chosen, length = draw_process_form()
    rule = st.container()
    with st.container():
        if not isinstance(chosen, OptionError):
            chosen = draw_process_tables(kind, chosen)
        if isinstance(chosen, AbstractGenerator):
            # A task's length follows from its options.
            length = chosen.own_length() or length
            try:
                check_limit("length", length, limits())
                chosen = chosen.at_length(length)
            except OptionError as error:
                draw_error(in_control_words(error))
                chosen = error
    is_good = isinstance(chosen, AbstractGenerator)
    with train:
        pressed = draw_button(
            "Train on this", "train_on_this", "model_training", type="primary", disabled=not is_good
        )
        if pressed:
            if issubclass(kind, AbstractTask):
                _suit_training(kind)
            go_to(TRAIN_PAGE)
        _draw_table_button(chosen)
    found = (chosen, length) if is_good else None
    generator, length = or_last_good(found, (None, length), key="last_good_process")
    if generator is None or type(generator) is not kind:
        return None
    with rule:
        st.header("The rule", anchor=False)
        st.markdown(generator.rule_in_words(length))
        if not is_good:
            st.info("This page shows the last valid settings.", icon=":material/history:")
    return generator, length


def _draw_table_button(process: object) -> None:
    """Draw a button that turns a named hidden chain into the same one as an editable table."""
    if not isinstance(process, AbstractHiddenChain) or isinstance(process, HiddenChain):
        return
    form = read_form()
    try:
        table = as_hidden_chain(process)
    except OptionError:
        # A product may have more states than a table takes.
        return
    if not isinstance(form, OptionError):
        changed = dataclasses.replace(form, generator=table)
        draw_button("Edit as a table", "edit_table", "table", fill_form, changed)


def _suit_training(task: type[AbstractTask]) -> None:
    """Set the usual training options of a task, unless the controls already have its loss."""
    usual = {control_key(Training, name): value for name, value in task.usual_training.items()}
    loss = control_key(Training, "loss")
    if st.session_state[loss] != usual[loss]:
        st.session_state.update(usual)


def draw_laws(report: LawReport | OptionError | None) -> None:
    """Draw which laws the process obeys, and whether its hidden states are hidden."""
    if report is None:
        st.caption(":material/hourglass_top: Checking all short sequences …")
        return
    if isinstance(report, OptionError):
        st.caption(as_message(str(report)))
        return
    count, total = sum(not law.problem for law in report.laws), len(report.laws)
    lines = [f"**{count} of {total} laws hold** for all sequences of {report.length} tokens."]
    for law, problem in report.laws:
        mark = ":red[:material/close:]" if problem else ":green[:material/check:]"
        lines.append(f"{mark} {law}{f': {as_message(problem)}' if problem else ''}")
    st.markdown("  \n".join([*lines, report.visibility]))
    st.caption(
        "`attnlab check` prints this for your own processes, and tests sequences of another "
        "implementation."
    )
