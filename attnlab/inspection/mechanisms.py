"""Measures of how a model predicts: what its heads attend to, and what it computes."""

import functools
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Float

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.generators import CausalTree, HiddenChain, InContextMarkov, ModularAddition
from attnlab.inspection.ablation import ablated_loss
from attnlab.inspection.attention_by_distance import attention_by_distance, predicted_decay
from attnlab.inspection.belief_gap import divergence
from attnlab.inspection.fourier import fourier_power
from attnlab.inspection.head_scores import head_scores, role_of
from attnlab.inspection.lengths import MOST_TIMES, model_at_length
from attnlab.inspection.predictions import probs_by_query
from attnlab.inspection.strategies import References, expected_loss, has_references, references_of
from attnlab.models import AbstractModel, TransformerOptions
from attnlab.models.transformer import Transformer
from attnlab.optimum.sequences import predictives
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Experiment, Setup, draw_data
from attnlab.training.measure import NOT_NEGATIVE, SHARE, Estimate, Measure

_WORDS, _DECAY_SEQUENCES, _TREE_SEQUENCES = 500, 2_000, 500
# Symbols of words: two bits, and whether the word is in the language.
_BITS, _YES, _NO = 2, 2, 3
# Keeps the words apart from the draws of the run.
_DRAW = 11
UNIGRAM, TOKENS_SEEN, FREQUENCIES = "in-context unigram", 24, 4

_references = functools.lru_cache(maxsize=2)(references_of)


def decay_deviation(model: AbstractModel, setup: Setup) -> Estimate | None:
    """Return the total variation between attention by distance and the predicted decay."""
    if (decay := predicted_decay(setup.experiment)) is None:
        return None
    visible = np.asarray(setup.test[:_DECAY_SEQUENCES, :-1])
    found = attention_by_distance(model, visible, decay)
    return Estimate(found.deviation, found.deviation_stderr)


@fixed_numerics()
def parents_found(model: AbstractModel, setup: Setup) -> float:
    """Return the share of positions with a parent at which a head attends most to that parent.

    The head is that of the first layer with the largest share. Its attention is the mean over 500
    sequences of a causal tree.
    """
    visible = setup.test[:_TREE_SEQUENCES, :-1]
    length = visible.shape[1]
    queries = jnp.arange(length)
    patterns = jax.vmap(lambda tokens: model(tokens, queries)[1].attention[0].pattern)(visible)
    most = np.asarray(patterns).mean(axis=0).argmax(axis=-1)
    tree = cast(CausalTree, setup.experiment.generator.at_length(length))
    parents = np.asarray(tree.parent_positions[:length])
    return (most == parents)[:, parents >= 0].mean(axis=1).max()


def counting_gap_without_induction_heads(model: AbstractModel, setup: Setup) -> float:
    """Return the loss after zeroing all induction heads, minus that of token counts, in nats."""
    references = _references_of(setup)
    now, before = (
        head_scores(setup.experiment.generator, each, references.sequences)
        for each in (model, setup.state.model)
    )
    heads = [
        (score.layer - 1, score.head - 1)
        for score, untrained in zip(now, before, strict=True)
        if role_of(score, untrained) == "induction"
    ]
    counts = references.probs[references.names.index(UNIGRAM)]
    return ablated_loss(references, model, heads).mean - expected_loss(references, counts).mean


def expected_excess(model: AbstractModel, setup: Setup) -> float:
    """Return the expected loss above the floor, in nats, without the noise of the next tokens."""
    references = _references_of(setup)
    probs = probs_by_query(model, references.sequences[:, :-1])
    floor = expected_loss(references, references.probs[-1]).mean
    return expected_loss(references, probs).mean - floor


def excess_after_24_tokens(model: AbstractModel, setup: Setup) -> float:
    """Return the expected loss after 24 tokens minus that of the exact prediction, in nats."""
    return _divergences(model, setup)[-1][:, TOKENS_SEEN - 1].mean()


