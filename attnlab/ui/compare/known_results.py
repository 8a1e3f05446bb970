"""The gallery of published results: claims, runs, and verdicts."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import streamlit as st

from attnlab import charts
from attnlab.comparisons.grid import MOST_SEEDS
from attnlab.comparisons.many import run_all
from attnlab.comparisons.shipped import shipped
from attnlab.configuration.options import OptionError, present
from attnlab.known_results import (
    AGREES,
    DISAGREES,
    KnownResult,
    Verdict,
    number_label,
    number_text,
    overall,
)
from attnlab.known_results.blog_post import BLOG_POST
from attnlab.live.jobs import JobState
from attnlab.runs.library import Library
from attnlab.runs.run_summary import RunSummary
from attnlab.training.limits import Limits, check_comparison
from attnlab.ui.compare.published import draw_question
from attnlab.ui.compare.results import open_result, was_opened
from attnlab.ui.controls.address import draw_train_menu, go_to
from attnlab.ui.controls.address_controls import number_field
from attnlab.ui.core.display import LOOK_INSIDE_PAGE
from attnlab.ui.core.fragments import fragment, panel
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, job_of, start_job
from attnlab.ui.core.outside import draw_error, draw_warning
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits
from attnlab.ui.core.session_library import session_library

_VERDICTS = {
    AGREES: "The runs agree.",
    DISAGREES: "The runs disagree.",
}
_UNDECIDED = "The runs are inconclusive."
# Seeds that are neither shown nor used to choose settings.
_OWN_SEEDS, _FIRST_OWN, _LAST_SEED = 5, 20, 1_000_000
# With three, Wilson's interval always includes one half.
_FEWEST_TO_DECIDE = 4
_RULE = (
    "The runs agree with a claim if the 95 % Wilson interval for the share of seeds in its range "
    "is above one half. They disagree if it is below."
)

_SCRIPT = """\
from attnlab.comparisons.many import run_all
from attnlab.known_results import KNOWN_RESULTS

known = KNOWN_RESULTS["{name}"]
results = run_all(known.study.runs, **known.study.recording)
for verdict in known.verdicts(known.numbers_of(results)):
    print(verdict.check.claim, [*verdict.numbers.values()], verdict.says)
