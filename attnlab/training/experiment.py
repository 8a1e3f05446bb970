"""An experiment: everything that determines a run, validated before any work is done."""

import dataclasses
import functools
import json
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.configuration.options import (
    OptionError,
    Options,
    OrName,
    choose_one_of,
    option,
    options_of,
)
from attnlab.configuration.records import check_own_name, from_record, to_record
from attnlab.generators import PROCESSES, TASKS, AbstractGenerator, Markov, loss_mask_of
from attnlab.models import ALL_MODELS, AbstractModel, AbstractModelOptions, AttentionOptions
from attnlab.models.base import readout_position
from attnlab.optimum.law import law_of
from attnlab.training.evaluation import exact_losses
from attnlab.training.law import Law, prepare_law, source_of_law
from attnlab.training.sources import (
    AbstractSource,
    FreshSource,
    FullSource,
    MinibatchSource,
    compiled_quickly,
    is_held_out,
)
from attnlab.training.steps import Training, TrainState, initial_state

VERSION = 1
# Number of sequences whose patterns are shown during a run.
PROBES = 32
# Number of attempts to draw enough sequences that are held out.
_MOST_DRAWS = 200


@dataclasses.dataclass(frozen=True)
class Experiment(Options):
    """A generator, the number of visible tokens, a model, its training, and a seed.

    If the generator has an `own_length`, as a task has, `length` is set to it. With own sequences,
    the test set has at most as many sequences as there are held-out windows. Raises
    `OptionError`, which names the option, for any option out of its bounds, a length too short for
    the generator, a law of too many sequences, a loss or readout that the model family does not
    have, a family that reads a source without a task, a task with too few different sources, and
    `scheduled_sampling` without a task.
    """

    name: ClassVar[str] = "experiment"

    generator: OrName[AbstractGenerator] = option(
        Markov(), "The process that generates the sequences.", registry=PROCESSES, label="process"
    )
    length: int = option(
        10, "Number of visible positions. The model predicts the next token.", low=2, high=256
    )
    model: OrName[AbstractModelOptions] = option(
        AttentionOptions(), "The model that is trained.", registry=ALL_MODELS
    )
    training: OrName[Training] = option(
        Training(),
        "Loss, optimiser, data and length of the training.",
        registry=MappingProxyType({Training.name: Training}),
    )
    seed: int = option(
        0, "Seed of the data, the initial weights and the batches.", low=0, high=2**31 - 1
    )

    def __post_init__(self):
        super().__post_init__()
        # Instances are frozen, so this is the only moment at which the two can be adjusted.
        object.__setattr__(self, "length", self.generator.own_length() or self.length)
        object.__setattr__(self, "generator", self.generator.at_length(self.length))
        if (prompt := self.generator.prompt_length()) > self.length:
            problem = f"the process gives its first {prompt} tokens, so that none is predicted"
            raise OptionError("length", self.length, problem, f"Choose {prompt} or more")
        for name, offered in (("loss", self.model.losses), ("readout", self.model.readouts)):
            value = getattr(self.training, name)
            if value not in offered:
                problem = f"the model '{self.model.name}' does not have it"
                raise OptionError(name, value, problem, choose_one_of(offered, value))
        if (held := self.generator.held_out(self.length + 1)) is not None:
            # No sequence is tested twice.
            test_size = min(self.training.test_size, len(held.blocks))
            training = dataclasses.replace(self.training, test_size=test_size)
            object.__setattr__(self, "training", training)
        if held is not None and self.training.split != "independent":
            problem = f"the process '{self.generator.name}' always tests on held-out blocks"
            raise OptionError("split", self.training.split, problem, "Choose 'independent'")
        has_prompt = self.generator.prompt_length() > 0
        if self.model.reads_source and not has_prompt:
            problem = f"it needs a source, but the process '{self.generator.name}' has none"
            choices = ", ".join(f"'{name}'" for name in TASKS)
            remedy = f"Choose another model, or one of the processes {choices}"
            raise OptionError("model", self.model.name, problem, remedy)
        if self.training.loss_tokens == "all" and self.model.reads_source:
            problem = f"the model '{self.model.name}' predicts no tokens of its source"
            raise OptionError("loss_tokens", "all", problem, "Choose 'tested'")
        if self.training.scheduled_sampling and not has_prompt:
            problem = f"the process '{self.generator.name}' has no target"
            value, choices = self.training.scheduled_sampling, ", ".join(map(repr, TASKS))
            remedy = f"Choose 0, or one of the processes {choices}"
            raise OptionError("scheduled_sampling", value, problem, remedy)
        predicts_each = self.model.every_position and self.model.causal
        if self.generator.has_loss_mask() and not predicts_each:
            problem = (
                "several tokens are tested, but it predicts only one, or sees what it predicts"
            )
            has_mask = hasattr(self.model, "mask")
            remedy = "Choose the mask 'causal'" if has_mask else "Choose another model"
            raise OptionError("model", self.model.name, problem, remedy)
        if self.training.data == "law":
            law_of(self.generator, self.length)
        if (there_are := self.generator.sources()) is not None:
            _check_sources(self.generator, there_are, self.training)

    @property
    def read_position(self) -> int:
        """The position, from 0, whose prediction is tested; the last if several are tested."""
        readout = "last" if self.generator.has_loss_mask() else self.training.readout
        return readout_position(readout, self.length)

    @property
    def tests_more_than_trained(self) -> bool:
        """Whether tokens outside the loss are tested."""
        return self.generator.has_loss_mask() and self.training.loss != "next"


