"""Exact match against hand size and width, with a state alone and with attention."""

from urllib.parse import urlencode

import numpy as np
import streamlit as st

from attnlab.charts import exact_match_chart, exact_match_table
from attnlab.comparisons.intervals import (
    Interval,
    share_error,
    student_interval,
    wilson_interval,
)
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
from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from attnlab.training.shares import share_in_training
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.core.uncertainty import OF_SEEDS, reached_text

TITLES = {BOTTLENECK: "The last state alone", ATTENTION: "Attention to all states"}
# Of the page's folder: a link opens the settings in a tab of their own.
_PAGE = "sequence_to_sequence"
_HEIGHT = 330
_CELLS = {"gru": "GRU", "tanh": "tanh"}


def draw_sweep() -> None:
    """Two charts, what they say in a sentence, and a link to the setting of any point."""
    bits = {hand: bits_of(Cards(hand=hand)) for hand in HANDS}
    for column, family in zip(st.columns(2, gap="medium"), FAMILIES, strict=True):
        with column:
            st.markdown(f"**{TITLES[family]}** (`{family}`)")
            with st.container(key=f"chart_match_{family.replace('-', '_')}"):
                _draw_family(family, bits)
    st.caption(
        "How to read it: the share of 2,000 test hands that are laid without a single mistake, "
        f"against the size of the hand (training met {_met(HANDS[0])} of all hands of {HANDS[0]} "
        f"cards, {_met(HANDS[1])} of {HANDS[1]}); a line for each width of the state, the widest "
        f"strongest, and a form of mark for each. Bars: {OF_SEEDS}, cut at 0 and 100 %. Below each "
        "hand stand the bits that it takes to identify its target."
    )
    with st.container(key="match_sentence"):
        st.markdown(_sentence())
    _draw_made()
    _draw_link()


def _met(hand: int) -> str:
    """The share of the sources that a run of the sweep is expected to train on."""
    return show_percent(share_in_training(swept(BOTTLENECK, hand, WIDTHS[0])))


def draw_bits() -> None:
    """What the number of bits means, with the numbers of the largest hand."""
    hand, width = HANDS[-1], WIDTHS[0]
    task = Cards(hand=hand)
    bits = bits_of(task)
    st.latex(
        rf"\log_2 \binom{{52}}{{{hand}}} = \log_2 {_grouped(task.targets())} = {bits:.1f}"
        r"\text{ bits}"
    )
    st.markdown(
        f"There are that many sorted hands of {hand} cards, all equally likely. A reader with only "
        "K distinguishable states writes the same cards for every hand that ends in one state, so "
        f"that at most K of them are ever right: with fewer than {bits:.1f} bits some hands must "
        "fail. **Width is not this bound**: a state is of real numbers, and even "
        f"{width} of them, 32 bits each, have {32 * width} bits on paper. The bound is on what "
        f"can be told apart in use: {width} components would have to carry "
        f"{bits / width:.1f} bits each, {WIDTHS[-1]} components {bits / WIDTHS[-1]:.2f}. How "
        "finely a network learns to use a component, only training shows."
    )


def draw_reversed() -> None:
    """Letters backwards: both families and their difference, paired by seed."""
    runs = [shipped().of(reversing(family)) for family in FAMILIES]
    if None in runs:
        st.info("These runs are not part of this copy of the program.", icon=":material/info:")
        return
    without, with_attention = runs
    experiment = without.experiment
    rows = [(f"{TITLES[family]} (`{family}`)", _interval(run)) for family, run in
            zip(FAMILIES, runs, strict=True)]  # fmt: skip
    lines = [f"| model | exact match | each seed (%) | reached {TARGET:.0%} |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {percent_text(found)} | {_each(run)} | {_reached(run)} |"
        for (name, found), run in zip(rows, runs, strict=True)
    ]
    difference = points_text(_difference(without, with_attention))
    lines.append(f"| **the second minus the first**, paired by seed | **{difference}** | – | – |")
    with st.container(key="match_reversed"):
        st.markdown("\n".join(lines))
    st.caption(
        f"{REVERSED.source_length} of {REVERSED.letters} letters, {bits_of(REVERSED):.1f} bits. "
        f"{_training_of(experiment)}. In brackets the {OF_SEEDS}, and Wilson's of the share of "
        f"seeds that reached {TARGET:.0%}. Runs of one seed met the same letters."
    )


def percent_text(interval: Interval) -> str:
    """A share and its interval in percent; a single run has none.

    >>> percent_text(Interval(1.0, 0.99966, 1.0, 4)), percent_text(Interval(-0.5, None, None, 1))
    ('100.0 % (99.97 to 100.00)', '−50.0 %')
    """
    mean = f"{100 * interval.mean:.1f} %".replace("-", "−")
    if interval.low is None:
        return mean
    return f"{mean} ({show_range(100 * interval.low, 100 * interval.high, places=1)})"


def points_text(interval: Interval) -> str:
    """A difference of shares and its interval in percentage points."""
    return percent_text(interval).replace(" %", " points", 1)


