"""The best possible predictions of a process, its baselines, and the true dependence."""

import math
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import (
    HUES,
    TRUTHS,
    Scale,
    Series,
    level_table,
    lines_chart,
    map_chart,
    series_table,
    top_of_scale,
)
from attnlab.configuration.number_text import show_estimate, show_positions
from attnlab.configuration.options import present
from attnlab.generators import AbstractGenerator, AbstractHiddenChain
from attnlab.generators.context_tree import CTW, MATCH
from attnlab.generators.display import OF_REFERENCE
from attnlab.live.jobs import JobState
from attnlab.optimum import Baseline, Best, Dependence, Optimum, entropy_rate, informative_positions
from attnlab.ui.core.display import draw_metric
from attnlab.ui.core.figures import draw_gap, enumerate_exactly
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, forget_job, job_of, start_job
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.generators.sections import MEASURE_KEY, MEASURES

_WORK = "enumerate"
# What each baseline knows. `{word}` is the process's noun for a position.
_KNOWS = {
    "uniform": "nothing: all tokens equally probable",
    "unigram": "the distribution of the predicted {word}, ignoring all earlier ones",
    "order-1": "the last visible {word}",
    "linear": "all visible {word}s, each adding to the log-odds independently",
    "in-context unigram": "how often each token occurred among the visible {word}s",
    "in-context bigram": "which tokens followed earlier copies of the last one",
    "any output": "which tokens are outputs",
    "any value": "which tokens are values",
    "optimal": "all visible {word}s, and the process itself",
    CTW: "contexts of all lengths, weighted by how well they predict in training",
    MATCH: "what followed the longest match in training, backed off to shorter ones",
    OF_REFERENCE.floor: "the one above with the lowest loss in training blocks set aside",
}


def draw_enumeration(generator: AbstractGenerator, length: int, best: Optimum | None) -> None:
    """Draw a button that computes exact values, if the values shown are estimates."""
    plan = (generator, length)
    if (job := job_of(_WORK)) and job.of != plan:
        forget_job(_WORK)
    if best is None or best.exact or not generator.has_law:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        draw_job_buttons(
            _WORK,
            "Enumerate exactly",
            partial(start_job, _WORK, partial(enumerate_exactly, *plan), of=plan),
        )
        draw_job(_WORK, _draw_state, failed="The enumeration")


def _draw_state(state: JobState | None) -> None:
    if state is None:
        st.caption("These values are quick estimates from a sample.")
    elif state.running:
        st.caption(f":material/hourglass_top: {state.message or f'running: {state.latest} …'}")
    elif not state.done:
        st.caption(f"stopped {state.message}")
    elif not state.error:
        st.caption("There are too many belief states to enumerate, so the values remain estimates.")


def draw_optimum(best: Optimum | None, process: AbstractGenerator) -> None:
    """Draw floor and ceiling of the final position and, as curves, of each position.

    Below `word` is the process's noun for a position.
    """
    if best is None:
        draw_gap()
        return
    vocab, word, words = process.vocabulary.size, process.position_word, process.best_words
    final, days = best.final, np.arange(1, len(best.by_position) + 1)
    how = "computed exactly" if final.exact else "estimated, ± one standard error"
    most = "The highest possible accuracy (Bayes accuracy)"
    least, of_accuracy = "The lowest possible mean of −log p (Bayes loss)", words.ceiling
    about = (
        f"No model can have a higher expected accuracy than the {link_to('ceiling')}, or a lower "
        f"expected loss than the {link_to('floor')}."
    )
    if not process.has_law:
        most, least = (f"{each} on the held-out blocks" for each in ("Accuracy", "Mean of −log p"))
        how, of_accuracy = f"{how} over blocks", words.floor
        about = "The best reference is fitted to the training blocks. A model may beat it."
    with st.container(horizontal=True, gap="medium", key="optimum"):
        end = f"for {word} {days[-1]}. It is {how}."
        draw_metric(words.ceiling, _accuracy(final), f"{most} {end}")
        draw_metric(f"{words.floor} (nats)", _nll(final), f"{least} {end}")
        draw_metric("values", "exact" if final.exact else "estimated")
    ceilings = [(each.accuracy, each.accuracy_stderr) for each in best.by_position]
    floors, top = [(each.nll, each.nll_stderr) for each in best.by_position], float(np.log(vocab))
    for column, (title, found, domain, uniform) in zip(
        st.columns(2, gap="medium"),
        (
            (f"{of_accuracy} (accuracy)", ceilings, (0, 1), 1 / vocab),
            (f"{words.floor} (nats)", floors, (0, 1.15 * top), top),
        ),
        strict=True,
    ):
        values, stderr = np.array(found).T
        with column:
            draw_known_curve(
                f"{title.capitalize()} of each {word}",
                series_table("", days, values, stderr),
                titles=(f"{word} predicted", title),
                domain=domain,
                reference=("a uniform guess", uniform),
                below=found is ceilings,
                hue=HUES.truth if process.has_law else HUES.reference,
                alt=f"{title} of each {word}: {values[0]:.3f} on {word} 1, {values[-1]:.3f} on "
                f"{word} {days[-1]}.",
            )
    st.caption(f"{about} Each {word} is predicted from the {word}s before it.")