def _check_sources(task: AbstractGenerator, there_are: int, training: Training) -> None:
    trained = training.train_size if training.data == "fixed" else 0
    if (left := there_are - PROBES - trained) >= training.test_size:
        return
    problem = (
        f"with {PROBES} probe sources"
        + (f" and the {trained:,} to train on" if trained else "")
        + f" that is more than the {there_are:,} that '{task.name}' has, and all must differ"
    )
    least, _ = options_of(training)["test_size"].bounds
    remedy = "Choose a task with more sources" + (
        f", or at most {left:,}" if left >= least else ", or fresh data" if trained else ""
    )
    raise OptionError("test_size", training.test_size, problem, remedy)


def to_json(experiment: Experiment) -> str:
    """Return one line of JSON that `from_json` reads back.

    Raises:
        OptionError: If the class of a part is not registered, but its name is.
    """
    check_own_name("experiment", experiment, {Experiment.name: Experiment})
    return json.dumps({"version": VERSION, **to_record(experiment)}, ensure_ascii=False)


def from_json(text: str) -> Experiment:
    """Return the experiment that `to_json` wrote. Missing options take their defaults.

    Raises `ValueError`, which says what is wrong, for text that is not JSON or not an experiment, a
    version newer than this program's, and whatever `Experiment` rejects.

    >>> from_json(to_json(Experiment(seed=7))).seed
    7
    """
    try:
        return from_json_record(json.loads(text, parse_constant=_refuse_constant))
    except OptionError:
        raise
    # Besides invalid JSON: numbers of thousands of digits, and nesting without end.
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`experiment` is not JSON ({error}). Use what attnlab wrote.") from None


def from_json_record(record: Any) -> Experiment:
    """Like `from_json`, for JSON that is already parsed."""
    version = record.get("version") if isinstance(record, dict) else None
    if version != VERSION or isinstance(version, bool):
        raise OptionError(
            "version",
            version,
            f"this attnlab reads version {VERSION}",
            "Use a file or link of this version, or update attnlab",
        )
    plain = {name: value for name, value in record.items() if name != "version"}
    registry = {Experiment.name: Experiment}
    return from_record(registry, plain, option_name="experiment")


def _refuse_constant(text: str) -> None:
    raise OptionError("experiment", text, "not a number that JSON has", "Use finite numbers")


