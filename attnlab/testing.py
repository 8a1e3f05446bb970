"""Checks of the laws that every process and every model must obey, for use on your own.

>>> from attnlab import GRUOptions, Markov
>>> check_process(Markov(), length=3, draws=2_000)
>>> check_model(GRUOptions(hidden_size=3))
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import quoted
from attnlab.configuration.records import from_record, to_record
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
from attnlab.models import (
    AbstractModel,
    AbstractModelOptions,
    Edit,
    edited,
    parameter_count,
    parameters_by_part,
)
from attnlab.models.base import Logits

_MOST_SEQUENCES = 60_000
# For about one key in a hundred, a correct sampler exceeds this in one of several thousand cells.
_SIGMAS = 4.5
# Cells with fewer expected draws are far from normal, so they are pooled.
_FEW = 25

Joint = Callable[[int], Float[np.ndarray, "..."]]
Forward = Callable[[AbstractModel, Int[np.ndarray, " length"]], Float[np.ndarray, "length vocab"]]


def check_process(
    process: AbstractGenerator,
    *,
    length: int = 5,
    joint: Joint | None = None,
    draws: int = 60_000,
    seed: int = 13,
    plain: bool = True,
) -> None:
    """Check that a process knows its own probabilities and samples from them.

    Predictions are distributions, do not see later tokens, are equal with and without compilation,
    and are -inf for impossible tokens. Sequences and continuations are sampled with these
    frequencies. Whether a token is in the loss mask depends only on the tokens before it,
    and all masks select equally many tokens. Predictions depend on the tokens at `true_sources`
    alone. The belief of a hidden chain is how often each state is drawn. All vocab^length sequences
    are enumerated.

    Args:
        process: A process whose options fit this length.
        length: Number of tokens. A process with a fixed length is checked at that length.
        joint: An oracle that shares no code with the process: p(tokens) of all sequences of some
            length in float64, as an array of shape (vocab,) * length. By default, the product of
            the process's own predictions.
        draws: Number of sequences to draw.
        seed: Seed of these sequences.
        plain: Whether to compute without compilation too, which takes a third of the time.

    Raises:
        AssertionError: If a law does not hold; the message says which.
        ValueError: If there are more than 60,000 sequences.

    """
    for _, check in process_laws(
        process, length=length, joint=joint, draws=draws, seed=seed, plain=plain
    ):
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
    """
    own, vocab = process.own_length(), process.vocabulary.size
    length = length if own is None else own + 1
    if vocab**length > _MOST_SEQUENCES:
        raise ValueError(f"`length` is {quoted(length)}: too many sequences. Choose fewer tokens.")
    yield "the options survive JSON", lambda: _check_record(process)
    sequences = np.indices((vocab,) * length).reshape(length, -1).T
    log_probs, mask, sources = jax.tree.map(np.asarray, _statements(process, sequences))
    table = log_probs.astype(np.float64).reshape((vocab,) * length + (length, vocab))
    law = stated = _law_of(table)
    yield (
        "predictions depend on earlier tokens alone",
        lambda: _check_sees_the_past_alone(table, stated),
    )
    yield (
        "the probabilities of all sequences sum to 1",
        lambda: _close(stated.sum(), 1, "sequences do not sum to 1"),
    )
    if joint is not None:
        oracle = joint(length)
        # Each factor has a float32 rounding error of its logarithm.
        rounding = {"rtol": 5e-6 * length, "atol": 1e-9}
        yield (
            "sequences have the probabilities of the oracle",
            lambda: _close(stated, oracle, "sequences differ from the oracle", **rounding),
        )
        law = oracle
    yield (
        "predictions are distributions, and -inf for impossible tokens",
        lambda: _check_predictions(table, law),
    )
    if plain:
        yield (
            "predictions are equal with and without compilation",
            lambda: _check_compiled(process, table, law),
        )
    yield (
        "sequences and continuations are drawn as often as predicted",
        lambda: _check_draws(process, law, draws, seed),
    )
    if isinstance(process, AbstractHiddenChain):
        yield (
            "beliefs are the distribution of the drawn hidden states",
            lambda: _check_beliefs(process, length, draws, seed),
        )
    if mask is not None:
        yield (
            "the loss mask depends on earlier tokens alone",
            lambda: _check_loss_mask(mask.reshape(*law.shape, length), law),
        )
    if sources is not None:
        in_loss = np.ones(sequences.shape, bool) if mask is None else mask
        possible, rows = law.ravel() > 0, table.reshape(-1, length, vocab)
        parts = [part[possible] for part in (sequences, rows, sources, in_loss)]
        yield "predictions depend on the true sources alone", lambda: _check_sources(*parts)


