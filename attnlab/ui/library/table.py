"""The runs of the library as a table: filters, cell texts and selection."""

import functools
import math
from collections.abc import Callable, Collection, Iterable
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.configuration.number_text import show_estimate
from attnlab.optimum import Best, optimum
from attnlab.runs.differences import changes_between
from attnlab.runs.library import SORTS, Choices, Library, Query
from attnlab.runs.past_runs import name_of
from attnlab.runs.run_summary import STATES, RunSummary
from attnlab.training.experiment import Experiment
from attnlab.training.shares import LearnedShare, learned_share
from attnlab.ui.core.display import TRAIN_PAGE, draw_button
from attnlab.ui.core.figures import figure
from attnlab.ui.core.server import hosted
from attnlab.ui.core.session import open_sessions

MOST_SELECTED = 100
_SELECTED, _TABLES = "library_ticked", "library_tables"


def selected_runs() -> tuple[int, ...]:
    """Return the numbers of the selected runs, in the order of selection."""
    return st.session_state.get(_SELECTED, ())


def select_runs(numbers: Iterable[int]) -> None:
    """Callback: select exactly these runs; this creates a new table."""
    _select(numbers)
    st.session_state[_TABLES] = st.session_state.get(_TABLES, 0) + 1


def _select(numbers: Iterable[int]) -> None:
    st.session_state[_SELECTED] = tuple(dict.fromkeys(numbers))[:MOST_SELECTED]


def selected_entries(library: Library, *, in_bin: bool) -> tuple[RunSummary, ...]:
    """Return the selected runs, without those that were deleted or restored meanwhile."""
    found = (library.entry(number) for number in selected_runs())
    return tuple(each for each in found if each and (each.deleted is not None) == in_bin)


# Number of points of a thumbnail curve.
_POINTS = 40
_MOST_LETTERS = 60
# Cached, since computing the settings' text takes as long as reading the run.
_MOST_REMEMBERED = 1_000
NOTHING = "–"


@functools.lru_cache(_MOST_REMEMBERED)
def _own_settings(experiment: Experiment) -> tuple[str, ...]:
    """Return the settings that differ from the defaults, except length and seed, as texts."""
    plain = Experiment(
        generator=type(experiment.generator)(),
        model=type(experiment.model)(),
        length=experiment.length,
        seed=experiment.seed,
    )
    return tuple(
        f"{change.label} {change.after}"
        if len(change.after) <= _MOST_LETTERS
        else f"custom {change.label}"
        for change in changes_between(plain, experiment)
    )


def _best_of(experiment: Experiment) -> Best | None:
    """Return the best possible result at the final position, or None while it is computed."""
    known = figure(optimum, experiment.generator, experiment.length)
    return None if known is None else known.final


def _learned(entry: RunSummary) -> LearnedShare | None:
    """Return the share of what can be learned, or None without a test or while it is unknown."""
    test, best = entry.evaluation, _best_of(entry.experiment)
    if test is None or best is None or not math.isfinite(test.nll):
        return None
    return learned_share(test, best, entry.experiment.generator.vocabulary.size)


def results_of(entry: RunSummary) -> dict[str, str]:
    """Return a run's test results with standard errors, as text by column name."""
    test, learned = entry.evaluation, NOTHING
    if test is None or not math.isfinite(test.nll):
        return dict.fromkeys(("learned", "accuracy", "loss (nats)"), NOTHING)
    if found := _learned(entry):
        learned = f"{show_estimate(100 * found.share, 100 * found.stderr, most_places=0)} %"
    return {
        "learned": learned,
        "accuracy": show_estimate(test.accuracy, test.accuracy_stderr),
        "loss (nats)": show_estimate(test.nll, test.nll_stderr),
    }


def _thumbnail_of(entry: RunSummary) -> list[float] | None:
    """Return points of the test-loss curve, evenly spaced, from 1 (uniform guess) to 0 (floor).

    Return None with fewer than two tests, or if the floor is unknown or nothing can be learned.
    """
    best, vocab = _best_of(entry.experiment), entry.experiment.generator.vocabulary.size
    tests = [(step, test) for step, test in entry.tests if math.isfinite(test.nll)]
    if best is None or len(tests) < 2 or learned_share(best, best, vocab) is None:
        return None
    uniform = np.log(vocab)
    steps = [step for step, _ in tests]
    shares = [(test.nll - best.nll) / (uniform - best.nll) for _, test in tests]
    even = np.interp(np.linspace(0, steps[-1], _POINTS), steps, shares)
    # Values outside this range would stretch the browser's axis.
    return even.clip(0, 1).round(3).tolist()


