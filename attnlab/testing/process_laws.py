"""The laws that every process must obey."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import quoted
from attnlab.generators import (
    AbstractGenerator,
    AbstractHiddenChain,
    beliefs,
    continue_sequence,
    draw_many,
    log_predictives,
    predictions_from,
    sample,
)
from attnlab.optimum.sequences import MOST_SEQUENCES
from attnlab.testing.checks import check_record, close, equal, require

# For about one key in a hundred, a correct sampler exceeds this in one of several thousand cells.
_SIGMAS = 4.5
# Cells with fewer expected draws are far from normal, so they are pooled.
_FEW = 25

Joint = Callable[[int], Float[np.ndarray, "..."]]


def check_process(process: AbstractGenerator, **how: Any) -> None:
    """Check that a process knows its own probabilities and samples from them.

    Predictions are distributions, do not see later tokens, are equal with and without compilation,
    and are -inf for impossible tokens. Sequences and continuations are sampled with these
    frequencies. Whether a token is in the loss mask depends only on the tokens before it,
    and all masks select equally many tokens. Predictions depend on the tokens at `true_sources`
    alone. The belief of a hidden chain is how often each state is drawn. All vocab^length sequences
    are enumerated.

    Args:
        process: A process whose options fit this length.
        how: `length`, `joint`, `draws`, `seed` and `plain`, as in `process_laws`.

    Raises:
        AssertionError: If a law does not hold; the message says which.
        ValueError: If there are more than 60,000 sequences.
    """
    for _, check in process_laws(process, **how):
        check()


def process_laws(
    process: AbstractGenerator,
    *,
    length: int = 5,
    joint: Joint | None = None,
    draws: int = 60_000,
    seed: int = 13,
    plain: bool = True,
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield each law of `check_process` in words, with a function that checks it.

    Later laws may have no meaning for a process that breaks an earlier one.

    Args:
        process: A process whose options fit this length.
        length: Number of tokens. A process with a fixed length is checked at that length.
        joint: An oracle that shares no code with the process: p(tokens) of all sequences of a
            length, of shape (vocab,) * length. By default, the product of the predictions.
        draws: Number of sequences to draw.
        seed: Seed of these sequences.
        plain: Whether to compute without compilation too, which takes a third of the time.
    """
    own, vocab = process.own_length(), process.vocabulary.size
    length = length if own is None else own + 1
    if vocab**length > MOST_SEQUENCES:
        raise ValueError(f"`length` is {quoted(length)}: too many sequences. Choose fewer tokens.")
    yield "the options survive JSON", partial(check_record, process)
    sequences = np.indices((vocab,) * length).reshape(length, -1).T
    log_probs, mask, sources = jax.tree.map(np.asarray, _statements(process, sequences))
    table = log_probs.astype(np.float64).reshape((vocab,) * length + (length, vocab))
    law = stated = _law_of(table)
    all_of_them, rows = np.ones(law.shape, bool), "predictions depend on earlier tokens alone"
    yield rows, partial(_check_causal, "prediction", table, all_of_them)
    of_all = "the probabilities of all sequences sum to 1"
    yield of_all, partial(close, stated.sum(), 1, "sequences do not sum to 1")
    if joint is not None:
        law, same = joint(length), "sequences have the probabilities of the oracle"
        # Each factor has a float32 rounding error of its logarithm.
        rounding = {"rtol": 5e-6 * length, "atol": 1e-9}
        yield same, partial(close, stated, law, "sequences differ from the oracle", **rounding)
    yield "predictions are distributions; impossible is -inf", partial(_check_rows, table, law)
    if plain:
        yield "compilation changes no prediction", partial(_check_compiled, process, table, law)
    drawn = "sequences and continuations are drawn as often as predicted"
    yield drawn, partial(_check_draws, process, law, draws, seed)
    if isinstance(process, AbstractHiddenChain):
        of_states = "beliefs are the distribution of the drawn hidden states"
        yield of_states, partial(_check_beliefs, process, length, draws, seed)
    if mask is not None:
        masked = mask.reshape(*law.shape, length)
        yield "the loss mask depends on earlier tokens alone", partial(_check_mask, masked, law > 0)
    if sources is not None:
        in_loss = np.ones(sequences.shape, bool) if mask is None else mask
        possible, rows = law.ravel() > 0, table.reshape(-1, length, vocab)
        parts = [part[possible] for part in (sequences, rows, sources, in_loss)]
        yield "predictions depend on the true sources alone", partial(_check_sources, *parts)