"""


def draw_overview(results: Iterable[KnownResult]) -> None:
    """Draw how many results were reproduced, and links to the cards, by verdict."""
    links: dict[str, list[str]] = {}
    for known in results:
        says = _says(known.verdicts(known.shipped_numbers))
        links.setdefault(says, []).append(f"- [{known.title}](#{known.name})")
    count = {says: len(lines) for says, lines in links.items()}
    agree, disagree = (count.get(_VERDICTS[each], 0) for each in (AGREES, DISAGREES))
    st.markdown(
        f"**The runs agree with {agree} of {sum(count.values())} published results**, "
        f"disagree with {disagree}, and are inconclusive for {count.get(_UNDECIDED, 0)}."
    )
    for column, (says, lines) in zip(st.columns(len(links)), links.items(), strict=True):
        column.markdown("\n".join([f"**{says}**\n", *lines]))


def draw_gallery(results: Sequence[KnownResult]) -> None:
    """Draw the cards of these results, two per row; that of the blog post is as wide as both."""
    for known in results:
        if known is BLOG_POST:
            _draw_card(known)
    others = [known for known in results if known is not BLOG_POST]
    for at in range(0, len(others), 2):
        for column, known in zip(st.columns(2), others[at : at + 2], strict=False):
            with column:
                _draw_card(known)


def _draw_card(known: KnownResult) -> None:
    """Draw a published result: its claim, the verdict, and one chart; the rest in panels."""
    numbers = known.shipped_numbers
    with st.container(border=True, height="stretch", key=f"known_{known.name}"):
        st.header(known.title, anchor=known.name)
        st.markdown(f"{known.claim} **{_says(known.verdicts(numbers))}**")
        if known is BLOG_POST:
            draw_question()
        else:
            measure = known.checks[0].measure
            means = (
                f"{setting} {number_text(float(np.mean([*of[measure].values()])))}"
                for setting, of in numbers.items()
                if of[measure]
            )
            draw_chart(
                charts.result_chart(known, numbers),
                name=known.title,
                alt=f"{number_label(measure)}, mean over seeds: {', '.join(means)}.",
            )
        details = panel("Details", key=f"known_{known.name}_details", icon="list")
        fragment(details(_draw_details), key=f"known_{known.name}_shipped")(known)
        title = f"Run it here (about {shipped(known.name).minutes:.0f} min)"
        run_here = panel(title, key=f"known_{known.name}_here", icon="play_arrow")
        fragment(run_here(_draw_own_runs), key=f"known_{known.name}_own")(known)


def _draw_details(known: KnownResult) -> None:
    """Draw how a result was checked, and the verdict on each of its claims."""
    st.caption(f"Published in {known.source}. {known.differs}")
    if known.predicted:
        st.markdown(f"**Predicted from the process alone:** {known.predicted}")
    for verdict in known.verdicts(known.shipped_numbers):
        _draw_verdict(verdict, known.title)
    stored = shipped(known.name)
    if stored.plots:
        first = known.study.settings[0].label
        st.markdown(f"**One of these runs** ({first}, seed {known.study.first_seed})")
    for plot in stored.plots:
        st.caption(plot.title)
        draw_chart(
            charts.plot_chart(plot),
            name=f"{known.title}: {plot.title}",
            alt=f"{plot.title}: {plot.y} by {plot.x}, {len(plot.points)} points.",
        )
    st.caption(_RULE)
    st.caption(
        f"Runs: {_seeds_text(known.seeds)}, {stored.made}. Claims were fixed before these runs"
        f"{_tuned(known)}."
    )


def _says(verdicts: Sequence[Verdict]) -> str:
    return _VERDICTS.get(overall(verdicts), _UNDECIDED)


def _tuned(known: KnownResult) -> str:
    if not known.tuned_on:
        return ""
    return f", and settings were tuned on {_seeds_text(known.tuned_on)}"


def _seeds_text(seeds: Sequence[int]) -> str:
    spans = np.split(seeds, np.flatnonzero(np.diff(seeds) > 1) + 1)
    texts = (f"{each[0]} to {each[-1]}" if len(each) > 1 else f"{each[0]}" for each in spans)
    return f"seed{'s' * (len(seeds) > 1)} {' and '.join(texts)}"


def _draw_verdict(verdict: Verdict, title: str) -> None:
    check = verdict.check
    st.markdown(f"{check.claim} **{verdict.says.capitalize()}.**")
    draw_chart(
        charts.claim_chart(verdict),
        name=f"{title}: {check.claim}",
        alt=f"{check.label} of each seed: " + ", ".join(map(number_text, verdict.numbers.values())),
    )
    st.caption(verdict.in_words())


def _draw_own_runs(known: KnownResult) -> None:
    """Draw controls that train the runs with seeds of your choice, and the verdicts on them."""
    name = f"known_{known.name}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # A hosted server allows less.
        usual = next((n for n in range(_OWN_SEEDS, 1, -1) if not _problem(known, n)), 1)
        seeds = _draw_number("seeds", 1, MOST_SEEDS, usual, name)
        first = _draw_number("first seed", 0, _LAST_SEED, _FIRST_OWN, name)
        own = known.with_seeds(seeds, first)
        if problem := _problem(known, seeds):
            draw_error(problem)
            return
        make = partial(_train, own, session_library().library, limits())
        draw_job_buttons(name, "Train all", partial(start_job, name, make, of=own))
    minutes = max(1, round(shipped(known.name).minutes * seeds / known.study.seeds))
    st.caption(
        f"{len(own.study.runs)} runs, about {minutes} CPU minutes; runs in your "
        f"library are not trained again. On the command line: `attnlab reproduce {known.name}`."
    )
    if seeds < _FEWEST_TO_DECIDE:
        st.caption(f"Fewer than {_FEWEST_TO_DECIDE} seeds cannot decide a claim.")

    def draw(state: JobState | None) -> None:
        if state is not None and state.latest:
            _draw_own_results(present(job_of(name)).of, state.latest)

    def progress(results: Sequence[RunSummary] | None) -> tuple[float, str]:
        done, total = len(results or ()), len(present(job_of(name)).of.study.runs)
        return done / total, f"{done} of {total} runs"

    draw_job(name, draw, failed="Training", progress=progress)
    draw_train_menu(known.settings, f"{name}_train")
    st.caption("This script trains the shipped runs again:")
    st.code(_SCRIPT.format(name=known.name), language="python")


def _problem(known: KnownResult, seeds: int) -> str:
    """Return why this server does not train that many seeds, or ""."""
    try:
        check_comparison([*known.settings.values()], limits(), seeds=seeds)
    except OptionError as error:
        return str(error)
    return ""


def _draw_number(label: str, low: int, high: int, usual: int, name: str) -> int:
    key = f"{name}_{label.replace(' ', '_')}"
    st.session_state.setdefault(key, usual)
    return number_field(label, low, high, key=key, width=130, persist_state="session")


def _train(own: KnownResult, library: Library, limits: Limits) -> Iterator[tuple[RunSummary, ...]]:
    """Train the runs that the library lacks; yield the results so far after each run."""
    results, study = (), own.study
    for result in run_all(study.runs, library=library, limits=limits, **study.recording):
        # The models are in the library.
        results = (*results, dataclasses.replace(result, run=None))
        yield results


def _draw_own_results(own: KnownResult, results: Sequence[RunSummary]) -> None:
    verdicts = own.verdicts(own.numbers_of(results))
    seeds = _seeds_text(own.seeds)
    st.markdown(f"**Your {seeds}: {_says(verdicts)}**")
    for verdict in verdicts:
        if verdict.numbers:
            _draw_verdict(verdict, f"{own.title}, your {seeds}")
    if reasons := dict.fromkeys(each.reason for each in results if each.state != "done"):
        draw_warning("Some runs are not finished.", *reasons, icon=":material/warning:")
    _draw_inspect_menu(own, results)


def _draw_inspect_menu(own: KnownResult, results: Sequence[RunSummary]) -> None:
    """Draw a menu of the finished runs; a choice looks inside this run."""
    key = f"known_{own.name}_inspect"
    choices = {
        f"{setting.label}, seed {each.experiment.seed}": each
        for each in results
        if each.state == "done" and (setting := own.study.setting_of(each.experiment)) is not None
    }

    def open_chosen() -> None:
        if (chosen := choices.get(st.session_state[key])) is not None:
            open_result(chosen)

    if choices:
        icon = ":material/search:"
        st.menu_button("Look inside", list(choices), key=key, icon=icon, on_click=open_chosen)
    if was_opened():
        go_to(LOOK_INSIDE_PAGE)