def _browser_zone() -> ZoneInfo | None:
    """Return the time zone of the browser, or None if it is unknown."""
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ZoneInfoNotFoundError, ValueError):
        return None


_ANY = ""
_VIEWS = {False: "Runs", True: "Bin"}
_FILTERS = ("generator", "model", "tag", "state")
_PAGE = "library_page"


def draw_filters(choices: Choices) -> Query:
    """Draw the search field, the filters and the sort order; return the query they describe."""

    def draw(control: Callable[..., Any], label: str, name: str, *values: Any, **options: Any):
        """Draw a control; a change of its value leads to the first page."""
        common = {"key": f"library_{name}", "persist_state": "session", "on_change": _first_page}
        return control(label, *values, **common | options)

    def choose(label: str, name: str, values: tuple[str, ...]) -> str:
        # The last run with the selected value may have been deleted.
        if st.session_state.get(f"library_{name}", _ANY) not in (_ANY, *values):
            st.session_state[f"library_{name}"] = _ANY
        options = {"format_func": lambda value: value or "any", "width": 140}
        return draw(st.selectbox, label, name, [_ANY, *values], **options)

    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="filters"):
        text = draw(
            st.text_input,
            "search",
            "text",
            max_chars=200,
            placeholder="search names, notes, tags, errors …",
            label_visibility="collapsed",
            width=320,
        )
        set_ = sum(bool(st.session_state.get(f"library_{name}")) for name in _FILTERS)
        with st.popover(f"Filter and sort{f' ({set_} on)' * (set_ > 0)}", icon=":material/tune:"):
            filters = {
                "generator": choose("process", "generator", choices.generators),
                "model": choose("model", "model", choices.models),
                "tag": choose("tag", "tag", choices.tags),
                "state": choose("state", "state", tuple(STATES)),
                "sort": draw(st.selectbox, "sorted by", "sort", list(SORTS), width=140),
                "descending": draw(st.toggle, "descending", "descending", True),
            }
        deleted = draw(
            st.segmented_control,
            "view",
            "view",
            list(_VIEWS),
            default=False,
            required=True,
            format_func=lambda view: _VIEWS.get(view, ""),
            label_visibility="collapsed",
            on_change=_other_view,
        )
    return Query(text=text, deleted=deleted, **filters)


def draw_nothing(library: Library, *, in_bin: bool) -> None:
    """Draw what to do next, in place of an empty table."""
    if library.count(Query(deleted=in_bin)):
        st.info("No run matches.", icon=":material/filter_alt:")
        draw_button("Show all", "library_clear", None, _clear_filters)
    elif in_bin:
        st.info("The bin is empty.", icon=":material/delete:")
    else:
        words = "done" if hosted() else "paused or done"
        st.markdown(
            f"There are no runs yet. Press Start on the Train page: a run that is {words} is "
            "added here automatically."
        )
        if draw_button("Train a run", "library_train", "model_training", type="primary"):
            st.switch_page(TRAIN_PAGE)


def _clear_filters() -> None:
    for name in ("text", *_FILTERS):
        st.session_state[f"library_{name}"] = _ANY
    _first_page()


def _first_page() -> None:
    st.session_state[_PAGE] = 1


def _other_view() -> None:
    _first_page()
    select_runs(())


def draw_page_choice(pages: int) -> int:
    """Draw the page numbers; return the index of the selected page, from 0."""
    if pages <= 1:
        return 0
    # There may have been more pages in the last rerun.
    st.session_state[_PAGE] = min(pages, st.session_state.get(_PAGE, 1))
    return st.pagination(pages, key=_PAGE, persist_state="session", max_visible_pages=5) - 1


