"""An experiment: everything that decides a run, validated before any work is done."""

import dataclasses
import json
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
from jaxtyping import Array, Int, Key

from attnlab.configuration.options import OptionError, Options, option
from attnlab.configuration.records import from_record, to_record
from attnlab.generators import GENERATORS, AbstractGenerator, Markov
from attnlab.models import MODELS, AbstractModel, AbstractModelOptions, AttentionOptions
from attnlab.training.compilation import QUICKLY
from attnlab.training.optimisers import Adam
from attnlab.training.sources import AbstractSource, FreshSource, FullSource, MinibatchSource
from attnlab.training.steps import Training, TrainState, initial_state

VERSION = 1
# Sequences whose patterns are watched during a run.
PROBES = 32


@dataclasses.dataclass(frozen=True)
class Experiment(Options):
    """A generator, how many of its tokens are visible, a model, its training, and a seed.

    Refused, with an `OptionError` that names the option: any option out of its bounds, a length
    too short for the generator, a loss or readout that the model family does not have.
    """

    name: ClassVar[str] = "experiment"

    generator: AbstractGenerator = option(
        Markov(), "Makes the sequences.", registry=GENERATORS, label="process"
    )
    length: int = option(
        10, "Visible days; the day after them is predicted.", low=2, high=64, unit="days"
    )
    model: AbstractModelOptions = option(
        AttentionOptions(), "What is trained on them.", registry=MODELS
    )
    training: Training = option(
        Training(), "How it is trained.", registry=MappingProxyType({Training.name: Training})
    )
    seed: int = option(
        0, "Draws the data, the starting weights and the batches.", low=0, high=2**31 - 1
    )

    def __post_init__(self):
        super().__post_init__()
        # Frozen, so that this is the one moment at which the length can reach the generator.
        object.__setattr__(self, "generator", self.generator.at_length(self.length))
        if (given := self.generator.given()) > self.length:
            problem = f"the process gives its first {given} tokens, so that none is predicted"
            raise OptionError("length", self.length, problem, f"Choose {given} or more")
        for name, offered in (("loss", self.model.losses), ("readout", self.model.readouts)):
            value = getattr(self.training, name)
            if value not in offered:
                problem = f"the model '{self.model.name}' does not have it"
                choices = ", ".join(f"'{choice}'" for choice in offered)
                raise OptionError(name, value, problem, f"Choose one of {choices}")


def to_json(experiment: Experiment) -> str:
    """One line of JSON that `from_json` reads back."""
    return json.dumps({"version": VERSION, **to_record(experiment)}, ensure_ascii=False)


def from_json(text: str) -> Experiment:
    """The experiment that `to_json` wrote. Missing options take their defaults.

    Refused, with a `ValueError` that says what is wrong: text that is not JSON or not an
    experiment, a version newer than this program's, and whatever `Experiment` refuses.

    >>> from_json(to_json(Experiment(seed=7))).seed
    7
    """
    try:
        return from_json_record(json.loads(text, parse_constant=_refuse_constant))
    except OptionError:
        raise
    # Besides what is not JSON: numbers of thousands of digits, and nesting without end.
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`experiment` is not JSON ({error}). Use what attnlab wrote.") from None


def from_json_record(record: Any) -> Experiment:
    """As `from_json`, of JSON that is already parsed."""
    version = record.get("version") if isinstance(record, dict) else None
    if version != VERSION or isinstance(version, bool):
        raise OptionError(
            "version",
            version,
            f"this attnlab reads version {VERSION}",
            "Use a file or link of this version, or update attnlab",
        )
    plain = {name: value for name, value in record.items() if name != "version"}
    training = plain.get("training")
    # Once the only optimiser gave its name to all of the training.
    if isinstance(training, dict) and training.get("name") == Adam.name:
        plain["training"] = {**training, "name": Training.name}
    registry = {Experiment.name: Experiment}
    return from_record(registry, plain, option_name="experiment")


def _refuse_constant(text: str) -> None:
    raise OptionError("experiment", text, "not a number that JSON has", "Use finite numbers")


class Setup(NamedTuple):
    """An experiment made ready: the state before step 1 and all the data it will meet.

    Sequences of `test` are visible tokens and the one to predict; `probes` are visible ones alone,
    a small fixed set whose patterns are watched.
    """

    state: TrainState
    source: AbstractSource
    test: Int[Array, "test positions"]
    probes: Int[Array, "probes length"]
    key: Key[Array, ""]


def prepare(experiment: Experiment) -> Setup:
    """Draw data and starting weights. The same experiment always gives the same ones."""
    generator, training = experiment.generator, experiment.training
    train_size = training.train_size if training.data == "fixed" else 0
    # One draw for all, since a sampler is compiled for every size it is asked for.
    size = PROBES + training.test_size + train_size
    process = FreshSource(generator, generator.start(), size, experiment.length + 1)
    sequences = np.asarray(_draw(process, jr.fold_in(_root(experiment), 1)).tokens)
    # Cut and handed over by NumPy, since JAX would compile a program for every part.
    probes, test, train_set = np.split(sequences, (PROBES, PROBES + training.test_size))
    return Setup(
        state=starting_state(experiment),
        source=source_of(experiment, jax.device_put(train_set)),
        test=jax.device_put(test),
        probes=jax.device_put(probes[:, :-1]),
        key=jr.fold_in(_root(experiment), 2),
    )


def build_model(experiment: Experiment) -> AbstractModel:
    """The model at its starting weights."""
    return starting_state(experiment).model


def starting_state(experiment: Experiment) -> TrainState:
    """The model at its starting weights, before the first step."""
    # Built inside one compiled program: op by op, each would compile alone, which takes seconds.
    return _build(*_to_build(experiment))


def starting_form(experiment: Experiment) -> TrainState:
    """`starting_state` with shapes and types in place of arrays; nothing is computed."""
    return eqx.filter_eval_shape(lambda: _state_of(*_to_build(experiment)))


def _to_build(
    experiment: Experiment,
) -> tuple[AbstractModelOptions, int, int, Key[Array, ""], Training]:
    vocab, key = experiment.generator.vocabulary.size, jr.fold_in(_root(experiment), 0)
    # The rest of it has no part in the state, and would have the same program compiled again.
    training = Training(optimiser=experiment.training.optimiser, clip=experiment.training.clip)
    return experiment.model, vocab, experiment.length, key, training


def _root(experiment: Experiment) -> Key[Array, ""]:
    return jr.key(experiment.seed)


def _state_of(options, vocab, length, key, training):
    return initial_state(options.build(vocab=vocab, length=length, key=key), training)


_build = eqx.filter_jit(_state_of, compiler_options=dict(QUICKLY))
_draw = eqx.filter_jit(FreshSource.draw, compiler_options=dict(QUICKLY))


def source_of(experiment: Experiment, sequences: Int[Array, "size positions"]) -> AbstractSource:
    """Where its training steps take their sequences from; `sequences` is its training set."""
    generator, training = experiment.generator, experiment.training
    if training.data == "fresh":
        return FreshSource(generator, generator.start(), training.batch, experiment.length + 1)
    if training.batch_mode == "full":
        return FullSource(sequences, generator.given())
    return MinibatchSource(sequences, training.batch, generator.given())
