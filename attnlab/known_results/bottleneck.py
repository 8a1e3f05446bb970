"""A fixed-length summary of the input fails on long inputs; attention does not."""

from types import MappingProxyType

from attnlab.known_results.entry import Check, KnownResult
from attnlab.lessons.bottleneck import ATTENTION, BOTTLENECK, swept

_SHORT, _LONG, _WIDTH = 3, 10, 64
_LABELS = {BOTTLENECK: "last state only", ATTENTION: "attention"}


def _label(family: str, cards: int) -> str:
    return f"{_LABELS[family]}, {cards} cards"


RESULT = KnownResult(
    name="bottleneck",
    title="The bottleneck of the last state",
    claim="A recurrent encoder-decoder that passes on only its last state fails on long inputs; "
    "attention to all states does not.",
    source="Cho et al. (2014), “On the properties of neural machine translation: encoder–decoder "
    "approaches”; Bahdanau, Cho and Bengio (2015), “Neural machine translation by jointly learning "
    "to align and translate”",
    settings=MappingProxyType(
        {
            _label(family, cards): swept(family, cards, _WIDTH)
            for family in (BOTTLENECK, ATTENTION)
            for cards in (_SHORT, _LONG)
        }
    ),
    checks=(
        Check(
            "With the last state only, the share of correctly sorted hands falls by at least 0.5 "
            "from three to ten cards.",
            _label(BOTTLENECK, _LONG),
            "exact_match",
            most=-0.5,
            minus=_label(BOTTLENECK, _SHORT),
        ),
        Check(
            "With attention, at least 0.9 of all hands of ten cards are sorted correctly.",
            _label(ATTENTION, _LONG),
            "exact_match",
            least=0.9,
            most=1.0,
        ),
    ),
    differs="Both papers translate English into French. Here a network sorts cards by rank, and "
    "the length of the input is the number of cards.",
    tuned_on=(0, 1, 2, 3),
)
