"""One layer with a tied unembedding, which reportedly often ends at the unigram loss."""

from types import MappingProxyType

from attnlab.comparisons.grid import settings_of
from attnlab.comparisons.questions import COMPARISONS
from attnlab.configuration.options import present
from attnlab.known_results.entry import Check, KnownResult

_TIED, _UNTIED, _TWO = "one layer, tied", "one layer, untied", "two layers, tied"
# By the options of the comparison: unembedding and layers.
_LABELS = {"tied 1": _TIED, "own 1": _UNTIED, "tied 2": _TWO}


def _reaches(setting: str, words: str) -> Check:
    claim = f"The loss of {words} is at most 0.003 nats above that of the bigram, 0.6190."
    return Check(claim, setting, "excess", most=0.003, published=0.0)


RESULT = KnownResult(
    name="tied-unembedding",
    title="Stuck at the unigram",
    claim="On a binary chain with p + q = 1.3, one layer with a tied unembedding often ends at the "
    "unigram loss. With an untied unembedding, or with two layers, it learns the chain.",
    source="Makkuva et al. (2024), “Attention with Markov: a framework for principled analysis of "
    "transformers via Markov chains”",
    settings=MappingProxyType(
        {
            label: present(setting.experiment)
            for setting in settings_of(COMPARISONS["tied-unembedding"].grid)
            if (label := _LABELS.get(" ".join(text for _, text in setting.options)))
        }
    ),
    checks=(
        Check(
            "Most runs of one layer with a tied unembedding end at the unigram loss, 0.0473 nats "
            "above the floor (tolerance 0.003).",
            _TIED,
            "excess",
            least=0.0443,
            most=0.0503,
            published=0.0473,
        ),
        _reaches(_UNTIED, "one layer with an untied unembedding"),
        _reaches(_TWO, "two layers with a tied unembedding"),
    ),
    predicted="the symbol changes with probability p = 0.5 after a and q = 0.8 after b. The "
    "unigram has a loss of 0.6663 nats, and the bigram 0.6190, the lowest possible.",
    differs="The paper proves that this loss is a local minimum, and finds runs trapped there. The "
    "runs here test how often that happens, not whether the minimum exists. The paper starts from "
    "weights with a standard deviation of 0.02. Tried with seeds 0 to 4: such weights at widths 4 "
    "and 8, with and without normalisation. Of these 20 runs, 17 fell below the unigram loss "
    "within 1,500 steps and 2 more within 6,000. One, of width 4 without normalisation, stayed "
    "there.",
    tuned_on=(0, 1, 2, 3, 4),
)
