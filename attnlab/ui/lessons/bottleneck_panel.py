"""Exact match on sorting cards and reversing letters, with and without attention."""

from collections.abc import Sequence
from typing import cast
from urllib.parse import urlencode

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnlab.charts import exact_match_chart
from attnlab.comparisons.intervals import Interval, share_error, student_interval, wilson_interval
from attnlab.comparisons.paired import least_spread_of_shares, paired_interval
from attnlab.comparisons.summary import TARGET, Reached
from attnlab.configuration.number_text import show_percent, show_range
from attnlab.generators import Cards
from attnlab.lessons.bottleneck import (
    ATTENTION,
    BOTTLENECK,
    FAMILIES,
    HANDS,
    REVERSED,
    WIDTHS,
    SettingFigures,
    bits_of,
    reversing,
    shipped,
    swept,
)
from attnlab.models import RNNAttentionOptions
from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from attnlab.training.shares import share_in_training
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.uncertainty import OF_SEEDS, reached_text
from attnlab.ui.lessons.kit import choose, control_row, draw_figure

_TITLES = {BOTTLENECK: "The last state alone", ATTENTION: "Attention to all states"}
# Path of the page on which the link opens a setting.
_PAGE = "sequence_to_sequence"
_CELLS = {"gru": "GRU", "tanh": "tanh"}


def draw_sweep() -> None:
    """Draw exact match by hand size for both families, a summary, and a link to each setting."""
    for column, family in zip(st.columns(2, gap="medium"), FAMILIES, strict=True):
        column.markdown(f"**{_TITLES[family]}** (`{family}`)")
        _draw_family(column, family)
    met = [
        show_percent(share_in_training(swept(BOTTLENECK, hand, WIDTHS[0]))) for hand in HANDS[:2]
    ]
    st.caption(
        "How to read it: the share of 2,000 test hands that are sorted without a mistake, "
        "against the size of the hand. There is one line and one marker for each width of the "
        f"state; the widest is strongest. Training saw {met[0]} of all hands of {HANDS[0]} cards, "
        f"{met[1]} of {HANDS[1]}. Bars: {OF_SEEDS}, cut at 0 and 100 %. Below each hand: the bits "
        "needed to identify its target."
    )
    with st.container(key="match_sentence"):
        st.markdown(_sentence())
    _draw_made()
    _draw_link()


def _draw_family(column: DeltaGenerator, family: str) -> None:
    found = {
        (hand, width): _interval(runs)
        for width in WIDTHS
        for hand in HANDS
        if (runs := shipped().of(swept(family, hand, width))) is not None
    }
    points = [(*at, each.mean, *each.ends) for at, each in found.items()]
    words = " ".join(
        f"Width {width}: "
        + ", ".join(
            f"{show_percent(found[hand, width].mean)} of {hand} cards"
            for hand in HANDS
            if (hand, width) in found
        )
        + "."
        for width in (WIDTHS[0], WIDTHS[-1])
    )
    title = _TITLES[family].lower()
    draw_figure(
        column,
        f"match_{family.replace('-', '_')}",
        exact_match_chart,
        points,
        name=f"Exact match against hand size: {title}",
        alt=f"Exact match against hand size, {title}. {words}",
        lengths=HANDS,
        bits=tuple(f"{bits_of(Cards(hand=hand)):.1f}" for hand in HANDS),
        widths=WIDTHS,
        attends=family == ATTENTION,
        height=330,
    )


def _sentence() -> str:
    """Return text that compares the widest state alone with attention at two widths."""
    hand, wide, narrow = HANDS[-1], WIDTHS[-1], WIDTHS[-3]
    cases = ((BOTTLENECK, wide), (ATTENTION, wide), (ATTENTION, narrow))
    found = [shipped().of(swept(family, hand, width)) for family, width in cases]
    runs = [each for each in found if each is not None]
    if len(runs) < len(found):
        return ""
    alone, attends, narrower = (f"**{show_percent(_interval(run).mean)}**" for run in runs)
    weights = [f"{run.parameters:,} weights" for run in runs]
    return (
        f"Hands of {hand} cards: a state of width {wide} alone sorts {alone} without a mistake "
        f"({weights[0]}). With attention it sorts {attends} ({weights[1]}). The additional "
        f"weights do not explain this: width {narrow} with attention sorts {narrower} "
        f"({weights[2]})."
    )


def _draw_made() -> None:
    found, first = shipped(), swept(BOTTLENECK, HANDS[0], WIDTHS[0])
    runs = [
        len(each.seeds) for each in found.settings if isinstance(each.experiment.generator, Cards)
    ]
    st.caption(
        f":material/inventory_2: These results come with the program: {sum(runs)} runs, "
        f"{max(runs, default=0)} seeds a setting. {_training_of(first)}; with attention, query "
        f"and keys are as wide as the state. Made on {found.made.date} with attnlab "
        f"{found.made.attnlab} and JAX {found.made.jax} on {found.made.machine}."
    )


