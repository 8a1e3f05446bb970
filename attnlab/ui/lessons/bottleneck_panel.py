"""Exact match on sorting cards and reversing letters, with and without attention."""

from typing import cast

import pandas as pd
import streamlit as st

from attnlab.charts import HUES, Scale, Series, lines_chart, past_hue
from attnlab.comparisons.intervals import Interval
from attnlab.comparisons.paired import compare_paired
from attnlab.comparisons.shipped import shipped
from attnlab.comparisons.summary import TARGET, Row, figures_of
from attnlab.comparisons.uncertainty import OF_SEEDS, reached_text
from attnlab.configuration.number_text import show_percent, show_range
from attnlab.configuration.options import present
from attnlab.generators import Cards
from attnlab.lessons.bottleneck import (
    ATTENTION,
    BOTTLENECK,
    FAMILIES,
    HANDS,
    REVERSED,
    SEEDS,
    WIDTHS,
    bits_of,
    bottleneck_rows,
    bottleneck_study,
    reversing,
    swept,
)
from attnlab.models import RNNAttentionOptions
from attnlab.training.experiment import Experiment
from attnlab.training.shares import share_in_training
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.lessons.kit import KEPT, choose, control_row, in_columns, link_to_settings

_TITLES = {BOTTLENECK: "The last state alone", ATTENTION: "Attention to all states"}
_NAMES = {BOTTLENECK: "last", ATTENTION: "all"}
_CELLS = {"gru": "GRU", "tanh": "tanh"}
_WIDTH = "width of the state"
# Factors of the width, so that the bars of the two families stand beside each other.
_SHIFTS = (0.96, 1.04)


def draw_sweep() -> None:
    """Draw exact match by width at each hand size, a summary, and a link to each setting."""
    alone, attends = (
        show_percent(_interval(_runs(swept(family, HANDS[-1], WIDTHS[-1]))).mean)
        for family in FAMILIES
    )
    with st.container(key="match_sentence"):
        st.markdown(
            "A hand is dealt from 52 cards, and the model writes the same cards in order. "
            f"With {HANDS[-1]} cards and width {WIDTHS[-1]}, the model without attention sorts "
            f"**{alone}** of the hands without a mistake. The model with attention sorts "
            f"**{attends}**."
        )
    for hand in in_columns(HANDS):
        st.markdown(f"**{hand} cards**, {bits_of(Cards(hand=hand)):.1f} bits")
        _draw_hand(hand)
    st.caption(
        "Each point is the share of hands that are sorted without a mistake, by a decoder that "
        "sees the **last** state or **all** states. The bits identify one of the possible hands."
    )
    _draw_link()
    _draw_bits()
    _draw_settings()


def _draw_hand(hand: int) -> None:
    rows, words = [], []
    for family, shift in zip(FAMILIES, _SHIFTS, strict=True):
        found = {width: _interval(_runs(swept(family, hand, width))) for width in WIDTHS}
        for width, each in found.items():
            low, high = each.ends
            interval = f"{show_range(100 * low, 100 * high, places=1)} %"
            rows.append((_NAMES[family], width * shift, each.mean, low, high, width, interval))
        shares = (f"{show_percent(found[width].mean)} with width {width}" for width in WIDTHS[::4])
        words.append(f"{_TITLES[family]}: {', '.join(shares)}")
    columns = ["series", "at", "value", "low", "high", "width", "interval"]
    draw_chart(
        lines_chart(
            pd.DataFrame(rows, columns=columns),
            x=Scale(_WIDTH, kind="log", ticks=WIDTHS, domain=(WIDTHS[0] / 1.2, WIDTHS[-1] * 1.2)),
            y=Scale("exact match (% of hands)", ".1%", labels=".0%", domain=(0, 1)),
            series=(
                Series(_NAMES[BOTTLENECK], past_hue(0), "square"),
                Series(_NAMES[ATTENTION], HUES.learned),
            ),
            noun="states seen",
            tips=(("width", _WIDTH, "d"), ("interval", "95 % interval over seeds", "")),
            height=300,
        ),
        name=f"Exact match against width, hands of {hand} cards",
        alt=f"Exact match against width, hands of {hand} cards. {'. '.join(words)}.",
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
        f"{shipped(bottleneck_study().name).made}."
    )


def _draw_link() -> None:
    hands, widths = (tuple(map(str, numbers)) for numbers in (HANDS, WIDTHS))
    with control_row("match_link"):
        families = list(FAMILIES)
        family = linked(st.selectbox, "model", families, key="match_family", width=190, **KEPT)
        hand = choose("cards", hands, hands[1], key="match_hand", **KEPT)
        width = choose(_WIDTH, widths, widths[2], key="match_width", **KEPT)
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
    runs = {family: _runs(reversing(family)) for family in FAMILIES}
    lines = [f"| model | exact match | each seed (%) | reached {TARGET:.0%} |", "|---|---|---|---|"]
    lines += [
        f"| {_TITLES[family]} (`{family}`) | {_percent(_interval(run))} | {_each(run)} "
        f"| {reached_text(run.reached)} |"
        for family, run in runs.items()
    ]
    alone, attends = runs.values()
    change = compare_paired(alone, attends, "exact_match").difference
    difference = _percent(change).replace(" %", " points", 1)
    lines.append(f"| **the second minus the first**, paired by seed | **{difference}** | – | – |")
    with st.container(key="match_reversed"):
        st.markdown("\n".join(lines))
    links = (f"`{name}`: {link_to_settings(run.experiment)}" for name, run in runs.items())
    st.markdown(" · ".join(links))
    st.caption(
        f"A source has {REVERSED.source_length} of {REVERSED.letters} letters, or "
        f"{bits_of(REVERSED):.1f} bits. {_training_of(reversing(BOTTLENECK))}. Runs with the same "
        f"seed have the same sequences. Brackets hold the {OF_SEEDS}; for the share of seeds, the "
        "Wilson interval."
    )


def _runs(setting: Experiment) -> Row:
    return bottleneck_rows()[setting]


def _interval(row: Row) -> Interval:
    return present(row.exact_match)


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


def _each(row: Row) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in figures_of(row, "exact_match").values())


def _training_of(experiment: Experiment) -> str:
    training, model = experiment.training, cast(RNNAttentionOptions, experiment.model)
    return (
        f"{_CELLS[model.cell]} cells"
        + (f" of width {model.hidden_size}" if experiment.generator == REVERSED else "")
        + f" are trained for {training.steps:,} steps of {training.batch} fresh sequences, by Adam "
        f"with learning rate {training.learning_rate:g}, warm-up and decay"
    )
