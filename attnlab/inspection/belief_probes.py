"""Beliefs in a model's activations: probes of them, beside their controls."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.configuration.options import OptionError, choose_one_of, options_of, present
from attnlab.generators import AbstractGenerator, draw_many
from attnlab.generators.hidden_chain import AbstractHiddenChain
from attnlab.inspection.probes import (
    ProbeResult,
    Rows,
    Score,
    Targets,
    activations,
    last_tokens,
    probe,
    score,
)
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment, abstract_state, build_model

# Sequences to fit a probe, and as many others to score it.
SEQUENCES = 1_000
# Numbers in the activations of all sites that are kept at a time: 64 MB.
_MOST_NUMBERS = 16_000_000
_BLOCK = 1_000
_FEWEST = 20
# Keeps these sequences apart from a run's own draws, whose numbers are 0 to 2.
_DRAW = 3

TARGETS = MappingProxyType(
    {
        "belief": "the exact belief",
        "next token": "the distribution of the next token",
        "last token": "the last token",
        "hidden state": "the hidden state itself",
    }
)


class BeliefData(NamedTuple):
    """Sequences with the exact belief and prediction after each token.

    `states` are the hidden states after each token, or None if the process does not draw them.
    """

    sequences: Int[np.ndarray, "sequences length"]
    beliefs: Float[np.ndarray, "sequences length states"]
    next_probs: Float[np.ndarray, "sequences length vocab"]
    states: Int[np.ndarray, "sequences length"] | None = None


def has_beliefs(process: AbstractGenerator) -> bool:
    """Return whether the belief of the process is about two or more hidden states."""
    return len(process.hidden_states) > 1


def check_has_beliefs(process: AbstractGenerator) -> None:
    """Raise `OptionError` unless the belief of the process is about two or more hidden states."""
    if not has_beliefs(process):
        problem = "it has no hidden states, or only one, so there is no belief to look for"
        raise OptionError("process", process.name, problem, "Choose a hidden Markov process")


def check_can_probe(experiment: Experiment, target: str = "belief") -> None:
    """Raise `OptionError` unless the experiment's model can be probed for the target."""
    check_has_beliefs(experiment.generator)
    if target not in TARGETS:
        raise OptionError("target", target, "not a target", choose_one_of(TARGETS, target))
    if target == "hidden state" and not isinstance(experiment.generator, AbstractHiddenChain):
        problem = f"the process '{experiment.generator.name}' does not draw its hidden states"
        raise OptionError("target", target, problem, "Choose the target 'belief'")
    family = experiment.model
    if not abstract_state(experiment).model.sites:
        problem = "its activations cannot be read"
        raise OptionError("model", family.name, problem, "Choose another family")
    if not family.causal:
        problem = "its positions see later tokens, which the belief does not know"
        if "mask" in options_of(family):
            mask = getattr(family, "mask")  # noqa: B009
            raise OptionError("mask", mask, problem, "Choose the mask `causal`")
        raise OptionError("model", family.name, problem, "Choose a causal family")


@fixed_numerics()
def belief_data(
    process: AbstractGenerator, length: int, *, seed: int = 0, size: int = SEQUENCES
) -> BeliefData:
    """Draw sequences, independent of those of any run, and follow the exact belief.

    Args:
        process: A process with hidden states.
        length: Tokens of a sequence.
        seed: Seed of the sequences.
        size: Number of sequences.

    Raises:
        OptionError: If the process has no hidden states.

    """
    check_has_beliefs(process)
    process = process.at_length(length)
    key = jr.fold_in(key_of(seed), _DRAW)
    drawn = draw_many(process, key=key, size=size, length=length)
    sequences = np.asarray(drawn.tokens)
    states = np.asarray(drawn.latent) if isinstance(process, AbstractHiddenChain) else None
    return BeliefData(sequences, *beliefs_after(process, sequences), states)


@fixed_numerics()
def beliefs_after(
    process: AbstractGenerator, sequences: Int[Array | np.ndarray, "sequences length"]
) -> tuple[
    Float[np.ndarray, "sequences length states"], Float[np.ndarray, "sequences length vocab"]
]:
    """Return belief and next-token distribution after each token of every sequence."""
    found = _beliefs_after(process, process.start(), jnp.asarray(sequences))
    belief, following = (np.exp(np.asarray(part, dtype=np.float64)) for part in found)
    return belief, following


