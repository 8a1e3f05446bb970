"""Matched runs over widths, scales and init gains: the effect of 1/√d on training."""

import dataclasses
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import OptionError
from attnlab.models import AttentionOptions
from attnlab.models.attention import PaddedHead, padded
from attnlab.models.base import readout_position
from attnlab.optimum import entropy, optimum
from attnlab.optimum.sequences import mean_and_error, predictives
from attnlab.training.experiment import Experiment, Setup, build_model, prepare
from attnlab.training.limits import Limits, check_work
from attnlab.training.presets import PRESETS
from attnlab.training.steps import TrainState, as_compiled, initial_state, take_steps

SCALED, UNSCALED = _SCALES = ("1/sqrt(d)", "none")
_CHECKS = 20
# Steps between two checks for a stop.
_MOST_STEPS_A_CHUNK = 100
_MOST_SEEDS, _MOST_WIDTH, _MOST_STEPS = 16, 128, 5_000


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Runs of one experiment that differ only in `d_attn`, scale, init gain and seed.

    `gains` are factors on the initial weights and biases of queries and keys; scores grow with the
    square of the gain. All runs of a seed use the same data.

    Raises:
        OptionError: If the model is not a single attention head with the score `dot`, there is no
            width or gain, a width is above 128, or steps or seeds are out of bounds.

    """

    experiment: Experiment
    widths: tuple[int, ...] = (4, 8, 16, 32, 64, 128)
    gains: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    seeds: int = 3

    def __post_init__(self):
        if not isinstance(self.experiment.model, AttentionOptions):
            name = self.experiment.model.name
            raise OptionError("model", name, "has no scores", "Choose the model 'attention'")
        if (score := self.experiment.model.score) != "dot":
            problem = "the sweep is about the scale of dot products"
            raise OptionError("score", score, problem, "Choose the score 'dot'")
        steps = self.experiment.training.steps
        for name, values, most in (
            ("widths", self.widths, _MOST_WIDTH),
            ("seeds", (self.seeds,), _MOST_SEEDS),
            ("steps", (steps,), _MOST_STEPS),
        ):
            if not values or not all(1 <= value <= most for value in values):
                remedy = f"Choose whole numbers from 1 to {most:,}"
                raise OptionError(name, values, "out of bounds", remedy)
        if not self.gains or not all(0 < gain <= 100 for gain in self.gains):
            raise OptionError("gains", self.gains, "out of bounds", "Choose numbers up to 100")


def usual_sweep(process: str, steps: int = 300, seeds: int = 3) -> Sweep:
    """Return the sweep of the preset `corrected-…` of a process, on 20,000 training sequences."""
    base = PRESETS[f"corrected-{process}"].experiment
    training = dataclasses.replace(
        base.training, steps=steps, data="fixed", train_size=20_000, test_size=500, batch=100
    )
    return Sweep(dataclasses.replace(base, training=training), seeds=seeds)


def check_sweep(sweep: Sweep, limits: Limits) -> None:
    """Raise `OptionError` for more total work than a machine's `limits` allow.

    Every run is computed at the largest width: see `padded`.
    """
    model = dataclasses.replace(_options(sweep), d_attn=max(sweep.widths))
    runs = len(_SCALES) * len(sweep.widths) * len(sweep.gains) * sweep.seeds
    check_work(dataclasses.replace(sweep.experiment, model=model), limits, runs=runs)


def _options(sweep: Sweep) -> AttentionOptions:
    return cast(AttentionOptions, sweep.experiment.model)


class Track(NamedTuple):
    """The runs of one width and scale, evaluated after each of `steps` on test sequences.

    The results are means over sequences, for the row that predicts: `std` is the standard deviation
    of its unmasked scores before the softmax; `entropy` is that of its pattern, in nats; `gap` is
    KL(true ‖ model) in nats, the expected loss minus the floor.
    """

    d_attn: int
    scale: str
    steps: Int[np.ndarray, " checks"]
    std: Float[np.ndarray, "gains seeds checks"]
    entropy: Float[np.ndarray, "gains seeds checks"]
    gap: Float[np.ndarray, "gains seeds checks"]


class SweepProgress(NamedTuple):
    """The share of all steps done, the current runs, and the tracks so far."""

    share: float
    doing: str
    tracks: tuple[Track, ...]


def run_sweep(sweep: Sweep) -> Iterator[SweepProgress]:
    """Train one width after the other, with both scales, all gains and all seeds at once.

    Yield progress at least every hundred steps; the last two tracks may be unfinished.
    """
    yield SweepProgress(0.0, "drawing the data", ())
    data, training = _data(sweep), sweep.experiment.training
    checks = check_steps(training.steps).tolist()
    total, done, tracks = len(sweep.widths) * training.steps, 0, ()
    advance = partial(
        _advance,
        sources=data.setups.source,
        keys=data.setups.key,
        training=as_compiled(training),
        learning_rate=jnp.float32(training.learning_rate),
        last_step=jnp.int32(training.steps),
    )
    for d_attn in sweep.widths:
        doing = f"d_attn {d_attn}"
        yield SweepProgress(done / total, doing, tracks)
        states = _starting_states(sweep, d_attn)
        looks = [_look(sweep, states, data)]
        for before, after in itertools.pairwise(checks):
            pair = _pair(d_attn, checks, looks)
            for start in range(before, after, _MOST_STEPS_A_CHUNK):
                yield SweepProgress(done / total, doing, (*tracks, *pair))
                steps = min(after - start, _MOST_STEPS_A_CHUNK)
                states = advance(states, steps=jnp.int32(steps))
                done += steps
            looks.append(_look(sweep, states, data))
        tracks = (*tracks, *_pair(d_attn, checks, looks))
    yield SweepProgress(1.0, "", tracks)


def check_steps(steps: int) -> Int[np.ndarray, " checks"]:
    """Return 0 and about twenty log-spaced steps up to the last."""
    later = np.unique(np.rint(np.geomspace(min(4, steps), steps, _CHECKS)).astype(int))
    return np.concatenate([[0], later])


def target_gap(experiment: Experiment, share: float) -> float:
    """Return the gap, in nats, at which `share` of what can be learned is learned.

    It is (1 - share) · (log vocab - floor), since log vocab is the loss of a uniform guess.
    """
    floor = optimum(experiment.generator, experiment.length).final.nll
    return (1 - share) * (float(np.log(experiment.generator.vocabulary.size)) - floor)


def steps_to(track: Track, gap: float) -> Float[np.ndarray, "gains seeds"]:
    """Return the first evaluated step with a gap of at most `gap`; infinite if there is none."""
    reached = track.gap <= gap
    return np.where(reached.any(axis=-1), track.steps[reached.argmax(axis=-1)], np.inf)


def over_seeds(values: Float[np.ndarray, " seeds"]) -> tuple[float, float]:
    """Return the mean over seeds and its standard error, NaN for a single seed."""
    return mean_and_error(values) if values.size > 1 else (float(values[0]), float("nan"))


class _Data(NamedTuple):
    """The data that all runs of a seed share; `true` are the true next-token distributions."""

    setups: Setup
    true: Float[np.ndarray, "seeds size vocab"]


def _data(sweep: Sweep) -> _Data:
    setups = [prepare(_of_seed(sweep.experiment, seed)) for seed in range(sweep.seeds)]
    generator = sweep.experiment.generator
    true = [predictives(generator, np.asarray(setup.test[:, :-1]))[:, -1] for setup in setups]
    # The models in these states are not those of the sweep.
    shared = [setup._replace(state=None) for setup in setups]
    return _Data(_stacked(shared), np.stack(true))


def _of_seed(experiment: Experiment, seed: int) -> Experiment:
    return dataclasses.replace(experiment, seed=experiment.seed + seed)


def _starting_states(sweep: Sweep, d_attn: int) -> TrainState:
    """Return states with leading axes (scales, gains, seeds); weights are equal for both scales."""
    options = dataclasses.replace(_options(sweep), d_attn=d_attn, scale=SCALED)
    experiment = dataclasses.replace(sweep.experiment, model=options)
    models: list[Any] = [build_model(_of_seed(experiment, seed)) for seed in range(sweep.seeds)]
    width = max(sweep.widths)

    def heads(scale: str, gain: float) -> PaddedHead:
        return _stacked([padded(model, width, scale=scale, gain=gain) for model in models])

    models = [_stacked([heads(scale, gain) for gain in sweep.gains]) for scale in _SCALES]
    return _initial_states(_stacked(models), as_compiled(sweep.experiment.training))


@eqx.filter_jit
def _initial_states(models, training):
    one = partial(initial_state, training=training)
    return eqx.filter_vmap(eqx.filter_vmap(eqx.filter_vmap(one)))(models)


def _stacked(trees: list) -> Any:
    """Return trees of the same structure with their arrays stacked."""

    def stacked(*leaves):
        if not eqx.is_array(leaves[0]):
            return leaves[0]
        if jnp.issubdtype(leaves[0].dtype, jax.dtypes.prng_key):
            return jnp.stack(leaves)
        # In NumPy, since JAX would compile a program for every shape.
        return jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves]))

    return jax.tree.map(stacked, *trees)


@eqx.filter_jit
def _advance(states, sources, keys, training, **numbers):
    def one(state, source, key):
        return take_steps(state, source, training, key=key, **numbers)[0]

    return _over_runs(one)(states, sources, keys)


def _over_runs(one):
    """Map `one(state, *data of the seed)` over all scales, gains and seeds."""
    same_data = (eqx.if_array(0), None, None)
    over_gains = eqx.filter_vmap(eqx.filter_vmap(one), in_axes=same_data)
    return eqx.filter_vmap(over_gains, in_axes=same_data)


def _look(sweep: Sweep, states: TrainState, data: _Data) -> tuple[np.ndarray, ...]:
    """Return `std`, `entropy` and `gap` for every scale, gain and seed."""
    readout = sweep.experiment.training.readout
    true = jnp.asarray(data.true, jnp.float32)
    std, nats, cross = _look_all(states.model, data.setups.test, true, readout)
    gap = np.asarray(cross, np.float64) - entropy(data.true).mean(axis=-1)
    return tuple(np.asarray(part, np.float64) for part in (std, nats, gap))


@eqx.filter_jit
def _look_all(models, tests, true, readout):
    def one(model, sequences, true):
        each = jax.vmap(partial(_row, model, readout))(sequences[:, :-1])
        # Cross-entropy with the true distribution; observed tokens would add sampling noise.
        cross = -(true * jax.nn.log_softmax(each[2])).sum(axis=-1)
        return each[0].mean(), each[1].mean(), cross.mean()

    return _over_runs(one)(models, tests, true)


def _row(model: PaddedHead, readout: str, tokens: Int[Array, " length"]):
    """Return the predicting row's standard deviation of scores, entropy, and logits."""
    queries = jnp.array([readout_position(readout, tokens.size)])
    parts = model.parts(jax.nn.one_hot(tokens, model.vocab), queries)
    scores = (parts.scale * (parts.query @ parts.key.T) + parts.bias)[0]
    logits, (pattern,) = parts.attend()
    nats = -(pattern * jnp.log(jnp.where(pattern > 0, pattern, 1.0))).sum()
    return jnp.std(scores, where=parts.mask[0]), nats, logits[0]


def _pair(d_attn: int, checks: list[int], looks: list[tuple[np.ndarray, ...]]) -> list[Track]:
    """Return the tracks of both scales with the evaluations so far."""
    found, steps = np.stack(looks, axis=-1), np.array(checks[: len(looks)])
    return [Track(d_attn, scale, steps, *found[:, at]) for at, scale in enumerate(_SCALES)]
