"""The ticked runs of the library side by side: what differs, and what came of it."""

import pandas as pd
import streamlit as st

from attnlab.charts import losses_chart, losses_table
from attnlab.runs.differences import differing_settings
from attnlab.runs.library import Entry
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import CHART_HEIGHT, on_dark
from attnlab.ui.library.entry_texts import figures_of, name_of
from attnlab.ui.train.loss_panel import known_losses

# More lines cannot be told apart.
_MOST_CURVES = 7


def draw_comparison(entries: tuple[Entry, ...]) -> None:
    """A table of what is not the same in all of them, their figures, and their test losses."""
    names = _names(entries)
    differing = differing_settings([entry.result.experiment for entry in entries])
    st.dataframe(
        pd.DataFrame(
            {
                "run": name,
                **figures_of(entry),
                "steps made": f"{entry.result.steps:,}",
                "parameters": f"{entry.result.parameters:,}",
                "seconds": f"{entry.result.seconds:.1f}" if entry.result.seconds else "–",
                **{setting: texts[place] for setting, texts in differing.items()},
            }
            for place, (name, entry) in enumerate(zip(names, entries, strict=True))
        ),
        key="library_comparison",
        hide_index=True,
        alt=f"What differs between {len(entries)} runs, and their figures.",
    )
    _draw_curves(dict(zip(names, entries, strict=True)))


def _draw_curves(entries: dict[str, Entry]) -> None:
    tested = {name: entry for name, entry in entries.items() if entry.result.tests}
    shown = {name: tested[name].result for name in list(tested)[:_MOST_CURVES]}
    if not shown:
        return
    experiments = [result.experiment for result in shown.values()]
    is_one_process = len({(each.generator, each.length) for each in experiments}) == 1
    bests = known_losses(experiments[0], ()) if is_one_process else {}
    known = {name: best.nll for name, best in bests.items()}
    ends = [f"{name} {result.tests[-1][1].nll:.3f}" for name, result in shown.items()]
    with st.container(key="chart_library"):
        draw_chart(
            losses_chart(
                losses_table({name: result.tests for name, result in shown.items()}, known),
                names=tuple(shown),
                dark=on_dark(),
                height=CHART_HEIGHT,
            ),
            name="Ticked runs",
            alt=f"Test loss against step, in nats. At the end: {', '.join(ends)}.",
        )
    told = "How to read it: a line is the test loss of a run, in tests during its training. "
    told += "Grey dashes: the floor and a uniform guess, where all have the same."
    if len(shown) < len(entries):
        told += f" Shown are {len(shown)} of {len(entries)}, the first that were tested."
    st.caption(told)


def _names(entries: tuple[Entry, ...]) -> list[str]:
    """One for each; those that several have with their numbers."""
    plain = [name_of(entry) for entry in entries]
    return [
        f"{name} ({entry.number})" if plain.count(name) > 1 else name
        for name, entry in zip(plain, entries, strict=True)
    ]
