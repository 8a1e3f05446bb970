"""The gallery of published results: claims, runs, and verdicts."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import streamlit as st

from attnlab import charts
from attnlab.comparisons.grid import MOST_SEEDS
from attnlab.comparisons.many import run_all
from attnlab.comparisons.shipped import shipped
from attnlab.configuration.number_text import show_duration, show_positions
from attnlab.configuration.options import OptionError, present
from attnlab.known_results import (
    AGREES,
    DISAGREES,
    OPEN,
    KnownResult,
    Verdict,
    number_label,
    number_text,
    overall,
)
from attnlab.known_results.blog_post import BLOG_POST
from attnlab.live.jobs import JobState
from attnlab.result_card import card_of_known_result
from attnlab.runs.differences import changes_between
from attnlab.runs.library import Library
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment
from attnlab.training.limits import Limits, check_comparison
from attnlab.ui.compare.published import draw_question
from attnlab.ui.compare.results import open_result, was_opened
from attnlab.ui.controls.address import draw_train_menu, go_to
from attnlab.ui.controls.address_controls import number_field
from attnlab.ui.core.display import LOOK_INSIDE_PAGE
from attnlab.ui.core.fragments import fragment, panel
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, job_of, start_job
from attnlab.ui.core.outside import as_message, draw_error, draw_warning
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits
from attnlab.ui.core.session_library import session_library
from attnlab.ui.core.web import page_address

# The word, the colour and the icon of each verdict.
_VERDICTS = {
    AGREES: ("agrees", "green", "check"),
    OPEN: ("inconclusive", "gray", "question_mark"),
    DISAGREES: ("disagrees", "red", "close"),
}
# Terms in the names of measures, with their names in the glossary.
_TERMS = {
    "exact match": "exact match",
    "prefix match": "prefix match",
    "accuracy": "accuracy",
    "unigram": "unigram",
    "floor": "floor",
    "nats": "nat",
    "R²": "explained variance",
}
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


def draw_gallery(results: Sequence[KnownResult]) -> None:
    """Draw how many results the runs agree with, and the cards of the results in two columns."""
    says = {known.name: overall(known.verdicts(known.shipped_numbers)) for known in results}
    count = Counter(says.values())
    with st.container(horizontal=True, vertical_alignment="center", key="known_overview"):
        st.markdown(
            f"**The runs agree with {count[AGREES]} of {len(results)} published results**, "
            f"disagree with {count[DISAGREES]}, and are inconclusive for {count[OPEN]}. "
            ":small[:gray[Dots are our runs, ◇ is a published number, and a grey band is the range "
            "that a claim allows.]]",
        )
        only = st.pills(
            "verdict",
            list(_VERDICTS),
            format_func=lambda each: f"{_VERDICTS[each][0]} {count[each]}",
            key="known_verdict",
            label_visibility="collapsed",
        )
    shown = [known for known in results if only in (None, says[known.name])]
    # Not in rows: a panel that opens would leave the other half of its row empty.
    columns = st.columns(2)
    for place, known in enumerate(shown):
        with columns[place % 2]:
            _draw_card(known)


def _draw_card(known: KnownResult) -> None:
    """Draw a published result: its claim, source, verdict and chart; the rest in a panel."""
    numbers = known.shipped_numbers
    measure = number_label(known.checks[0].measure)
    with st.container(border=True, key=f"known_{known.name}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.header(known.title, anchor=known.name, width="content")
            st.markdown(_badge(known.verdicts(numbers)), width="content")
        st.markdown(known.claim)
        if known.found:
            st.markdown(f"**{as_message(known.outcome(numbers))}**")
        means = (
            f"{setting} {number_text(float(np.mean([*found.values()])))}"
            for setting, of in numbers.items()
            if (found := of[known.checks[0].measure])
        )
        draw_chart(
            charts.result_chart(known, numbers),
            name=known.title,
            alt=f"{measure}, mean over seeds: {', '.join(means)}.",
            card=partial(
                card_of_known_result, known, link=page_address("known_results", {}, known.name)
            ),
        )
        st.caption(f"{_papers(known)}. Measured: {_linked(measure)}. Our runs: {_runs(known)}.")
        details = panel(
            "How it was checked · Run it here",
            key=f"known_{known.name}_details",
            icon="fact_check",
        )
        fragment(details(_draw_details), key=f"known_{known.name}_shipped")(known)


def _badge(verdicts: Sequence[Verdict]) -> str:
    """Return the badge of the verdict on all these claims, in Markdown."""
    word, colour, icon = _VERDICTS[overall(verdicts)]
    return f":{colour}-badge[:material/{icon}: {word}]"


def _papers(known: KnownResult) -> str:
    """Return the authors and year of each publication, with a link if it is on arXiv."""
    return "; ".join(
        f"[{by}](https://arxiv.org/abs/{number})" if number else by
        for by, number in known.papers.items()
    )


def _runs(known: KnownResult) -> str:
    """Return the processes of a result's runs, with options of one word that are not usual."""
    found = {each.generator: each for each in known.settings.values()}
    said = []
    for process, each in found.items():
        usual = Experiment(generator=type(process)(), length=each.length)
        own = Experiment(generator=process, length=each.length)
        options = ", ".join(
            f"{change.label} {change.after}"
            for change in changes_between(usual, own)
            if change.label != "length" and " " not in change.after
        )
        said.append(f"`{process.name}`" + f" ({options})" * bool(options))
    lengths = show_positions({each.length for each in known.settings.values()})
    return f"{', '.join(dict.fromkeys(said))}; length {lengths}"


def _linked(measure: str) -> str:
    """Return the name of a measure, with links from its terms to the glossary."""
    return re.sub("|".join(_TERMS), lambda term: link_to(_TERMS[term[0]], term[0]), measure)


def _draw_details(known: KnownResult) -> None:
    """Draw how a result was checked, the verdict on each claim, and how to train its runs."""
    if known is BLOG_POST:
        draw_question()
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
    st.subheader("Run it here", anchor=False, divider="gray")
    fragment(_draw_own_runs, key=f"known_{known.name}_own")(known)


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
    st.markdown(f"{check.claim} {_badge([verdict])}")
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
        runs = len(own.study.runs)
        draw_job_buttons(name, f"Train {runs} runs", partial(start_job, name, make, of=own))
    seconds = 60 * shipped(known.name).minutes * seeds / known.study.seeds
    st.caption(
        f"This takes about {show_duration(seconds)} of processor time. Runs in your library are "
        f"not trained again. On the command line: `attnlab reproduce {known.name}`."
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
    st.markdown(f"**Your {seeds}:** {_badge(verdicts)}")
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
