"""A page of the library's runs as a table, whose rows can be ticked."""

import pandas as pd
import streamlit as st

from attnlab.optimum import optimum
from attnlab.runs.library import Entry
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.process_figures import is_answered
from attnlab.ui.library.entry_texts import (
    browser_zone,
    figures_of,
    name_of,
    own_settings,
    thumbnail_of,
)
from attnlab.ui.library.ticks import table_number, tick_on_page, ticked

ROWS_ON_PAGE = 25


def draw_table(entries: tuple[Entry, ...], *, first: int, count: int) -> None:
    """These runs of `count`, from the `first`; again when the floors of all are known."""
    numbers = tuple(entry.number for entry in entries)
    # Places of ticks in one table mean other runs in the next.
    key = f"library_table_{table_number()}_{hash(numbers)}"
    table = pd.DataFrame([_row(entry) for entry in entries])
    before = ticked()
    st.dataframe(
        table,
        key=key,
        hide_index=True,
        on_select=lambda: tick_on_page(
            numbers, [numbers[row] for row in st.session_state[key]["selection"]["rows"]]
        ),
        selection_mode="multi-row",
        selection_default={
            "selection": {"rows": [i for i, number in enumerate(numbers) if number in before]}
        },
        column_config={
            "loss curve": st.column_config.LineChartColumn(y_min=0, y_max=1, width=90),
            "learned": st.column_config.TextColumn(width=90),
            "steps": st.column_config.NumberColumn(format="localized"),
            "seconds": st.column_config.NumberColumn(format="%.1f"),
        },
        placeholder="–",
        alt=f"Runs of the library, {len(table)} of them on this page.",
    )
    st.caption(
        f"Runs {first + 1:,} to {min(first + ROWS_ON_PAGE, count):,} of {count:,}. Tick rows by "
        "their boxes; a click on the head of a column sorts this page alone. Figures are of the "
        "test set, ± one standard error; `learned` is of what can be learned. `loss curve`: the "
        "test loss along the run, the head of its field a uniform guess, the foot the floor."
    )
    processes = {(e.result.experiment.generator, e.result.experiment.length) for e in entries}

    def missing() -> bool:
        return not all(is_answered(optimum, *process) for process in processes)

    draw_while(missing, lambda: None, key="library_floors", seconds=0.5)


def _row(entry: Entry) -> dict[str, object]:
    result, experiment = entry.result, entry.result.experiment
    return {
        "name": name_of(entry),
        "process": experiment.generator.name,
        "model": experiment.model.name,
        "length": experiment.length,
        "state": result.state,
        "loss curve": thumbnail_of(entry),
        **figures_of(entry),
        "steps": result.steps,
        "seconds": result.seconds or None,
        "seed": experiment.seed,
        "other settings": own_settings(experiment),
        "tags": ", ".join(entry.tags),
        "note": entry.note.partition("\n")[0],
        "kept": entry.kept_at(browser_zone()),
    }
