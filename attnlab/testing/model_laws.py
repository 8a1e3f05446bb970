"""The laws that every model must obey."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import quoted
from attnlab.models import (
    AbstractModel,
    AbstractModelOptions,
    Edit,
    edited,
    parameter_count,
    parameters_by_part,
)
from attnlab.models.base import Logits
from attnlab.testing.checks import check_record, close, equal, require

Forward = Callable[[AbstractModel, Int[np.ndarray, " length"]], Float[np.ndarray, "length vocab"]]


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
    queries = queries if options.every_position else queries[-1:]
    call = eqx.filter_jit(lambda model, tokens, queries: model(tokens, queries))
    logits, trace = call(model, visible, queries)
    require(logits.shape == (queries.size, vocab), f"logits have the shape {logits.shape}")
    some = queries[jnp.array([-1, queries.size // 2])]
    # Matrix products of other heights may be summed in another order.
    of_some, (alone, _) = logits[some - queries[0]], call(model, visible, some)
    close(alone, of_some, "logits depend on which other queries are computed")
    for found in trace.attention:
        pattern, mask = np.asarray(found.pattern), np.asarray(found.mask)
        total = np.broadcast_to(mask.any(axis=-1), pattern.shape[:-1])
        close(pattern.sum(axis=-1), total, "rows of a pattern do not sum to 1")
        require((pattern[:, ~mask] == 0).all(), "a pattern has shares outside of its mask")
    in_batch = jax.jit(jax.vmap(lambda one: model(one, queries)[0]))
    batch = in_batch(jnp.stack([visible, visible[::-1]]))
    close(batch[0], logits, "logits differ in a batch")
    if plain:
        with jax.disable_jit():
            close(model(visible, queries)[0], logits, "logits differ when compiled")
    require(not trace.residual, "a trace keeps activations that no `capture` asked for")
    if model.sites:
        _check_sites(model, options, visible, some, of_some)
    if not options.reads_source:
        _check_sight(model, options, visible, queries)
    check_record(options)
    for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)):
        require(jnp.issubdtype(leaf.dtype, jnp.floating), "a parameter is not a float array")
    if not build:
        parts = parameters_by_part(options, vocab=vocab, length=length)
        total = sum(part.count for part in parts)
        require(total == parameter_count(model), "parts do not add up")
    if forward is not None:
        expected = forward(model, np.asarray(visible))[np.asarray(queries)]
        close(logits, expected, "logits differ from the oracle", atol=5e-5)


def _off_its_start(model: AbstractModel, key: Array) -> AbstractModel:
    """Return the model with perturbed parameters: no bias is 0, and no parts are equal."""
    leaves, form = jax.tree.flatten(eqx.filter(model, eqx.is_array))
    keys = jr.split(jr.fold_in(key, 2), max(len(leaves), 1))
    moved = [
        leaf + 0.3 * jr.normal(one, leaf.shape) for leaf, one in zip(leaves, keys, strict=False)
    ]
    return eqx.combine(jax.tree.unflatten(form, moved), model)


def _check_sites(
    model: AbstractModel,
    options: AbstractModelOptions,
    tokens: Array,
    queries: Array,
    logits: Logits,
) -> None:
    sites = model.sites
    require(len(set(sites)) == len(sites), "two sites have the same name")

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
    close(captured_logits, logits, "`capture` changes the logits")
    unedited, own = read_with(own)
    close(unedited, logits, "edits at no position change the logits")
    other_logits, others = read(model, (tokens + 1) % model.vocab)
    for site in sites:
        require(site in own, f"the site {quoted(site)} is not captured")
        rows = own[site].shape[0]
        require(rows == tokens.size or options.reads_source, f"{quoted(site)} has {rows} rows")
        same, _ = read_with(own, site)
        equal(same, unedited, f"{quoted(site)} replaced by itself changes the logits")
        changed, kept = read_with(others, site)
        equal(kept[site], others[site], f"{quoted(site)} is captured without its edit")
        require(bool((changed != same).any()), f"an edit at {quoted(site)} changes no logits")
    close(changed, other_logits, "the last site does not decide the logits")


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
        require(
            seen == said, f"the prediction at {query} depends on {seen}, but `sees` says {said}"
        )
    later = any(max(options.sees(query, length)) > query for query in range(length))
    require(options.causal == (not later), "`causal` and `sees` contradict each other")
