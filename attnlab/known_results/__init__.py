"""Published results, the runs that test them here, and the verdicts."""

from types import MappingProxyType

from attnlab.known_results import (
    attention_decay,
    belief_mess3,
    belief_rrxor,
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
from attnlab.known_results import blog_post as blog_post
from attnlab.known_results.entry import AGREES as AGREES
from attnlab.known_results.entry import DISAGREES as DISAGREES
from attnlab.known_results.entry import OPEN as OPEN
from attnlab.known_results.entry import Check as Check
from attnlab.known_results.entry import KnownResult as KnownResult
from attnlab.known_results.entry import Numbers as Numbers
from attnlab.known_results.entry import Plot as Plot
from attnlab.known_results.entry import Verdict as Verdict
from attnlab.known_results.entry import overall as overall
from attnlab.known_results.entry import verdict_on as verdict_on

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