@fixed_numerics()
def possible_pasts(process: AbstractGenerator, length: int, most: int) -> BeliefData:
    """List all pasts of up to n tokens that the process can produce, with the beliefs after them.

    n is the largest number of tokens, at most `length`, for which there are at most `most` pasts.

    Args:
        process: A process with hidden states.
        length: Tokens of a sequence.
        most: The largest number of pasts.

    Returns:
        One sequence for each past of n tokens, `(pasts, length)`; its beginnings are the shorter
        pasts, and zeros follow after n tokens. Beliefs and next-token distributions are
        `(pasts, n, …)`. n is 0 if even the first tokens are more than `most`.
    """
    process = process.at_length(length)
    # One shape for all levels, so that one program serves them.
    padded, pasts, count = np.zeros((most, length), np.int32), np.zeros((1, 0), np.int32), 0
    following = np.exp(np.asarray(process.log_probs(process.start()), np.float64))[None]
    while pasts.shape[1] < length:
        rows, tokens = np.nonzero(following > 0)
        if count + len(rows) > most:
            break
        pasts = np.concatenate([pasts[rows], tokens[:, None].astype(np.int32)], axis=1)
        count += len(pasts)
        padded[: len(pasts), : pasts.shape[1]] = pasts
        following = beliefs_after(process, padded)[1][: len(pasts), pasts.shape[1] - 1]
    known = (part[: len(pasts), : pasts.shape[1]] for part in beliefs_after(process, padded))
    return BeliefData(padded[: len(pasts)], *known)


@partial(jax.jit, static_argnames="process")
def _beliefs_after(process, start, sequences):
    def step(belief, token):
        after = process.update(belief, token)
        return after, (after, process.log_probs(after))

    def one(tokens):
        return jax.lax.scan(step, start, tokens)[1]

    return jax.lax.map(one, sequences, batch_size=_BLOCK)


def targets_of(data: BeliefData, target: str) -> Targets:
    """Return the target of a probe by its name in `TARGETS`. Hidden states are one-hot."""
    if target == "belief":
        return data.beliefs
    if target == "next token":
        return data.next_probs
    if target == "hidden state":
        return np.eye(data.beliefs.shape[2])[present(data.states)]
    known = data.sequences[:, : data.next_probs.shape[1]]
    return last_tokens(known, 1, data.next_probs.shape[2])


class SiteProbe(NamedTuple):
    """The probe at one site, and the score of the same probe before training.

    `after` has its predictions for the setup's `pasts`, if it has any.
    """

    site: str
    trained: ProbeResult
    untrained: Score
    after: Targets | None = None


NEXT_TOKEN, LAST_TOKEN, RECENT, SHUFFLED, BEST = (
    "next-token distribution",
    "last token",
    "last three tokens",
    "shuffled target",
    "exact belief",
)


class ProbeSetup(NamedTuple):
    """What all probes of an experiment share.

    Attributes:
        train: Sequences to fit probes to.
        test: Other sequences, to score them.
        targets: Targets of the probes, for both.
        controls: R² of probes of the exact distribution of the next token, of the last tokens
            one-hot, and of the untrained model's last site for the targets of other sequences.
            For hidden states also R² of the exact belief: it is their mean given the tokens, so
            that no function of the tokens has a higher one on average.
        untrained: R² of the untrained model by site.
        repeated: Whether a token of `test` ends a past that `train` has, too.
        pasts: Pasts to predict the targets after, beside those of `test`; None for none.

    """

    train: BeliefData
    test: BeliefData
    targets: tuple[Targets, Targets]
    controls: Mapping[str, Score]
    untrained: Mapping[str, Score]
    repeated: Bool[np.ndarray, "sequences length"]
    pasts: BeliefData | None = None

    def probe(self, train: Rows, test: Rows) -> ProbeResult:
        """Fit a probe to activations of `train`, and score it on those of `test`."""
        return probe((train, self.targets[0]), (test, self.targets[1]))

    def score_of_new(self, found: ProbeResult) -> Score:
        """Return the score at tokens after pasts that were not fitted; NaN if these are few."""
        new = ~self.repeated
        if new.sum() < _FEWEST:
            return Score()
        return score(found.predicted[new][:, None], self.targets[1][new][:, None])