class Setup(NamedTuple):
    """A prepared experiment: the state before step 1 and all its data.

    A sequence of `test` is the visible tokens and the token to predict. `probes` are the visible
    tokens of a small fixed set of sequences, whose patterns are shown. The prompt has
    `prompt_length` tokens. In a task, probes, test and fixed training set all have different
    sources. `exact` and `loss_mask` are the `exact_losses` and the loss mask of the test set,
    without a mask if only the final tokens are tested. `blocks` are the held-out blocks of the test
    sequences of a process without a law. `law` is the law that the run is trained on, if it is.
    """

    experiment: Experiment
    state: TrainState
    source: AbstractSource
    test: Int[Array, "test positions"]
    probes: Int[Array, "probes length"]
    key: Key[Array, ""]
    prompt_length: int = 0
    exact: Float[np.ndarray, " test"] | None = None
    loss_mask: Bool[Array, "test positions"] | None = None
    blocks: Int[np.ndarray, " test"] | None = None
    law: Law | None = None


@fixed_numerics()
def prepare(experiment: Experiment) -> Setup:
    """Draw data and initial weights, which are always the same for the same experiment."""
    generator, (probes, test, train_set, blocks) = experiment.generator, draw_data(experiment)
    is_exact = experiment.training.data == "law"
    return Setup(
        experiment=experiment,
        state=starting_state(experiment),
        source=source_of(experiment, jax.device_put(train_set)),
        test=jax.device_put(test),
        probes=jax.device_put(probes[:, :-1]),
        key=jr.fold_in(key_of(experiment.seed), 2),
        prompt_length=generator.prompt_length(),
        exact=exact_losses(generator, test),
        loss_mask=loss_mask_of(generator, test),
        blocks=blocks,
        law=prepare_law(generator, experiment.length) if is_exact else None,
    )


class Drawn(NamedTuple):
    """Visible tokens and the next one: to show, to test (`blocks` as in `Setup`), to train on."""

    probes: Int[np.ndarray, "probes positions"]
    test: Int[np.ndarray, "test positions"]
    train_set: Int[np.ndarray, "size positions"]
    blocks: Int[np.ndarray, " test"] | None = None


@fixed_numerics()
def draw_data(experiment: Experiment) -> Drawn:
    """Return the sequences of an experiment; its training set is empty unless the data are fixed.

    With the test set `distinct`, the probes are the first test sequences. Without a law, probes and
    test are held-out windows.

    Raises:
        OptionError: If the process has too few different sequences for the test set.
    """
    generator, training = experiment.generator, experiment.training
    train_size = training.train_size if training.data == "fixed" else 0
    # The sources of a task, or the visible tokens, of which no two may be equal.
    compared = generator.prompt_length() if generator.sources() is not None else 0
    is_distinct = training.split == "distinct" and not compared
    extra, compared = (0, experiment.length) if is_distinct else (PROBES, compared)
    # One draw for all, since a sampler is compiled for every size.
    size = extra + training.test_size + train_size
    process = FreshSource(generator, generator.start(), size, experiment.length + 1)
    key = jr.fold_in(key_of(experiment.seed), 1)
    rows = _drawn(process, key, compared)
    # Sliced in NumPy, since JAX would compile a program for every part.
    drawn = Drawn(rows[:PROBES], *np.split(rows[extra:], (training.test_size,)))
    if (held := generator.held_out(experiment.length + 1)) is not None:
        held = held.random(extra + training.test_size, experiment.seed)
        windows = held.sequences()
        return Drawn(windows[:PROBES], windows[extra:], drawn.train_set, held.blocks[extra:])
    # All sources of a task already differ.
    if training.split != "held out" or generator.sources() is not None:
        return drawn
    sides: list[list[np.ndarray]] = [[], []]
    for number in range(_MOST_DRAWS):
        more = np.asarray(_draw(process, jr.fold_in(key, number)).tokens)
        held = is_held_out(more, experiment.seed)
        for side, rows in zip(sides, (more[held], more[~held]), strict=True):
            side.append(rows)
        test, train_set = map(np.concatenate, sides)
        if len(test) >= training.test_size and len(train_set) >= train_size:
            return Drawn(drawn.probes, test[: training.test_size], train_set[:train_size])
    raise _too_few("held out", "a larger `length`")