@fixed_numerics()
@partial(jax.jit, static_argnames="process")
def _statements(process, sequences):
    """Return each sequence's predictions, loss mask and true sources, in one program."""

    def of_sequence(tokens):
        mask = process.loss_mask(tokens) if process.has_loss_mask() else None
        log_probs = predictions_from(process, process.start(), tokens)
        return log_probs, mask, process.true_sources(tokens[:-1])

    return jax.vmap(of_sequence)(sequences)


def _law_of(table: np.ndarray) -> np.ndarray:
    """Return p(sequence) of every sequence, the product of its predictions."""
    tokens = np.moveaxis(np.indices(table.shape[:-2]), 0, -1)
    probs = np.exp(np.take_along_axis(table, tokens[..., None], axis=-1)[..., 0])
    # Predictions after an impossible token have no meaning.
    return np.where(np.cumsum(probs == 0, axis=-1) > 0, 0, probs).prod(axis=-1)


def _rows(table: np.ndarray, law: np.ndarray):
    """Yield the predicted and the true p(next token) after every possible past of each length."""
    length = law.ndim
    for t in range(length):
        after = law.sum(axis=tuple(range(t + 1, length)))
        past = after.sum(axis=-1)
        possible = past > 1e-12
        rows = table[(slice(None),) * t + (0,) * (length - t) + (t,)]
        yield rows[possible], after[possible] / past[possible][..., None]


def _check_causal(what: str, values: np.ndarray, among: Bool[np.ndarray, "..."]) -> None:
    """Check that the t-th value of each sequence `among` these depends on the first t tokens."""
    length = among.ndim
    for t, rows in enumerate(np.moveaxis(values.reshape(*among.shape, length, -1), -2, 0)):
        same_past = rows[(slice(None),) * t + (slice(0, 1),) * (length - t)]
        equal(
            np.where(among[..., None], rows, same_past),
            np.broadcast_to(same_past, rows.shape),
            f"the {what} of token {t} depends on that token or later ones",
        )


def _check_mask(mask: Bool[np.ndarray, "..."], possible: Bool[np.ndarray, "..."]) -> None:
    _check_causal("loss mask", mask, possible)
    require(not mask[possible, 0].any(), "the loss mask includes the first token")
    counts = mask[possible].sum(axis=-1)
    require(counts.min() == counts.max() > 0, "loss masks differ in how many tokens they select")


def _check_sources(
    sequences: Int[np.ndarray, "size length"],
    table: Float[np.ndarray, "size length vocab"],
    sources: Bool[np.ndarray, "size query key"],
    in_loss: Bool[np.ndarray, "size length"],
) -> None:
    for t, rows in enumerate(sources.swapaxes(0, 1)):
        require(not rows[:, t + 1 :].any(), f"a source of token {t + 1} comes after token {t}")
        _, first, group = _groups(sequences[:, : t + 1])
        same = (rows == rows[first][group]).all()
        require(same, f"the sources of token {t + 1} depend on that token or later ones")
        counted = in_loss[:, t + 1]
        rows, probs = rows[counted], np.exp(table[counted, t + 1])
        if counted.any():
            _, first, group = _groups(np.where(rows, sequences[counted, :-1], -1))
            close(
                probs,
                probs[first][group],
                f"token {t + 1} depends on tokens that are not its sources",
                atol=2e-6,
            )