@fixed_numerics()
@partial(jax.jit, static_argnames="process")
def _statements(process, sequences):
    """Return each sequence's predictions, loss mask and true sources, in one program."""

    def of_sequence(tokens):
        mask = process.loss_mask(tokens) if process.has_loss_mask() else None
        log_probs = predictions_from(process, process.start(), tokens)
        return log_probs, mask, process.true_sources(tokens[:-1])

    return jax.vmap(of_sequence)(sequences)


def _require(holds: bool | np.bool_, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _close(
    found: Any, expected: Any, message: str, *, atol: float = 1e-5, rtol: float = 1e-7
) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=message)


def _equal(found: Any, expected: Any, message: str) -> None:
    np.testing.assert_array_equal(found, expected, err_msg=message)


def _check_record(part: AbstractGenerator | AbstractModelOptions) -> None:
    record = to_record(part)
    text = json.dumps(record)
    again = from_record({part.name: type(part)}, json.loads(text), option_name=part.name)
    _require(to_record(again) == record, "the options do not survive JSON")


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


def _check_sees_the_past_alone(table: np.ndarray, law: np.ndarray) -> None:
    for t in range(law.ndim):
        rows = table[..., t, :]
        same_past = rows[(slice(None),) * t + (slice(0, 1),) * (law.ndim - t)]
        _equal(
            rows,
            np.broadcast_to(same_past, rows.shape),
            f"the prediction of token {t} depends on that token or later ones",
        )


def _check_loss_mask(mask: Bool[np.ndarray, "..."], law: np.ndarray) -> None:
    possible = law > 0
    for t in range(law.ndim):
        same_past = (slice(None),) * t
        before, after = mask[..., t], possible.any(axis=tuple(range(t, law.ndim)))
        first = before[same_past + (0,) * (law.ndim - t)]
        differs = (before != first.reshape(first.shape + (1,) * (law.ndim - t))) & possible
        _require(
            not (differs.any(axis=tuple(range(t, law.ndim))) & after).any(),
            f"the loss mask of token {t} depends on that token or later ones",
        )
    _require(not mask[possible, 0].any(), "the loss mask includes the first token")
    counts = mask[possible].sum(axis=-1)
    _require(counts.min() == counts.max() > 0, "loss masks differ in how many tokens they select")


def _check_sources(
    sequences: Int[np.ndarray, "size length"],
    table: Float[np.ndarray, "size length vocab"],
    sources: Bool[np.ndarray, "size query key"],
    in_loss: Bool[np.ndarray, "size length"],
) -> None:
    for t, rows in enumerate(sources.swapaxes(0, 1)):
        _require(not rows[:, t + 1 :].any(), f"a source of token {t + 1} comes after token {t}")
        _, first, group = _groups(sequences[:, : t + 1])
        same = (rows == rows[first][group]).all()
        _require(same, f"the sources of token {t + 1} depend on that token or later ones")
        counted = in_loss[:, t + 1]
        rows, probs = rows[counted], np.exp(table[counted, t + 1])
        if counted.any():
            _, first, group = _groups(np.where(rows, sequences[counted, :-1], -1))
            _close(
                probs,
                probs[first][group],
                f"token {t + 1} depends on tokens that are not its sources",
                atol=2e-6,
            )


def _groups(rows: np.ndarray):
    return np.unique(rows, axis=0, return_index=True, return_inverse=True)


def _check_predictions(table: np.ndarray, law: np.ndarray) -> None:
    for t, (found, expected) in enumerate(_rows(table, law)):
        # float32 logarithms near 1 resolve probabilities to about 1e-7.
        _close(
            np.exp(found).sum(axis=-1), 1, f"token {t}: probabilities do not sum to 1", atol=2e-6
        )
        _close(np.exp(found), expected, f"the prediction of token {t} is wrong", atol=2e-6)
        _equal(np.isneginf(found), expected < 1e-12, f"token {t}: impossible is not -inf")