def sequences_for(model: AbstractModel, length: int) -> int:
    """Return the number of sequences to fit probes of a model to: at most 1,000.

    There are fewer, but at least 20, if the activations of all sites would take more than 64 MB.
    """

    def residual(model: AbstractModel, tokens: Array) -> dict[str, Array]:
        return dict(model(tokens, jnp.arange(length), capture=model.sites)[1].residual)

    tokens = jax.ShapeDtypeStruct((length,), jnp.int32)
    shapes = jax.tree.leaves(eqx.filter_eval_shape(residual, model, tokens))
    numbers = 2 * sum(shape.size for shape in shapes)
    return max(_FEWEST, min(SEQUENCES, _MOST_NUMBERS // max(numbers, 1)))


def past_numbers(
    sequences: Int[np.ndarray, "sequences length"],
) -> Int[np.ndarray, "length sequences"]:
    """Return a number for the past up to each token; at a position, equal pasts have equal ones."""
    numbers, vocab = [np.zeros(len(sequences), int)], sequences.max() + 1
    for tokens in sequences.T:
        # Pasts are equal if the pasts before the last token and the last tokens are.
        numbers.append(np.unique(numbers[-1] * vocab + tokens, return_inverse=True)[1])
    return np.stack(numbers[1:])


def distinct_pasts(
    sequences: Int[np.ndarray, "sequences length"], at: slice = slice(None)
) -> list[tuple[int, int]]:
    """Return a sequence and a position, from 0, of each different past that ends in a slice."""
    numbers, ends = past_numbers(sequences), range(sequences.shape[1])[at]
    return sorted(
        (int(row), end) for end in ends for row in np.unique(numbers[end], return_index=True)[1]
    )


def prepare_probes(
    experiment: Experiment, target: str = "belief", size: int | None = None
) -> ProbeSetup:
    """Draw the sequences of all probes of an experiment, and fit the controls.

    Args:
        experiment: The experiment.
        target: A name of `TARGETS`.
        size: Number of sequences to fit, and of others to score; by default `sequences_for`.

    Raises:
        OptionError: If the process has no hidden states, the model has no sites or sees later
            tokens, the target is unknown, or there are fewer than 20 sequences or no more than
            outputs of the probe.

    """
    check_can_probe(experiment, target)
    process, length = experiment.generator, experiment.length
    model = build_model(experiment)
    is_of_states = target in ("belief", "hidden state")
    outputs = len(process.hidden_states) if is_of_states else process.vocabulary.size
    least = max(_FEWEST, outputs + 1)
    size = max(least, sequences_for(model, length)) if size is None else size
    if size < least:
        problem = f"too few sequences to fit and score a probe with {outputs} outputs"
        raise OptionError("size", size, problem, f"Choose {least} or more")
    # Drawn together, so that the halves are independent.
    both = belief_data(process, length, seed=experiment.seed, size=2 * size)
    train = jax.tree.map(lambda part: part[:size], both)
    test = jax.tree.map(lambda part: part[size:], both)
    targets = targets_of(train, target), targets_of(test, target)
    pasts = past_numbers(both.sequences)
    repeated = np.stack([np.isin(at[size:], at[:size]) for at in pasts], axis=1)
    setup = ProbeSetup(train, test, targets, {}, {}, repeated)
    vocab, rows = process.vocabulary.size, _activations_of(setup, model)
    last = [part[model.sites[-1]] for part in rows]
    shuffled = (np.roll(part, 1, axis=0) for part in setup.targets)

    def score_of_last(count: int) -> Score:
        tokens = (last_tokens(part.sequences, count, vocab) for part in (train, test))
        return setup.probe(*tokens).score

    controls = {
        NEXT_TOKEN: setup.probe(train.next_probs, test.next_probs).score,
        LAST_TOKEN: score_of_last(1),
        RECENT: score_of_last(3),
        SHUFFLED: probe(*zip(last, shuffled, strict=True)).score,
    }
    if target == "hidden state":
        controls[BEST] = score(test.beliefs, setup.targets[1])
    untrained = {site: setup.probe(*(part[site] for part in rows)).score for site in model.sites}
    return setup._replace(controls=controls, untrained=untrained)


def _activations_of(setup: ProbeSetup, model: AbstractModel) -> list[dict[str, Rows]]:
    return [activations(model, data.sequences) for data in (setup.train, setup.test)]


def probe_sites(setup: ProbeSetup, model: AbstractModel) -> tuple[SiteProbe, ...]:
    """Probe a model at every site."""
    rows, pasts = _activations_of(setup, model), setup.pasts
    after = {} if pasts is None else activations(model, pasts.sequences)
    sites = []
    for site in model.sites:
        found = setup.probe(*(part[site] for part in rows))
        predicted = found.probe(after[site]) if after else None
        sites.append(SiteProbe(site, found, setup.untrained[site], predicted))
    return tuple(sites)


def probe_all_sites(setup: ProbeSetup, model: AbstractModel) -> ProbeResult:
    """Probe the activations of all sites side by side."""
    rows = (np.concatenate([*part.values()], axis=2) for part in _activations_of(setup, model))
    return setup.probe(*rows)