def _groups(rows: np.ndarray):
    return np.unique(rows, axis=0, return_index=True, return_inverse=True)


def _check_rows(table: np.ndarray, law: np.ndarray) -> None:
    for t, (found, expected) in enumerate(_rows(table, law)):
        # float32 logarithms near 1 resolve probabilities to about 1e-7.
        close(np.exp(found).sum(axis=-1), 1, f"token {t}: probabilities do not sum to 1", atol=2e-6)
        close(np.exp(found), expected, f"the prediction of token {t} is wrong", atol=2e-6)
        equal(np.isneginf(found), expected < 1e-12, f"token {t}: impossible is not -inf")


def _check_compiled(process: AbstractGenerator, table: np.ndarray, law: np.ndarray) -> None:
    tokens = np.unravel_index(law.argmax(), law.shape)
    with jax.disable_jit():
        plain = log_predictives(process, jnp.array(tokens))
    # Fused float32 operations may round the last bit differently.
    close(plain, table[tokens], "predictions differ when compiled", rtol=1e-6, atol=1e-6)


def _check_draws(process: AbstractGenerator, law: np.ndarray, draws: int, seed: int) -> None:
    tokens, again, other = (
        np.asarray(sample(process, key=jr.key(number), size=draws // 2, length=law.ndim))
        for number in (seed, seed, seed + 1)
    )
    equal(tokens, again, "one key draws two samples")
    require(law.max() > 1 - 1e-9 or (tokens != other).any(), "two keys draw the same sample")
    _check_frequencies(np.concatenate([tokens, other]), law, "sampled sequences")
    seen = max(1, law.ndim // 2)
    beginning = law.sum(axis=tuple(range(seen, law.ndim)))
    begun = np.unravel_index(beginning.argmax(), beginning.shape)
    after = continue_sequence(
        process, jnp.array(begun), key=jr.key(seed), size=draws, days=law.ndim - seen
    )
    _check_frequencies(np.asarray(after), law[begun] / law[begun].sum(), "continuations")


def _check_beliefs(process: AbstractGenerator, length: int, draws: int, seed: int) -> None:
    tokens, states = draw_many(process, key=jr.key(seed), size=draws, length=length)
    after = np.exp(np.asarray(_beliefs_of(process, tokens), dtype=np.float64))
    drawn = np.asarray(states)[..., None] == np.arange(len(process.hidden_states))
    # After each last token: a belief may be right on average and wrong after some pasts.
    last = np.asarray(tokens)[..., None] == np.arange(process.vocabulary.size)
    difference = np.einsum("stv,sth->tvh", last, drawn - after)
    variance = np.einsum("stv,sth->tvh", last, after * (1 - after))
    require(
        (np.abs(difference) <= _SIGMAS * np.sqrt(variance) + 1).all(),
        "hidden states are not drawn as often as the beliefs say",
    )


@fixed_numerics()
@partial(jax.jit, static_argnames="process")
def _beliefs_of(process, sequences):
    """Return the belief after each token of each sequence."""
    return jax.vmap(lambda tokens: beliefs(process, tokens)[1:])(sequences)


def _check_frequencies(tokens: np.ndarray, law: np.ndarray, what: str) -> None:
    counts, size = np.zeros(law.shape), len(tokens)
    require(0 <= tokens.min() <= tokens.max() < law.shape[0], f"{what}: tokens out of range")
    np.add.at(counts, tuple(tokens.T), 1)
    require(counts[law < 1e-15].sum() == 0, f"{what}: impossible ones are drawn")
    rare = size * law < _FEW
    counts = np.append(counts[~rare], counts[rare].sum())
    law = np.append(law[~rare], law[rare].sum())
    # The last term allows for the skew of a pool that is itself rare.
    most = _SIGMAS * np.sqrt(size * law * (1 - law)) + 1
    require(
        (np.abs(counts - size * law) <= most).all(), f"{what} do not occur as often as predicted"
    )