def _draw_link() -> None:
    hands, widths = (tuple(map(str, numbers)) for numbers in (HANDS, WIDTHS))
    with control_row("match_link"):
        family = linked(st.selectbox, "model", list(FAMILIES), key="match_family", width=190)
        hand = choose("cards", hands, hands[1], key="match_hand")
        width = choose("width of the state", widths, widths[2], key="match_width")
    setting = swept(family, int(hand), int(width))
    measured = ""
    if (runs := shipped().of(setting)) is not None:
        measured = f"Exact match {_percent(_interval(runs))}; each seed: {_each(runs)} %. "
    st.markdown(
        f"{measured}[Open this setting in Sequence to sequence]"
        f"({_PAGE}?{urlencode(to_query(setting))}), to train it and watch its cards."
    )


def draw_bits() -> None:
    """Draw how many bits identify the largest hand, and what this means for the state."""
    hand, width = HANDS[-1], WIDTHS[0]
    task = Cards(hand=hand)
    bits, targets = bits_of(task), f"{task.targets():,}".replace(",", r"\,")
    st.latex(rf"\log_2 \binom{{52}}{{{hand}}} = \log_2 {targets} = {bits:.1f}\text{{ bits}}")
    st.markdown(
        f"There are that many sorted hands of {hand} cards, all equally likely. A reader with "
        "only K distinguishable states writes the same cards for all hands that end in one "
        f"state. So at most K hands can be right: with fewer than {bits:.1f} bits some must fail. "
        f"**Width is not this bound**: {width} real numbers of 32 bits have {32 * width} bits on "
        f"paper. The bound is on what can be distinguished in use: {width} components would have "
        f"to carry {bits / width:.1f} bits each, {WIDTHS[-1]} components {bits / WIDTHS[-1]:.2f}. "
        "Only training shows how finely a network learns to use a component."
    )


def draw_reversed() -> None:
    """Draw a table of exact match on reversed letters, with the difference paired by seed."""
    runs = [run for run in map(shipped().of, map(reversing, FAMILIES)) if run is not None]
    if len(runs) < len(FAMILIES):
        st.info("These runs are not part of this copy of the program.", icon=":material/info:")
        return
    lines = [f"| model | exact match | each seed (%) | reached {TARGET:.0%} |", "|---|---|---|---|"]
    lines += [
        f"| {_TITLES[family]} (`{family}`) | {_percent(_interval(run))} | {_each(run)} "
        f"| {_reached(run)} |"
        for family, run in zip(FAMILIES, runs, strict=True)
    ]
    difference = _percent(_difference(runs)).replace(" %", " points", 1)
    lines.append(f"| **the second minus the first**, paired by seed | **{difference}** | – | – |")
    with st.container(key="match_reversed"):
        st.markdown("\n".join(lines))
    st.caption(
        f"{REVERSED.source_length} of {REVERSED.letters} letters, {bits_of(REVERSED):.1f} bits. "
        f"{_training_of(runs[0].experiment)}. In brackets: the {OF_SEEDS}, and the Wilson "
        f"interval of the share of seeds that reached {TARGET:.0%}. Runs with the same seed had "
        "the same letters."
    )


def _interval(runs: SettingFigures) -> Interval:
    size = runs.experiment.training.test_size
    errors = [share_error(share, size) for share in runs.exact_match]
    return student_interval(runs.exact_match, errors=errors, share=True).within(0.0, 1.0)


def _difference(runs: Sequence[SettingFigures]) -> Interval:
    """Return the second setting's mean exact match minus the first's, paired by seed."""
    before, after = (dict(zip(each.seeds, each.exact_match, strict=True)) for each in runs)
    found = np.array([after[seed] - before[seed] for seed in sorted(before.keys() & after.keys())])
    least = least_spread_of_shares(found, runs[0].experiment.training.test_size)
    return paired_interval(found, float(least))


def _reached(runs: SettingFigures) -> str:
    count = sum(share >= TARGET for share in runs.exact_match)
    return reached_text(Reached(TARGET, count, wilson_interval(count, len(runs.exact_match))))


def _percent(interval: Interval) -> str:
    """Return a fraction and its interval in percent, as text.

    >>> _percent(Interval(1.0, 0.99966, 1.0, 4)), _percent(Interval(-0.5, None, None, 1))
    ('100.0 % (99.97 to 100.00)', '−50.0 %')
    """
    mean = f"{100 * interval.mean:.1f} %".replace("-", "−")
    if interval.low is None:
        return mean
    low, high = (100 * end for end in interval.ends)
    return f"{mean} ({show_range(low, high, places=1)})"


def _each(runs: SettingFigures) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in runs.exact_match)


def _training_of(experiment: Experiment) -> str:
    training, model = experiment.training, cast(RNNAttentionOptions, experiment.model)
    return (
        f"{training.steps:,} steps of {training.batch} fresh sequences, {_CELLS[model.cell]} cells"
        + (f" of width {model.hidden_size}" if experiment.generator == REVERSED else "")
        + f", Adam with a learning rate of {training.learning_rate:g} with warm-up and decay"
    )