def _too_few(split: str, remedy: str) -> OptionError:
    problem = "the process has too few different sequences for this test set"
    return OptionError("split", split, problem, f"Choose 'independent' or {remedy}")


def _drawn(
    process: FreshSource, key: Key[Array, ""], compared: int
) -> Int[np.ndarray, "size positions"]:
    """Draw a batch of sequences, of which no two begin with the same `compared` tokens."""
    drawn = np.asarray(_draw(process, key).tokens)
    if not compared:
        return drawn
    drawn, number = _without_repeats(drawn, compared), 0
    while len(drawn) < process.batch:
        if number == _MOST_DRAWS:
            raise _too_few("distinct", "a smaller `train_size` or `test_size`")
        number += 1
        more = np.asarray(_draw(process, jr.fold_in(key, number)).tokens)
        drawn = _without_repeats(np.concatenate([drawn, more]), compared)
    return drawn[: process.batch]


def _without_repeats(
    sequences: Int[np.ndarray, "some positions"], source: int
) -> Int[np.ndarray, "fewer positions"]:
    """Return the first sequence of each source, in the order in which they were drawn."""
    _, first = np.unique(sequences[:, :source], axis=0, return_index=True)
    return sequences[np.sort(first)]


def build_model(experiment: Experiment) -> AbstractModel:
    """Return the model with its initial weights."""
    return starting_state(experiment).model


@fixed_numerics()
def starting_state(experiment: Experiment) -> TrainState:
    """Return the model with its initial weights, before the first step."""
    # Inside one compiled program: op by op, each would compile separately, which takes seconds.
    return _build(*_to_build(experiment))


@fixed_numerics()
def abstract_state(experiment: Experiment) -> TrainState:
    """Return the shapes and types of `starting_state`, without computing any array."""
    options, shape, _, training = _to_build(experiment)
    return _abstract_state_of(options, shape, training)


class _Shape(NamedTuple):
    """The arguments for building a model; `source` is the length of the source, if it needs one."""

    vocab: int
    length: int
    source: int | None


def _to_build(
    experiment: Experiment,
) -> tuple[AbstractModelOptions, _Shape, Key[Array, ""], Training]:
    generator, key = experiment.generator, jr.fold_in(key_of(experiment.seed), 0)
    source = generator.prompt_length() if experiment.model.reads_source else None
    shape = _Shape(generator.vocabulary.size, experiment.length, source)
    # The other options do not affect the state, but would compile the same program again.
    training = Training(optimiser=experiment.training.optimiser, clip=experiment.training.clip)
    return experiment.model, shape, key, training


# Without the seed, since many runs of one model have the same shapes.
@functools.lru_cache(maxsize=64)
def _abstract_state_of(options, shape, training):
    return eqx.filter_eval_shape(lambda: _state_of(options, shape, jr.key(0), training))


def _state_of(options, shape, key, training):
    vocab, length, source = shape
    source = {} if source is None else {"source": source}
    return initial_state(options.build(vocab=vocab, length=length, key=key, **source), training)


_build, _draw = compiled_quickly(_state_of), compiled_quickly(FreshSource.draw)


def source_of(experiment: Experiment, sequences: Int[Array, "size positions"]) -> AbstractSource:
    """Return the source of training batches; `sequences` is the training set."""
    generator, training = experiment.generator, experiment.training
    if training.data == "fresh":
        return FreshSource(generator, generator.start(), training.batch, experiment.length + 1)
    if training.data == "law":
        return source_of_law(prepare_law(generator, experiment.length))
    prompt_length = generator.prompt_length()
    # A mask that is known when the program is compiled makes it faster.
    loss_mask = None if prompt_length else loss_mask_of(generator, sequences)
    if training.batch_mode == "full":
        return FullSource(sequences, prompt_length, loss_mask)
    return MinibatchSource(sequences, training.batch, prompt_length, loss_mask)