def is_nearest_to_unigram(model: AbstractModel, setup: Setup) -> float:
    """Return 1 if the in-context unigram is the reference nearest to the model, else 0."""
    nearest = _divergences(model, setup).mean(axis=(1, 2)).argmin()
    return float(_references_of(setup).names[nearest] == UNIGRAM)


def _references_of(setup: Setup) -> References:
    return _references(setup.experiment.generator, setup.test.shape[1] - 1)


def _divergences(
    model: AbstractModel, setup: Setup
) -> Float[np.ndarray, "references sequences query"]:
    """Return KL(reference ‖ model) in nats."""
    references = _references_of(setup)
    probs = probs_by_query(model, references.sequences[:, :-1])
    return np.stack([divergence(each, probs) for each in references.probs])


def counts_in_context(experiment: Experiment) -> bool:
    """Return whether the process has an in-context unigram, and the model predicts every token."""
    model, training = experiment.model, experiment.training
    everywhere = model.every_position and model.causal and training.loss == "next"
    return everywhere and _has_unigram(experiment)


@functools.lru_cache(maxsize=128)
def _has_unigram(experiment: Experiment) -> bool:
    process = experiment.generator.at_length(experiment.length)
    return has_references(process) and UNIGRAM in jax.eval_shape(
        lambda: process.references(process.start())
    )


def reads_words(experiment: Experiment) -> bool:
    """Return whether the process is a stream of words of bits, each with a verdict."""
    process = experiment.generator
    return (
        isinstance(process, HiddenChain)
        and process.symbols == "0 1 yes no"
        and experiment.model.every_position
        and experiment.model.causal
    )


@fixed_numerics()
def accuracy_on_longer_words(model: AbstractModel, setup: Setup) -> float:
    """Return how often the right one of two verdicts is the likelier, for words of random bits.

    They have up to four times as many bits as training sequences have tokens, and count after the
    trained length.
    """
    experiment = setup.experiment
    length = MOST_TIMES * experiment.length
    key = jr.fold_in(key_of(experiment.seed), _DRAW)
    bits = np.asarray(jr.randint(key, (_WORDS, length), 0, _BITS))
    says_yes, is_in_language = (
        probs[..., _YES] > probs[..., _NO]
        for probs in (
            probs_by_query(model_at_length(experiment, model, length), bits),
            predictives(experiment.generator, bits)[:, 1:],
        )
    )
    return (says_yes == is_in_language)[:, experiment.length :].mean()


def adds_numbers(experiment: Experiment) -> bool:
    """Return whether a transformer adds numbers, of fixed training pairs."""
    return (
        isinstance(experiment.generator, ModularAddition)
        and isinstance(experiment.model, TransformerOptions)
        and experiment.training.data == "fixed"
    )


def accuracy_on_new_pairs(model: AbstractModel, setup: Setup) -> float | None:
    """Return the accuracy on the test pairs (a, b) for which (b, a) was not trained either."""
    trained = {(a, b) for a, b, *_ in draw_data(setup.experiment).train_set.tolist()}
    new = np.array([(b, a) not in trained for a, b, *_ in np.asarray(setup.test).tolist()])
    readout = setup.experiment.training.readout
    return evaluate(model, setup.test[new], readout=readout).accuracy if new.any() else None


def number_embeddings(model: AbstractModel) -> Float[np.ndarray, "numbers width"]:
    """Return the embeddings of the numbers 0 … p - 1; the last token is the equals sign."""
    return np.asarray(cast(Transformer, model).tokens, np.float64)[:-1]


def power_in_four_frequencies(model: AbstractModel, setup: Setup) -> float:
    """Return the share of the number embeddings' power in their four strongest frequencies."""
    return float(np.sort(fourier_power(number_embeddings(model)))[-FREQUENCIES:].sum())


def weight_norm(model: AbstractModel, setup: Setup) -> float:
    """Return the square root of the sum of all squared weights."""
    return float(optax.tree.norm(eqx.filter(model, eqx.is_array)))


