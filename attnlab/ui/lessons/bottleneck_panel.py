"""Exact match on sorting cards and reversing letters, with and without attention."""

from collections.abc import Sequence
from typing import cast

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
    SEEDS,
    WIDTHS,
    SettingFigures,
    bits_of,
    reversing,
    shipped,
    swept,
)
from attnlab.models import RNNAttentionOptions
from attnlab.training.experiment import Experiment
from attnlab.training.shares import share_in_training
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.uncertainty import OF_SEEDS, reached_text
from attnlab.ui.lessons.kit import KEPT, choose, control_row, draw_figure, link_to_settings

_TITLES = {BOTTLENECK: "The last state alone", ATTENTION: "Attention to all states"}
_CELLS = {"gru": "GRU", "tanh": "tanh"}


def draw_sweep() -> None:
    """Draw exact match by hand size for both families, a summary, and a link to each setting."""
    with st.container(key="match_sentence"):
        st.markdown(
            "A hand is dealt from 52 cards, and the model writes the same cards in order. "
            + _sentence()
        )
    for column, family in zip(st.columns(2, gap="medium"), FAMILIES, strict=True):
        column.markdown(f"**{_TITLES[family]}** (`{family}`)")
        _draw_family(column, family)
    st.caption(
        "Each line is one width of the state: the share of hands that are sorted without a "
        "mistake. Below each hand size are the bits that identify a hand."
    )
    _draw_link()
    _draw_bits()
    _draw_settings()


def _draw_family(column: DeltaGenerator, family: str) -> None:
    found = {
        (hand, width): _interval(_runs(swept(family, hand, width)))
        for width in WIDTHS
        for hand in HANDS
    }
    points = [(*at, each.mean, *each.ends) for at, each in found.items()]
    words = ""
    for width in (WIDTHS[0], WIDTHS[-1]):
        shares = (f"{show_percent(found[hand, width].mean)} of {hand} cards" for hand in HANDS)
        words += f" Width {width}: {', '.join(shares)}."
    title = _TITLES[family].lower()
    draw_figure(
        column,
        f"match_{family.replace('-', '_')}",
        exact_match_chart,
        points,
        name=f"Exact match against hand size: {title}",
        alt=f"Exact match against hand size, {title}.{words}",
        lengths=HANDS,
        bits=tuple(f"{bits_of(Cards(hand=hand)):.1f}" for hand in HANDS),
        widths=WIDTHS,
        attends=family == ATTENTION,
        height=330,
    )


def _sentence() -> str:
    """Return text that compares the widest state alone with attention."""
    found = (_runs(swept(family, HANDS[-1], WIDTHS[-1])) for family in FAMILIES)
    alone, attends = (f"**{show_percent(_interval(runs).mean)}**" for runs in found)
    return (
        f"With {HANDS[-1]} cards and width {WIDTHS[-1]}, the model without attention sorts "
        f"{alone} of the hands without a mistake. The model with attention sorts {attends}."
    )


@panel("Settings and errors", key="match_settings", icon="tune")
def _draw_settings() -> None:
    first = swept(BOTTLENECK, HANDS[0], WIDTHS[0])
    met = [show_percent(share_in_training(swept(BOTTLENECK, n, WIDTHS[0]))) for n in HANDS[:2]]
    alone = _runs(swept(BOTTLENECK, HANDS[-1], WIDTHS[-1]))
    narrow = _runs(swept(ATTENTION, HANDS[-1], WIDTHS[-3]))
    st.markdown(
        f"Attention adds weights, but they do not explain its success. Width {WIDTHS[-3]} with "
        f"attention has {narrow.parameters:,} weights and sorts "
        f"{show_percent(_interval(narrow).mean)} of the hands of {HANDS[-1]} cards. Width "
        f"{WIDTHS[-1]} without attention has {alone.parameters:,} weights but sorts only "
        f"{show_percent(_interval(alone).mean)}. If the state is too narrow for the query and the "
        "next card, attention does not help. Longer training may improve all of these models."
    )
    st.markdown(
        f"Tests use 2,000 hands. Bars are the {OF_SEEDS}, cut at 0 and 100 %. Training saw "
        f"{met[0]} of all sources of {HANDS[0]} cards and {met[1]} of those of {HANDS[1]}. Sources "
        "that differ only in card order count as different."
    )
    count = len(FAMILIES) * len(HANDS) * len(WIDTHS) * SEEDS
    st.caption(
        f"These results come with the program: {count} runs, {SEEDS} seeds a setting. "
        f"{_training_of(first)}; queries and keys are as wide as the state. Made "
        f"{shipped().made}."
    )


def _draw_link() -> None:
    hands, widths = (tuple(map(str, numbers)) for numbers in (HANDS, WIDTHS))
    with control_row("match_link"):
        family = linked(
            st.selectbox, "model", list(FAMILIES), key="match_family", width=190, **KEPT
        )
        hand = choose("cards", hands, hands[1], key="match_hand", **KEPT)
        width = choose("width of the state", widths, widths[2], key="match_width", **KEPT)
    runs = _runs(swept(family, int(hand), int(width)))
    st.markdown(
        f"Exact match {_percent(_interval(runs))}; each seed: {_each(runs)} %. "
        + link_to_settings(runs.experiment)
    )


@panel("How many bits a hand needs", key="match_bits", icon="memory")
def _draw_bits() -> None:
    hand, width = HANDS[-1], WIDTHS[0]
    task = Cards(hand=hand)
    bits, targets = bits_of(task), f"{task.targets():,}".replace(",", r"\,")
    st.latex(rf"\log_2 \binom{{52}}{{{hand}}} = \log_2 {targets} = {bits:.1f}\text{{ bits}}")
    st.markdown(
        f"There are this many hands of {hand} cards, all equally likely. If the encoder has K "
        f"distinguishable states, hands with the same state get the same output. So at most K "
        f"hands can be correct: with fewer than {bits:.1f} bits some must fail.\n\n"
        f"**Width is not this bound**: {width} numbers of 32 bits have {32 * width} bits. But to "
        f"distinguish all hands, each of {width} components has to carry {bits / width:.1f} bits, "
        f"each of {WIDTHS[-1]} components {bits / WIDTHS[-1]:.2f}. Only training shows how finely "
        "a network uses a component."
    )


def draw_reversed() -> None:
    """Draw a table of exact match on reversed letters, with the difference paired by seed."""
    st.markdown(
        "Nothing needs to be sorted here: yⱼ = xₙ₊₁₋ⱼ. Without attention it is still hard to "
        f"carry {REVERSED.source_length} letters in one state."
    )
    runs = [_runs(reversing(family)) for family in FAMILIES]
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
    links = (f"`{run.experiment.model.name}`: {link_to_settings(run.experiment)}" for run in runs)
    st.markdown(" · ".join(links))
    st.caption(
        f"A source has {REVERSED.source_length} of {REVERSED.letters} letters, or "
        f"{bits_of(REVERSED):.1f} bits. {_training_of(runs[0].experiment)}. Runs with the same "
        f"seed have the same sequences. Brackets hold the {OF_SEEDS}; for the share of seeds, the "
        "Wilson interval."
    )


def _runs(setting: Experiment) -> SettingFigures:
    return shipped().settings[setting]


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
        f"{_CELLS[model.cell]} cells"
        + (f" of width {model.hidden_size}" if experiment.generator == REVERSED else "")
        + f" are trained for {training.steps:,} steps of {training.batch} fresh sequences, by Adam "
        f"with learning rate {training.learning_rate:g}, warm-up and decay"
    )