def _draw_family(family: str, bits: dict[int, float]) -> None:
    points = [
        (hand, width, found.mean, found.low, found.high)
        for width in WIDTHS
        for hand in HANDS
        if (found := _of(family, hand, width)) is not None
    ]
    draw_chart(
        exact_match_chart(
            exact_match_table(points, WIDTHS),
            lengths=HANDS,
            bits=tuple(f"{bits[hand]:.1f}" for hand in HANDS),
            widths=WIDTHS,
            attends=family == ATTENTION,
            dark=on_dark(),
            height=_HEIGHT,
        ),
        name=f"Exact match against hand size: {TITLES[family].lower()}",
        alt=f"Exact match against hand size, {TITLES[family].lower()}. " + _in_words(family),
    )


def _of(family: str, hand: int, width: int) -> Interval | None:
    written = shipped().of(swept(family, hand, width))
    return None if written is None else _interval(written)


def _interval(written: SettingFigures) -> Interval:
    size = written.experiment.training.test_size
    errors = [share_error(share, size) for share in written.exact_match]
    return student_interval(written.exact_match, errors=errors, share=True).within(0.0, 1.0)


def _difference(first: SettingFigures, second: SettingFigures) -> Interval:
    """The mean difference, paired by seed: runs of one seed were tested on the same letters."""
    before, after = (
        dict(zip(each.seeds, each.exact_match, strict=True)) for each in (first, second)
    )
    found = np.array([after[seed] - before[seed] for seed in sorted(before.keys() & after.keys())])
    least = least_spread_of_shares(found, first.experiment.training.test_size)
    return paired_interval(found, float(least))


def _reached(written: SettingFigures) -> str:
    count = sum(share >= TARGET for share in written.exact_match)
    found = wilson_interval(count, len(written.exact_match))
    return reached_text(Reached(TARGET, count, found))


def _in_words(family: str) -> str:
    said = []
    for width in (WIDTHS[0], WIDTHS[-1]):
        shares = [
            f"{show_percent(found.mean)} of {hand} cards"
            for hand in HANDS
            if (found := _of(family, hand, width)) is not None
        ]
        said.append(f"Width {width}: {', '.join(shares)}.")
    return " ".join(said)


def _sentence() -> str:
    """The largest hand: at the widest state, and with attention at a quarter of it."""
    hand, wide, narrow = HANDS[-1], WIDTHS[-1], WIDTHS[-3]
    cases = ((BOTTLENECK, wide), (ATTENTION, wide), (ATTENTION, narrow))
    runs = [shipped().of(swept(family, hand, width)) for family, width in cases]
    if None in runs:
        return ""
    alone, attends, narrower = (f"**{show_percent(_interval(run).mean)}**" for run in runs)
    weights = [f"{run.parameters:,} weights" for run in runs]
    return (
        f"Of hands of {hand} cards, a state of width {wide} by itself lays {alone} without a "
        f"mistake ({weights[0]}), with attention {attends} ({weights[1]}). The weights that "
        f"attention adds do not explain it: width {narrow} with attention lays {narrower} "
        f"({weights[2]})."
    )


def _draw_made() -> None:
    found = shipped()
    first = swept(BOTTLENECK, HANDS[0], WIDTHS[0])
    runs = [each for each in found.settings if isinstance(each.experiment.generator, Cards)]
    seeds = max((len(each.seeds) for each in runs), default=0)
    st.caption(
        f":material/inventory_2: These figures come with the program: {sum(map(_count, runs))} "
        f"runs, {seeds} seeds a setting. {_training_of(first)}; with attention, query and keys "
        "are as wide as the state. Made on "
        f"{found.made.date} with attnlab {found.made.attnlab} and JAX {found.made.jax} on "
        f"{found.made.machine}."
    )


def _draw_link() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="match_link"):
        family = linked(st.selectbox, "model", list(FAMILIES), key="match_family", width=190)
        hand = linked(
            st.segmented_control, "cards", [str(n) for n in HANDS], default=str(HANDS[1]),
            required=True, key="match_hand",
        )  # fmt: skip
        width = linked(
            st.segmented_control, "width of the state", [str(n) for n in WIDTHS],
            default=str(WIDTHS[2]), required=True, key="match_width",
        )  # fmt: skip
    setting = swept(family, int(hand), int(width))
    found = _of(family, int(hand), int(width))
    measured = ""
    if found is not None:
        run = shipped().of(setting)
        measured = f"Exact match {percent_text(found)}; each seed: {_each(run)} %. "
    st.markdown(
        f"{measured}[Open this setting in Sequence to sequence]"
        f"({_PAGE}?{urlencode(to_query(setting))}), to train it and watch its cards."
    )


def _training_of(experiment: Experiment) -> str:
    training, model = experiment.training, experiment.model
    return (
        f"{training.steps:,} steps of {training.batch} fresh sequences, {_CELLS[model.cell]} cells"
        + (f" of width {model.hidden_size}" if experiment.generator == REVERSED else "")
        + f", Adam with a learning rate of {training.learning_rate:g} that warms up and falls"
    )


def _count(written: SettingFigures) -> int:
    return len(written.seeds)


def _each(written: SettingFigures) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in written.exact_match)


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", r"\,")