def draw_entropy_rate(chain: AbstractHiddenChain) -> None:
    """Draw the bounds of the entropy rate, the limit of the floor for long pasts."""
    rate = entropy_rate(chain)
    # Rounded outwards, so that they stay bounds.
    low, high = math.floor(rate.low * 1e4) / 1e4, math.ceil(rate.high * 1e4) / 1e4
    start = "As the past grows, the floor tends to"
    if not chain.is_stationary():
        start = "With a first hidden state of the long-run distribution, the floor would tend to"
    st.caption(
        f"{start} the {link_to('entropy rate')}, which is between {low:.4f} and {high:.4f} nats."
    )


def draw_known_curve(
    name: str,
    table: pd.DataFrame,
    *,
    titles: tuple[str, str],
    domain: tuple[float, float],
    reference: tuple[str, float],
    below: bool,
    alt: str,
    hue: str = HUES.truth,
) -> None:
    """Draw a known quantity as a grey line, with a band of ± one standard error.

    `reference` is the name and value of a level, with its name above or `below` it.
    """
    level, value = reference
    chart = lines_chart(
        table,
        level_table({level: value}, table["at"].to_numpy()),
        x=Scale(titles[0], kind="ordinal"),
        y=Scale(titles[1], ".4f", domain=domain),
        series=(Series("", hue, dash=(5, 4)),),
        look="band",
        below=below,
        height=260,
    )
    draw_chart(chart, name=name, alt=alt)


# The linear predictor's loss decreases forever if some tokens are impossible.
_STOPPED = "≈ and ≤: the optimisation was stopped early, since some tokens are impossible."


def draw_ladder(baselines: tuple[Baseline, ...] | None, word: str) -> None:
    """Draw a table of the baselines, each with more information than the one above it."""
    if baselines is None:
        draw_gap()
        return
    # Only three columns fit on a phone.
    lines = ["| predictor and its information | accuracy | loss (nats) |", "|:--|:--|:--|"]
    for baseline in baselines:
        name, found = baseline.name, f"{_accuracy(baseline.best)} | {_nll(baseline.best)}"
        of_order = f"the last {name.removeprefix('order-')} visible {{word}}s"
        knows = _KNOWS.get(name, of_order).format(word=word)
        lines.append(f"| **{name}** · {knows} | {found} |")
    stopped = any(baseline.best.bounded for baseline in baselines)
    with st.container(key="ladder"):
        st.markdown("\n".join(lines))
    counts = any(baseline.name.startswith("in-context") for baseline in baselines)
    st.caption(
        "Each row is fitted to the training blocks and measured on the held-out blocks, ± one "
        "standard error over blocks. Models may beat all of them."
        if baselines[-1].name == OF_REFERENCE.floor
        else "Each row is the predictor with the lowest expected loss for that information. For "
        "linear only, another may be more accurate."
        + " In-context rows predict from counts of tokens; others may be better." * counts
        + f" {_STOPPED}" * stopped
    )


def draw_dependence(dependence: Dependence | None, word: str) -> None:
    """Draw the choice of a measure, and the map of the true dependence by this measure."""
    chosen = st.segmented_control(
        "measure",
        list(MEASURES),
        required=True,
        format_func=lambda name: f"{name}: {MEASURES[name].format(word=word)}",
        key=MEASURE_KEY,
        persist_state="session",
    )
    measure = present(chosen)
    if dependence is None:
        draw_gap()
        return
    length = len(dependence.replacement)
    title, meaning = {
        "replacement": (
            "total variation",
            f"how much the prediction changes when that {word} is replaced at random (total "
            "variation, 0 to 1)",
        ),
        "information": (
            "information (nats)",
            f"how much the Bayes loss increases, in nats, when only that {word} is hidden",
        ),
    }[measure]
    values, stderr = (getattr(dependence, f"{measure}{part}") for part in ("", "_stderr"))
    final, informative = values[-1], np.flatnonzero(informative_positions(dependence))
    order = np.argsort(-final, kind="stable")
    strongest = ", ".join(
        f"**{day + 1}** ({show_estimate(final[day], stderr[-1, day])})"
        for day in [day for day in order if day in informative][:3]
    )
    predicted = f"{word.capitalize()} {length + 1}"
    st.markdown(
        f"{predicted} depends on {show_positions(informative + 1, word)} (last row). The "
        f"strongest, by {measure}: {word} {strongest}."
        if strongest
        else f"{predicted} depends on no {word}."
    )
    with st.container(key="chart_dependence"):
        draw_chart(
            map_chart(
                values,
                stderr=stderr,
                title=title,
                domain=(0, top_of_scale(values)),
                ramp=TRUTHS,
                titles=(f"{word} depended on →", f"← last visible {word}"),
                form=".4f",
                word=word,
            ),
            name=f"True dependence by {measure}",
            alt=f"True dependence by {measure}, {length} {word}s. {predicted} depends most on "
            f"{word} {order[0] + 1}: {final[order[0]]:.3f}.",
        )
    source = "Exact." if dependence.exact else "Estimated from sampled sequences."
    st.caption(f"Each row predicts the next {word}. Each cell is {meaning}. {source}")


def _accuracy(best: Best) -> str:
    return "≈ " * best.bounded + show_estimate(best.accuracy, best.accuracy_stderr)


def _nll(best: Best) -> str:
    return "≤ " * best.bounded + show_estimate(best.nll, best.nll_stderr)