ROWS_ON_PAGE = 25
_STATES = {**STATES, "training": "goes on now"}
# The other columns can be shown by the table's menu.
_SHOWN = "number,name,loss curve,share,accuracy,process,model,settings,state"
_TEXT, _NUMBER = st.column_config.TextColumn, st.column_config.NumberColumn
# The headings of columns, with help; the formats are of Streamlit.
COLUMNS = MappingProxyType(
    {
        "number": _NUMBER("no.", format="%d", width=50, help="The run's number in the library."),
        "name": _TEXT("run", help="The run's name, or its number. Select a run to name it."),
        "process": _TEXT(help="The process that generates the sequences; see the page Processes."),
        "model": _TEXT(help="The model that learned to predict the next token."),
        "length": _NUMBER("visible tokens", help="Sequence length. The next token is predicted."),
        "state": _TEXT(help="\n".join(f"- {name}: {text}" for name, text in _STATES.items())),
        "loss curve": st.column_config.LineChartColumn(
            "test loss curve",
            y_min=0,
            y_max=1,
            width=180,
            help="Test loss during training, from a uniform guess (top) to the lowest possible "
            "loss (bottom).",
        ),
        "loss (nats)": _TEXT(
            "test loss (nats)",
            help="Mean of −log p(correct token) on the test set, ± one standard error. Lower is "
            "better.",
        ),
        "accuracy": _TEXT(
            "test accuracy",
            help="Share of correct predictions on the test set, from 0 to 1, ± one standard error.",
        ),
        "learned": _TEXT(
            width=90,
            help="Share of what can be learned: 0 % is the loss of a uniform guess, 100 % the "
            "lowest possible loss.",
        ),
        "share": st.column_config.ProgressColumn(
            "learned", format="%.0f %%", min_value=0, max_value=100, width=150
        ),
        "steps": _NUMBER(format="localized", help="Training steps made."),
        "seconds": _NUMBER("training time (s)", format="%.1f"),
        "seed": _NUMBER(help="Runs with the same settings differ by their seed."),
        "settings": _TEXT(
            width=230,
            help="Settings that differ from their defaults, without those of all runs shown here.",
        ),
        "tags": _TEXT(help="Your tags. Select a run to change them."),
        "note": _TEXT(help="The first line of your note. Select a run to change it."),
        "kept": _TEXT("saved", help="When the run was last saved, with the offset from UTC."),
        "parameters": _TEXT(help="Number of parameters of the model."),
    }
)


def draw_table(entries: tuple[RunSummary, ...], *, first: int, count: int) -> None:
    """Draw one page of the table of `count` runs; `first` is the index of its first run."""
    numbers, before = tuple(entry.number for entry in entries), selected_runs()
    # The key names the runs, since a row number means another run in another table.
    key = f"library_table_{st.session_state.get(_TABLES, 0)}_{hash(numbers)}"

    def select() -> None:
        """Take the selection of this page, and keep that on other pages."""
        new = [numbers[row] for row in st.session_state[key]["selection"]["rows"]]
        stay = [n for n in selected_runs() if n in new or n not in numbers]
        _select([*stay, *sorted(new, key=numbers.index)])

    own = [_own_settings(entry.experiment) for entry in entries]
    common = set.intersection(*map(set, own)) if len(own) > 1 else set()
    st.dataframe(
        pd.DataFrame([_row(entry, common) for entry in entries]),
        key=key,
        hide_index=True,
        on_select=select,
        selection_mode="multi-row",
        selection_default={
            "selection": {"rows": [i for i, number in enumerate(numbers) if number in before]}
        },
        column_order=_SHOWN.split(","),
        column_config=dict(COLUMNS),
        # High enough for a curve.
        row_height=56,
        placeholder=NOTHING,
        alt=f"Table of the library's runs, {len(entries)} on this page.",
    )
    last = min(first + ROWS_ON_PAGE, count)
    shown = f"Run {last:,}" if last == first + 1 else f"Runs {first + 1:,} to {last:,}"
    st.caption(f"{shown} of {count:,}. Point at a heading to read what it means.")


def _is_training(entry: RunSummary) -> bool:
    """Return whether an open session trains this run now."""
    saved = (run.autosave.kept for run in open_sessions().runs() if run.snapshot().active)
    return any(kept and (kept.number, kept.date) == (entry.number, entry.date) for kept in saved)


def _row(entry: RunSummary, common: Collection[str]) -> dict[str, object]:
    experiment = entry.experiment
    return {
        "number": entry.number,
        "name": name_of(entry),
        "process": experiment.generator.name,
        "model": experiment.model.name,
        "settings": ", ".join(each for each in _own_settings(experiment) if each not in common),
        "seed": experiment.seed,
        "loss curve": _thumbnail_of(entry),
        "share": None if (found := _learned(entry)) is None else 100 * found.share,
        **results_of(entry),
        "steps": entry.steps,
        "state": "training" if _is_training(entry) else entry.state,
        "length": experiment.length,
        "seconds": entry.seconds or None,
        "tags": ", ".join(entry.tags),
        "note": entry.note.partition("\n")[0],
        "kept": entry.kept_at(_browser_zone()),
    }
