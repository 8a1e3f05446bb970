"""The runs so far: what differed, what came of it, and what to do with each."""

import pandas as pd
import streamlit as st

from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import quoted
from attnlab.live.live_run import LiveRun
from attnlab.runs.differences import differing_settings, label_of_change
from attnlab.runs.past_runs import PastRun, changed_run, may_be_kept, steps_to, without_run
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.controls.form_state import fill_form
from attnlab.ui.core.outside import draw_toast
from attnlab.ui.train.loss_panel import TARGET, target_of
from attnlab.ui.train.session_past_runs import past_runs, set_past_runs, shelve_run

_PRESENT = "(present run)"


def draw_runs(run: LiveRun) -> None:
    """A table of the present run and those before it, and the actions on a chosen one."""
    past = past_runs()
    panel = st.expander(
        f"Runs so far: {len(past) + 1}" if past else "Runs so far",
        key="runs",
        on_change="rerun",
        icon=":material/stacked_line_chart:",
    )
    if not panel.open:
        return
    with panel:
        if not past:
            st.info(
                "Runs are compared here. Change a setting, reset and start again: the run before "
                "stays on the chart.",
                icon=":material/stacked_line_chart:",
            )
            return
        table = _table(past, run.snapshot())
        chosen = st.dataframe(
            table,
            key="runs_table",
            hide_index=True,
            on_select="rerun",
            selection_mode="single-row",
            alt=f"Runs so far, {len(table)}; the newest last.",
        )
        st.caption(
            f"Loss and accuracy on the test set, ± one standard error; `to target`: steps until "
            f"the test loss was within {TARGET - 1:.0%} of the floor. Choose a row by its box."
        )
        rows = chosen["selection"]["rows"]
        if rows and rows[0] < len(past):
            _draw_actions(run, past[rows[0]])


def _table(past: tuple[PastRun, ...], present: Snapshot) -> pd.DataFrame:
    entries = [(run.name, run.label, run.snapshot, run.hidden, run.kept) for run in past]
    label = label_of_change(past[-1].stored.experiment, present.experiment)
    entries.append((_PRESENT, label, present, False, False))
    differing = differing_settings([snapshot.experiment for _, _, snapshot, _, _ in entries])
    rows = []
    for place, (name, label, snapshot, hidden, kept) in enumerate(entries):
        marks = ("📌 " if kept else "") + ("🚫 " if hidden else "")
        row = {"run": marks + name, "changed": label}
        row |= {key.replace("_", " "): texts[place] for key, texts in differing.items()}
        rows.append(row | _figures(snapshot))
    return pd.DataFrame(rows)


def _figures(snapshot: Snapshot) -> dict[str, str]:
    names = ("loss (nats)", "accuracy", "parameters", "steps", "seconds", "to target")
    if snapshot.latest is None:
        return dict.fromkeys(names, "–")
    test, target = snapshot.latest.evaluation, target_of(snapshot)
    reached = None if target is None else steps_to(snapshot, target)
    texts = (
        show_measured(test.nll, test.nll_stderr),
        show_measured(test.accuracy, test.accuracy_stderr),
        f"{snapshot.parameters:,}",
        f"{snapshot.step:,}",
        f"{snapshot.seconds:.1f}" if snapshot.seconds else "–",
        "–" if reached is None else f"{reached:,}",
    )
    return dict(zip(names, texts, strict=True))


def _draw_actions(run: LiveRun, chosen: PastRun) -> None:
    number = chosen.number
    with st.container(horizontal=True, vertical_alignment="bottom", key="run_actions"):
        st.text_input(
            "name",
            chosen.name,
            key=f"run_name_{number}",
            max_chars=24,
            width=200,
            on_change=_rename,
            args=(number,),
        )
        st.button(
            "Show" if chosen.hidden else "Hide",
            key="run_hide",
            icon=":material/visibility:" if chosen.hidden else ":material/visibility_off:",
            on_click=_change,
            args=(number,),
            kwargs={"hidden": not chosen.hidden},
        )
        st.button(
            "Let go" if chosen.kept else "Keep",
            key="run_keep",
            icon=":material/keep:",
            disabled=not chosen.kept and not may_be_kept(past_runs()),
            on_click=_change,
            args=(number,),
            kwargs={"kept": not chosen.kept},
        )
        st.button(
            "Load its settings",
            key="run_settings",
            icon=":material/tune:",
            on_click=fill_form,
            args=(chosen.stored.experiment,),
        )
        st.button(
            "Make it the present run",
            key="run_return",
            icon=":material/restore:",
            on_click=_return_to,
            args=(run, chosen),
        )
        st.button(
            "Delete",
            key="run_delete",
            icon=":material/delete:",
            on_click=lambda: set_past_runs(without_run(past_runs(), number)),
        )


def _rename(number: int) -> None:
    name = st.session_state[f"run_name_{number}"].strip()
    taken = {run.name for run in past_runs() if run.number != number}
    if name and name not in taken:
        _change(number, name=name)
    else:
        draw_toast(f"`name` is {quoted(name)}: empty or taken. Choose another.")


def _change(number: int, **changes: object) -> None:
    set_past_runs(changed_run(past_runs(), number, **changes))


def _return_to(run: LiveRun, chosen: PastRun) -> None:
    shelve_run(run)
    set_past_runs(without_run(past_runs(), chosen.number))
    run.resume(chosen.stored)
    fill_form(chosen.stored.experiment)