def _check_compiled(process: AbstractGenerator, table: np.ndarray, law: np.ndarray) -> None:
    tokens = np.unravel_index(law.argmax(), law.shape)
    with jax.disable_jit():
        plain = log_predictives(process, jnp.array(tokens))
    # Fused float32 operations may round the last bit differently.
    _close(plain, table[tokens], "predictions differ when compiled", rtol=1e-6, atol=1e-6)


def _check_draws(process: AbstractGenerator, law: np.ndarray, draws: int, seed: int) -> None:
    tokens, again, other = (
        np.asarray(sample(process, key=jr.key(number), size=draws // 2, length=law.ndim))
        for number in (seed, seed, seed + 1)
    )
    _equal(tokens, again, "one key draws two samples")
    _require(law.max() > 1 - 1e-9 or (tokens != other).any(), "two keys draw the same sample")
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
    _require(
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
    _require(0 <= tokens.min() <= tokens.max() < law.shape[0], f"{what}: tokens out of range")
    np.add.at(counts, tuple(tokens.T), 1)
    _require(counts[law < 1e-15].sum() == 0, f"{what}: impossible ones are drawn")
    rare = size * law < _FEW
    counts = np.append(counts[~rare], counts[rare].sum())
    law = np.append(law[~rare], law[rare].sum())
    # The last term allows for the skew of a pool that is itself rare.
    most = _SIGMAS * np.sqrt(size * law * (1 - law)) + 1
    _require(
        (np.abs(counts - size * law) <= most).all(), f"{what} do not occur as often as predicted"
    )


def check_model(
    options: AbstractModelOptions,
    *,
    vocab: int = 3,
    length: int = 5,
    tokens: Sequence[int] | None = None,
    forward: Forward | None = None,
    seed: int = 0,
    plain: bool = True,
    **build: int,
) -> None:
    """Check that the models of a family do what the family claims.

    Logits do not depend on which other queries are computed. Rows of patterns sum to 1 within their
    mask. A prediction has a gradient to the tokens that it `sees` and to no others. Batching or
    compiling changes nothing. Parameter formulas count the parameters. Activations of the `sites`
    can be captured at every position and edited. Replaced by themselves they change nothing;
    replaced by those of another sequence they change the logits, at the last site to the logits of
    the other sequence.

    Args:
        options: A small member of the family.
        vocab: Number of different tokens.
        length: Visible tokens.
        tokens: The input sequence; random by default.
        forward: An oracle that shares no code with the model: its logits in float64.
        seed: Seed of the weights, and of the tokens.
        plain: Whether to compute without compilation too, which takes a third of the time.
        build: More arguments of `build`, such as `source`.

    Raises:
        AssertionError: If a law does not hold; the message says which.

    """
    key = jr.key(seed)
    # One compiled program: otherwise JAX compiles each operation separately.
    model = eqx.filter_jit(
        lambda: _off_its_start(options.build(vocab=vocab, length=length, key=key, **build), key)
    )()
    drawn = jr.randint(jr.fold_in(key, 1), (length,), 0, vocab)
    visible, queries = drawn if tokens is None else jnp.asarray(tokens), jnp.arange(length)
    if not options.every_position:
        queries = queries[-1:]
    call = eqx.filter_jit(lambda model, tokens, queries: model(tokens, queries))
    logits, trace = call(model, visible, queries)
    _require(logits.shape == (queries.size, vocab), f"logits have the shape {logits.shape}")
    some = queries[jnp.array([-1, queries.size // 2])]
    # Matrix products of other heights may be summed in another order.
    _close(
        call(model, visible, some)[0],
        logits[some - queries[0]],
        "logits depend on which other queries are computed",
    )
    for found in trace.attention:
        pattern, mask = np.asarray(found.pattern), np.asarray(found.mask)
        total = np.broadcast_to(mask.any(axis=-1), pattern.shape[:-1])
        _close(pattern.sum(axis=-1), total, "rows of a pattern do not sum to 1")
        _require((pattern[:, ~mask] == 0).all(), "a pattern has shares outside of its mask")
    _check_batch(model, visible, queries, logits, plain=plain)
    _require(not trace.residual, "a trace keeps activations that no `capture` asked for")
    if model.sites:
        _check_sites(model, options, visible, some, logits[some - queries[0]])
    if not options.reads_source:
        _check_sight(model, options, visible, queries)
    _check_parameters(model, options, vocab=vocab, length=length, build=build)
    if forward is not None:
        expected = forward(model, np.asarray(visible))[np.asarray(queries)]
        _close(logits, expected, "logits differ from the oracle", atol=5e-5)


def _off_its_start(model: AbstractModel, key: Array) -> AbstractModel:
    """Return the model with perturbed parameters: no bias is 0, and no parts are equal."""
    leaves, form = jax.tree.flatten(eqx.filter(model, eqx.is_array))
    keys = jr.split(jr.fold_in(key, 2), max(len(leaves), 1))
    moved = [
        leaf + 0.3 * jr.normal(one, leaf.shape) for leaf, one in zip(leaves, keys, strict=False)
    ]
    return eqx.combine(jax.tree.unflatten(form, moved), model)


def _check_batch(
    model: AbstractModel, tokens: Array, queries: Array, logits: Logits, *, plain: bool
) -> None:
    call = jax.jit(jax.vmap(lambda one: model(one, queries)[0]))
    batch = call(jnp.stack([tokens, tokens[::-1]]))
    _close(batch[0], logits, "logits differ in a batch")
    if not plain:
        return
    with jax.disable_jit():
        own = model(tokens, queries)[0]
    _close(own, logits, "logits differ when compiled")


def _check_sites(
    model: AbstractModel,
    options: AbstractModelOptions,
    tokens: Array,
    queries: Array,
    logits: Logits,
) -> None:
    sites = model.sites
    _require(len(set(sites)) == len(sites), "two sites have the same name")

    @eqx.filter_jit
    def read(model, tokens, *edits):
        logits, trace = edited(model, *edits)(tokens, queries, capture=sites)
        return logits, trace.residual

    def read_with(values, site=None):
        # All sites have an edit, so that all programs are one; only one of them replaces anything.
        edits = (Edit(site=each, value=value, where=jnp.full(len(value), each == site))
                 for each, value in values.items())  # fmt: skip
        return read(model, tokens, *edits)

    captured_logits, own = read(model, tokens)
    _close(captured_logits, logits, "`capture` changes the logits")
    unedited, own = read_with(own)
    _close(unedited, logits, "edits at no position change the logits")
    other_logits, others = read(model, (tokens + 1) % model.vocab)
    for site in sites:
        _require(site in own, f"the site {quoted(site)} is not captured")
        rows = own[site].shape[0]
        _require(rows == tokens.size or options.reads_source, f"{quoted(site)} has {rows} rows")
        same, _ = read_with(own, site)
        _equal(same, unedited, f"{quoted(site)} replaced by itself changes the logits")
        changed, kept = read_with(others, site)
        _equal(kept[site], others[site], f"{quoted(site)} is captured without its edit")
        _require(bool((changed != same).any()), f"an edit at {quoted(site)} changes no logits")
    _close(changed, other_logits, "the last site does not decide the logits")


def _check_sight(
    model: AbstractModel, options: AbstractModelOptions, tokens: Array, queries: Array
) -> None:
    one_hot, length = jax.nn.one_hot(tokens, model.vocab), tokens.size

    def squares(one_hot, query):
        # Squared, since the gradients of a softmax may sum to zero.
        return (model.read(one_hot, query[None])[0] ** 2).sum()

    gradient_at = jax.jit(jax.grad(squares))
    for query in queries.tolist():
        seen = np.abs(gradient_at(one_hot, jnp.int32(query))).max(axis=1).nonzero()[0].tolist()
        said = list(options.sees(query, length))
        _require(
            seen == said, f"the prediction at {query} depends on {seen}, but `sees` says {said}"
        )
    later = any(max(options.sees(query, length)) > query for query in range(length))
    _require(options.causal == (not later), "`causal` and `sees` contradict each other")


def _check_parameters(
    model: AbstractModel,
    options: AbstractModelOptions,
    *,
    vocab: int,
    length: int,
    build: dict[str, int],
) -> None:
    _check_record(options)
    for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)):
        _require(jnp.issubdtype(leaf.dtype, jnp.floating), "a parameter is not a float array")
    if build:
        return
    parts = parameters_by_part(options, vocab=vocab, length=length)
    _require(
        sum(part.count for part in parts) == parameter_count(model),
        "parts do not add up",
    )
