"""Published results, the runs that test them here, and the verdicts."""

from types import MappingProxyType

from attnlab.known_results import (
    attention_decay,
    belief_mess3,
    belief_rrxor,
    blog_post,
    bottleneck,
    causal_tree,
    grokking,
    induction_heads,
    markov_phases,
    recall_of_pairs,
    regular_languages,
    tied_unembedding,
    train_short,
)
from attnlab.known_results.entry import (
    AGREES,
    DISAGREES,
    OPEN,
    Check,
    KnownResult,
    Numbers,
    Plot,
    Verdict,
    overall,
    verdict_on,
)

__all__ = [
    "AGREES",
    "DISAGREES",
    "KNOWN_RESULTS",
    "OPEN",
    "Check",
    "KnownResult",
    "Numbers",
    "Plot",
    "Verdict",
    "blog_post",
    "overall",
    "verdict_on",
]

KNOWN_RESULTS = MappingProxyType(
    {
        entry.RESULT.name: entry.RESULT
        for entry in (
            blog_post,
            bottleneck,
            induction_heads,
            markov_phases,
            causal_tree,
            recall_of_pairs,
            train_short,
            regular_languages,
            tied_unembedding,
            belief_mess3,
            belief_rrxor,
            attention_decay,
            grokking,
        )
    }
)