def _counts_with_heads(experiment: Experiment) -> bool:
    is_transformer = isinstance(experiment.model, TransformerOptions)
    return is_transformer and counts_in_context(experiment)


def _counts_transitions(experiment: Experiment) -> bool:
    has_tables = isinstance(experiment.generator, InContextMarkov)
    is_long = experiment.length >= TOKENS_SEEN
    return has_tables and is_long and counts_in_context(experiment)


def _learns_tree(experiment: Experiment) -> bool:
    is_transformer = isinstance(experiment.model, TransformerOptions)
    return is_transformer and isinstance(experiment.generator, CausalTree)


_NEEDS_COUNTS = "a process in context and a causal {} with the loss `next`"
_NEEDS_TRANSITIONS = (
    "`in-context-markov`, 24 tokens or more, and a causal model with the loss `next`"
)
_NEEDS_SUMS = "`modular-addition` with fixed data, and a transformer"
MECHANISMS = (
    Measure(
        "expected_excess",
        expected_excess,
        label="expected loss above the floor",
        bounds=NOT_NEGATIVE,
        unit="nats",
        summary="loss above the floor, without the noise of the next tokens",
        needs=_NEEDS_COUNTS.format("model"),
        applies=counts_in_context,
        lower_is_better=True,
    ),
    Measure(
        "excess_after_24_tokens",
        excess_after_24_tokens,
        label="loss above the floor after 24 tokens",
        bounds=NOT_NEGATIVE,
        unit="nats",
        summary="expected loss minus that of the exact prediction",
        needs=_NEEDS_TRANSITIONS,
        applies=_counts_transitions,
        lower_is_better=True,
    ),
    Measure(
        "is_nearest_to_unigram",
        is_nearest_to_unigram,
        label="is nearest to the unigram",
        bounds=SHARE,
        summary="1 if the model is nearest to counts of tokens among the references, else 0",
        needs=_NEEDS_TRANSITIONS,
        applies=_counts_transitions,
    ),
    Measure(
        "counting_gap_without_induction_heads",
        counting_gap_without_induction_heads,
        label="loss without induction heads − counting loss",
        unit="nats",
        summary="loss after zeroing all induction heads, minus that of counting tokens",
        needs=_NEEDS_COUNTS.format("transformer"),
        applies=_counts_with_heads,
    ),
    Measure(
        "decay_deviation",
        decay_deviation,
        label="deviation from theory",
        bounds=SHARE,
        summary="total variation between attention by distance and the predicted decay",
        needs="`mess3` and one layer with one causal head and no MLP",
        applies=lambda experiment: predicted_decay(experiment) is not None,
        lower_is_better=True,
    ),
    Measure(
        "parents_found",
        parents_found,
        label="share of parents found",
        bounds=SHARE,
        summary="share of positions at which a head of the first layer attends to the parent",
        needs="`causal-tree` and a transformer",
        applies=_learns_tree,
    ),
    Measure(
        "accuracy_on_longer_words",
        accuracy_on_longer_words,
        label="accuracy on longer words",
        bounds=SHARE,
        summary="how often the right verdict on a word of bits is the likelier one",
        needs="a `hidden-chain` with the symbols `0 1 yes no`, and a causal model",
        applies=reads_words,
    ),
    Measure(
        "accuracy_on_new_pairs",
        accuracy_on_new_pairs,
        label="accuracy on pairs new in both orders",
        bounds=SHARE,
        summary="accuracy on sums whose two numbers were trained in neither order",
        needs=_NEEDS_SUMS,
        applies=adds_numbers,
    ),
    Measure(
        "power_in_four_frequencies",
        power_in_four_frequencies,
        label="power in four frequencies",
        bounds=SHARE,
        summary="share of the number embeddings' power in their four strongest frequencies",
        needs=_NEEDS_SUMS,
        applies=adds_numbers,
    ),
    Measure(
        "weight_norm",
        weight_norm,
        label="norm of all weights",
        bounds=NOT_NEGATIVE,
        summary="square root of the sum of all squared weights",
    ),
)
