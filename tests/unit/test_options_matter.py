"""Every option of every registered class changes something: an output, a weight, a loss, a draw."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from attnlab.configuration.options import default_of, options_of
from attnlab.generators import PROCESSES, RecallPairs, log_predictives, sample
from attnlab.models import MODELS, SOURCE_MODELS, TransformerOptions
from attnlab.positions import POSITIONS
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import prepare
from attnlab.training.loop import train
from attnlab.training.optimisers import OPTIMISERS, SCHEDULES, Sgd
from attnlab.training.steps import Training
from tests.unit.small_experiments import SMALL, SMALL_GRU, SMALL_MODELS, small

# Lines that can be split at every separator, in upper and lower case.
OWN_TEXT = "\n".join(
    "".join("{},{};{}\t".format(*unit) for unit in line)
    for line in np.random.default_rng(0).choice([*"aBb"], (60, 30, 3))
)

# Values for the options that have no bounds or choices to take one from.
VALUES = {
    ("markov", "initial"): (1.0, 0.0, 0.0),
    ("markov", "transition"): ((0.1, 0.8, 0.1),) * 3,
    ("recall", "days"): (1, 3),
    ("hmm", "initial"): (1.0, 0.0),
    ("hmm", "moving"): ((0.5, 0.5), (0.2, 0.8)),
    ("hmm", "showing"): ((0.1, 0.2, 0.7), (0.1, 0.3, 0.6)),
    ("hidden-chain", "symbols"): "x y",
    ("hidden-chain", "initial"): (1.0, 0.0),
    ("hidden-chain", "table"): ((0.5, 0.25, 0.25, 0.0), (0.0, 0.0, 1.0, 0.0)),
    ("custom", "symbols"): "x y z",
    ("custom", "order"): 2,
    ("custom", "table"): ((0.5, 0.25, 0.25),) * 3,
    ("causal-tree", "parents"): (0, 1, 2, 2, 2),
    ("sequences", "text"): OWN_TEXT,
    ("training", "clip"): 0.001,
}
# What an option needs beside it to have an effect, or to be allowed.
BESIDE = {
    ("attention", "d_model"): {"embedding": "learned"},
    ("attention", "temperature"): {"scale": "temperature"},
    ("transformer", "temperature"): {"scale": "temperature"},
    ("encoder-decoder", "temperature"): {"scale": "temperature"},
    ("hidden-chain", "initial"): {"first_state": "given"},
    ("in-context-markov", "table_count"): {"prior": "known-tables"},
    ("in-context-markov", "table_seed"): {"prior": "known-tables"},
    ("induction", "repeat_probability"): {"repeats": "pairs"},
    ("causal-tree", "parents"): {"tree": "given"},
    **{("sequences", name): {"text": OWN_TEXT} for name in ("layout", "tokens", "letters")},
    ("custom", "order"): {"table": ((0.5, 0.25, 0.25),) * 9},
    ("training", "readout"): {"loss": "last"},
    ("training", "loss_tokens"): {"loss": "next"},
    # The steps of Adam are the same whatever its gradients are multiplied by.
    ("training", "clip"): {"optimiser": Sgd()},
}


def cases_of(kinds):
    return list(_cases_of(kinds))


def _cases_of(kinds):
    """Every option of the classes, each of its other choices or another value of it."""
    for kind in kinds:
        for name, spec in options_of(kind).items():
            default = default_of(kind, name)
            if spec.registry is not None:
                others = [other() for other in spec.registry.values() if other() != default]
            elif spec.choices:
                others = [choice for choice in spec.choices if choice != default]
            elif (kind.name, name) in VALUES:
                others = [VALUES[kind.name, name]]
            elif isinstance(default, int):
                others = [default + 1 if default < spec.high else default - 1]
            else:
                others = [0.5 * (default + min(spec.high, default + 1.0))]
            for other in others:
                yield pytest.param(kind, name, other, id=f"{kind.name}-{name}-{short(other)}")


def short(value):
    is_short = isinstance(value, int | str) and len(str(value)) < 20
    return getattr(value, "name", None) or (value if is_short else "other")


def pair(kind, name, other):
    """The class with the option at its default and at another value."""
    beside = BESIDE.get((kind.name, name), {})
    # The table of another order has another size, so that it belongs to the changed one alone.
    plain = {} if name == "order" else beside
    return kind(**plain), kind(**beside, **{name: other})


def differ(one, other):
    one, other = (jax.tree.leaves(jax.tree.map(comparable, each)) for each in (one, other))
    return len(one) != len(other) or not all(
        np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True)
    )


def assert_differ(one, other):
    assert differ(one, other), "the option changes nothing"


def comparable(leaf):
    return np.asarray(leaf) if hasattr(leaf, "dtype") else np.asarray([str(leaf)])


# Long enough for every window of a convolution, and as long as a source and its target.
LENGTH, SOURCE, VOCAB = 13, 6, 5
TOKENS = np.array([1, 4, 0, 2, 2, 3, 0, 4, 1, 3, 2, 0, 1], np.int32)


@functools.cache
def program_of(options):
    """All that is computed for logits, from the key of the weights on, with its constants.

    As a program, since to compile and run as many models would take minutes.
    """
    source = {"source": SOURCE} if options.reads_source else {}
    queries = np.arange(SOURCE - 1 if source else 0, LENGTH)
    queries = queries if options.every_position else queries[-1:]

    def logits(key, tokens):
        model = options.build(vocab=VOCAB, length=LENGTH, key=key, **source)
        return model(tokens, jnp.asarray(queries))[0]

    program = jax.make_jaxpr(logits)(jr.key(0), TOKENS)
    return [str(program.jaxpr), *map(np.asarray, program.consts)]


@pytest.mark.parametrize(
    ("kind", "name", "other"), cases_of([*MODELS.values(), *SOURCE_MODELS.values()])
)
def test_an_option_of_a_family_changes_its_models(kind, name, other):
    assert_differ(*map(program_of, pair(kind, name, other)))


@pytest.mark.parametrize(("kind", "name", "other"), cases_of(POSITIONS.values()))
def test_an_option_of_a_position_changes_a_model_that_has_it(kind, name, other):
    heads = functools.partial(TransformerOptions, heads=2, d_attn=4, d_model=8, mlp_width=0)
    assert_differ(*(program_of(heads(position=each)) for each in pair(kind, name, other)))


@pytest.mark.parametrize(("kind", "name", "other"), cases_of(SCHEDULES.values()))
def test_an_option_of_a_schedule_changes_its_rates(kind, name, other):
    done = jnp.linspace(0.05, 0.95, 7)
    assert_differ(*(jax.vmap(each.share)(done) for each in pair(kind, name, other)))


@pytest.mark.parametrize(("kind", "name", "other"), cases_of(OPTIMISERS.values()))
def test_an_option_of_an_optimiser_changes_its_steps(kind, name, other):
    def two_steps(options):
        optimiser, weights = options.build(0.1), jnp.array([1.0, -2.0])
        state = optimiser.init(weights)
        for gradient in ([0.5, 0.1], [-0.2, 0.3]):
            moves, state = optimiser.update(jnp.array(gradient), state, weights)
            weights = optax.apply_updates(weights, moves)
        return weights

    assert_differ(*map(two_steps, pair(kind, name, other)))


def lengthened(process):
    return process.at_length(process.own_length() or 12)


@functools.cache
def drawn(process):
    """Symbols and sequences."""
    process = lengthened(process)
    size = {"size": 50, "length": (process.own_length() or 12) + 1}
    return process.vocabulary.symbols, sample(process, key=jr.key(0), **size)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name", "other"), cases_of(PROCESSES.values()))
def test_an_option_of_a_process_changes_its_sequences_or_their_law(kind, name, other):
    one, changed = pair(kind, name, other)
    if not differ(drawn(one), drawn(changed)):
        tokens = drawn(one)[1][0]
        laws = (log_predictives(lengthened(each), tokens) for each in (one, changed))
        assert_differ(*laws)


def base_of(name, other):
    """A small experiment in which the option of the training is allowed and matters."""
    if name == "scheduled_sampling":
        return SMALL_MODELS["rnn-bottleneck"]
    if name == "loss_tokens":
        return dataclasses.replace(SMALL_GRU, generator=RecallPairs(), length=8)
    if name == "loss" and other == "next":
        return SMALL_GRU
    # There are too few different sequences of four tokens for a distinct test set.
    return dataclasses.replace(SMALL, length=8) if name == "split" else SMALL


@functools.cache
def ran(experiment):
    """Training losses and the evaluation after the last step."""
    setup, losses = prepare(experiment), []
    for progress in train(experiment, setup):
        losses.append(progress.losses.nll)
    readout = experiment.training.readout
    model = progress.state.model
    return losses, evaluate(model, setup.test, readout=readout, prompt_length=setup.prompt_length)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name", "other"), cases_of([Training]))
def test_an_option_of_the_training_changes_the_run(kind, name, other):
    base, beside = base_of(name, other), BESIDE.get((kind.name, name), {})

    if name in ("batch", "steps", "train_size", "test_size"):
        other = getattr(base.training, name) + 1
    plain, changed = ({"steps": 4} | beside | each for each in ({}, {name: other}))
    assert_differ(ran(small(base, **plain)), ran(small(base, **changed)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["seed", "length"])
def test_an_option_of_the_experiment_changes_its_data(name):
    changed = dataclasses.replace(SMALL, **{name: getattr(SMALL, name) + 1})
    assert_differ(prepare(SMALL).test, prepare(changed).test)
