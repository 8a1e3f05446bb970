"""The results of a comparison while its runs finish: table, buttons that open a run, and export."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from attnlab.comparisons.grid import Grid, to_parameters
from attnlab.comparisons.records import differing_options, to_csv
from attnlab.comparisons.summary import TARGET, Row, figures_of
from attnlab.comparisons.uncertainty import (
    OF_SEEDS,
    caution_text,
    interval_text,
    known_text,
    reached_text,
    share_text,
    unseen_text,
)
from attnlab.configuration.options import present
from attnlab.generators.display import OF_LAW
from attnlab.inspection import measure_label, measure_of
from attnlab.lessons.examples import Example
from attnlab.live.jobs import Job
from attnlab.runs.library import LibraryError
from attnlab.runs.links import to_query
from attnlab.runs.run_summary import FIGURES, RunSummary
from attnlab.ui.compare.choice import option_label, setting_labels
from attnlab.ui.compare.curves import draw_curves, draw_dots, metrics_of
from attnlab.ui.compare.work import (
    ComparisonProgress,
    Plan,
    draw_runs,
    rows_of,
    rows_of_example,
)
from attnlab.ui.controls.address import draw_train_menu, go_to
from attnlab.ui.controls.share_panel import draw_address
from attnlab.ui.core.display import LOOK_INSIDE_PAGE, draw_button, draw_download
from attnlab.ui.core.fragments import fragment, panel
from attnlab.ui.core.outside import as_message, draw_toast
from attnlab.ui.core.session_library import session_library, session_run
from attnlab.ui.core.web import page_address
from attnlab.ui.library.opening import open_run

_OPENED = "compare_opened"


def open_result(result: RunSummary) -> None:
    """Callback: make this run the current run, if the library has its model."""
    entry = _entry_of(result)
    opened = False
    if entry is not None:
        opened = open_run(session_run(), session_library().library, entry.number)
    else:
        draw_toast("Your library has no model of this run. Train it again.")
    st.session_state[_OPENED] = opened


def _entry_of(result: RunSummary) -> RunSummary | None:
    try:
        return session_library().library.find(result.experiment)
    except LibraryError:
        return None


def was_opened() -> bool:
    """Return, once, whether `open_result` has just opened a run."""
    return bool(st.session_state.pop(_OPENED, False))


_REASON, _EXACT, _EACH, _CAUTION = "why not finished", "exact match", "each seed", "caution"
_REACHED, _STEPS = f"reached {TARGET:.0%}", f"steps to {TARGET:.0%}"
# Columns with a set width: one as wide as its heading would cut off the values.
_WIDE = ("accuracy", _EXACT, "loss (nats)", "learned")


def draw_table(rows: Sequence[Row], labels: Sequence[str], wanted: int) -> None:
    """Draw one row per setting, and a button that opens a run of the selected setting.

    `wanted` is the number of seeds per setting.
    """
    names = differing_options(rows)
    metrics = metrics_of(rows)
    table = pd.DataFrame([_cells(row, names, metrics, wanted) for row in rows])
    table = table.drop(columns=[name for name in (_REASON, _CAUTION) if not any(table[name])])
    if all(row.exact_match is None for row in rows):
        table = table.drop(columns=_EXACT)
    chosen = st.dataframe(
        table,
        column_config={
            **{name: st.column_config.TextColumn(width=130) for name in _WIDE},
            _REACHED: st.column_config.TextColumn(width=150, help=_reached_help(rows)),
            _STEPS: st.column_config.TextColumn(width=130, help="The median over seeds."),
            _EACH: st.column_config.TextColumn(width=min(24 + 44 * wanted, 460)),
        },
        key="compare_table",
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        alt=f"The comparison as a table, {len(rows)} settings.",
    )
    st.caption(
        f"Select a row to look inside one of its runs. Numbers are means over seeds, with the "
        f"{OF_SEEDS} in parentheses.",
        help=unseen_text(wanted),
    )
    places = chosen["selection"]["rows"]
    if places and places[0] < len(rows):
        _draw_opening(rows[places[0]], labels[places[0]])


def _cells(row: Row, names: Sequence[str], metrics: Sequence[str], wanted: int) -> dict[str, str]:
    options, known, reached = dict(row.setting.options), row.references, row.to_target
    each = figures_of(row, _each_figure([row])[0]).values()
    experiment = row.setting.experiment
    words = OF_LAW if experiment is None else experiment.generator.best_words
    cells = {option_label(name): options.get(name, "–") for name in names}
    return cells | {
        "n": f"{len(row.finished)} of {wanted}" if row.setting.experiment else "–",
        "accuracy": interval_text(row.accuracy),
        _EXACT: interval_text(row.exact_match),
        words.ceiling: known_text(known and known.best, "accuracy"),
        "loss (nats)": interval_text(row.nll),
        words.floor: known_text(known and known.best, "nll"),
        "learned": share_text(row.learned),
        **{measure_label(name): interval_text(row.metrics.get(name)) for name in metrics},
        _REACHED: reached_text(row.reached),
        _EACH: " ".join(f"{value:.3f}" for value in each) or "–",
        _STEPS: _steps(row) if reached else "–",
        "parameters": "–" if row.parameters is None else f"{row.parameters:,}",
        "seconds a run": "–" if row.seconds is None else f"{row.seconds:.1f}",
        _CAUTION: caution_text(row.accuracy, row.exact_match, row.learned, *row.metrics.values()),
        _REASON: "; ".join(dict.fromkeys(each.reason for each in row.unfinished)),
    }


def _reached_help(rows: Sequence[Row]) -> str:
    return (
        f"Seeds whose last test reached {TARGET:.0%} of {_each_figure(rows)[2]}, with the Wilson "
        "interval of their share."
    )


def _each_figure(rows: Sequence[Row]) -> tuple[str, str, str]:
    """Return attribute and label of the result listed per seed, and the noun for its target."""
    if any(row.exact_match is not None for row in rows):
        return "exact_match", _EXACT, "the targets"
    return "accuracy", "accuracy", "what can be learned"


def _steps(row: Row) -> str:
    reached = present(row.to_target)
    if reached.median is None:
        return f"{reached.reached} of {reached.n} runs"
    return f"{reached.median:,.0f}"


def _draw_opening(row: Row, label: str) -> None:
    results: dict[int, RunSummary] = {run.experiment.seed: run for run in row.results}
    with st.container(horizontal=True, vertical_alignment="bottom", key="compare_opening"):
        if not results:
            st.caption(as_message(f"{label}: no finished run yet."))
            return
        # Seeds are texts: a number that the next setting lacks would raise an error.
        seed = st.selectbox(
            "seed", [str(seed) for seed in results], key="compare_open_seed", width=120
        )
        draw_button("Look inside", "compare_open", "search", open_result, results[int(seed)])
        if was_opened():
            go_to(LOOK_INSIDE_PAGE)
        st.caption(as_message(f"A run of {label}. Your current run stays among the past runs."))


def draw_results(source: Job | Example | None) -> tuple[Row, ...]:
    """Draw progress and results of a comparison; return its rows, or () while it runs."""
    if source is None:
        return ()
    if isinstance(source, Example):
        rows = rows_of_example(source)
        fragment(_draw_rows, key="compare_example")(rows, source.of)
        return rows
    draw_runs(partial(_draw, source.of))
    state = source.state()
    return () if state.running or not state.latest else rows_of(source.of, state.latest.results)


def _draw(plan: Plan, found: ComparisonProgress | Example) -> None:
    if isinstance(found, Example):
        _draw_rows(rows_of_example(found), found.of)
    else:
        _draw_rows(rows_of(plan, found.results), plan.grid)


def _draw_rows(rows: Sequence[Row], grid: Grid) -> None:
    labels = setting_labels(rows)
    link = page_address("compare", _query(grid)) if grid.base else ""
    draw_dots(rows, labels, grid.seeds, link)
    if any(row.finished for row in rows):
        for name in set(grid.metrics) - {*metrics_of(rows), *FIGURES}:
            measure = present(measure_of(name))
            needs = f" It needs {measure.needs}." if measure.needs else ""
            st.caption(f"{measure.label} is not defined here.{needs}")
    settings = {label: row.setting.experiment for row, label in zip(rows, labels, strict=True)}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Next**: choose another question, or train one of these:", width="content")
        draw_train_menu({k: each for k, each in settings.items() if each}, "compare_train")
    with st.expander("All numbers · Look inside a run", icon=":material/table:"):
        draw_table(rows, labels, grid.seeds)
    draw_curves(rows, labels)


@panel("Link and table", key="compare_export", icon="link")
def draw_export(grid: Grid | None, rows: Sequence[Row]) -> None:
    """Draw the link to the comparison of the controls, and a download of the finished runs."""
    if grid is None or grid.base is None:
        st.info("These settings cannot run, so they have no link.", icon=":material/link_off:")
    else:
        st.markdown("This link opens the whole comparison: settings, varied options and seeds.")
        draw_address(_query(grid))
    if rows:
        name = "attnlab-comparison.csv"
        draw_download("Table, CSV", name, "text/csv", lambda: to_csv(rows), key="compare_csv")


def _query(grid: Grid) -> dict[str, str]:
    """Return the parameters of a link to a comparison."""
    parameters = to_parameters(grid.options, grid.seeds, grid.metrics)
    return to_query(present(grid.base)) | parameters
