"""The limits of a machine, and the limits of what an experiment can learn."""

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from attnlab.configuration.number_text import show_measured, show_positions
from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import Finding, OptionError, fields, options_of
from attnlab.models import AbstractModelOptions, parameter_count
from attnlab.optimum.baselines import counted_baselines
from attnlab.optimum.best import Best, optimum
from attnlab.optimum.law import law_of
from attnlab.training.evaluation import evaluation_block
from attnlab.training.experiment import Experiment, abstract_state, draw_data
from attnlab.training.losses import sequence_loss
from attnlab.training.sources import as_examples, share_also_in

# Multiplications of forward passes per second on one core, if their gradients are computed too.
_WORK_A_SECOND, _MOST_AT_ONCE = 1e9, 100
# Batches with fewer pairs of positions fit in any case; tracing a model takes time.
_FEW_PAIRS = 2**20
_ELSEWHERE = "or run attnlab on your own machine, where the cap is higher"
_FEWER = f"Choose fewer values or seeds, {_ELSEWHERE}"


@dataclasses.dataclass(frozen=True)
class Limits:
    """The most that a run may use, besides the bounds of the options themselves.

    `caps` are the maxima of options by name, anywhere in an experiment. `work` is the maximum of
    `work(experiment)`, `step_work` that of a single step, and `memory` that of
    `bytes_of(experiment)`. `runs` is the maximum of compared runs. `seconds` is how long a run
    trains before it makes way for others, and `patience` how many seconds it continues without a
    viewer.
    """

    caps: Mapping[str, int] = dataclasses.field(default_factory=dict)
    work: float = math.inf
    step_work: float = math.inf
    memory: float = math.inf
    runs: float = math.inf
    seconds: float = math.inf
    patience: float = math.inf


# On the user's own machine.
OPEN = Limits()
# On a shared machine: a run with maximum work takes a few minutes on one core.
HOSTED = Limits(
    caps=MappingProxyType(
        {
            "length": 64,
            "d_attn": 64,
            "d_model": 64,
            "layers": 4,
            "heads": 8,
            "mlp_width": 256,
            "hidden_size": 64,
            "batch": 1_000,
            "steps": 20_000,
            "train_size": 20_000,
            "test_size": 20_000,
        }
    ),
    work=5e11,
    step_work=4e9,
    memory=1e9,
    runs=100,
    seconds=120.0,
    patience=60.0,
)


def check_limits(experiment: Experiment, limits: Limits) -> None:
    """Raise `OptionError` for the first option above its cap, or for too much total work."""
    for _, name, _, value in fields(experiment):
        check_limit(name, value, limits)
    check_work(experiment, limits)
    check_memory(experiment, limits.memory)


def check_work(experiment: Experiment, limits: Limits, *, runs: int = 1) -> None:
    """Raise `OptionError` if a step, or `runs` runs like this one, are too much work."""
    # Without a cap the size of the model is not needed, which takes a moment to trace.
    if limits.work == math.inf:
        return
    asked, steps = runs * work(experiment), experiment.training.steps
    a_step = work(experiment) / steps
    if a_step > limits.step_work:
        name, batch = "batch", experiment.training.batch
        fewer = f"at most {int(batch * limits.step_work / a_step):,}"
        if experiment.training.data == "law":
            name, batch, fewer = "length", experiment.length, "a smaller one"
        raise OptionError(
            name,
            batch,
            f"at these sizes about {a_step:.1e} multiplications a step, more than the cap of "
            f"{limits.step_work:.1e} on this server",
            f"Choose {fewer}, a smaller model, {_ELSEWHERE}",
        )
    if asked > limits.work:
        most = int(steps * limits.work / asked)
        fewer = f"at most {most:,} steps, " if most else ""
        raise OptionError(
            "steps",
            steps,
            f"at these sizes about {asked:.1e} multiplications, more than the cap of "
            f"{limits.work:.1e} on this server",
            f"Choose {fewer}{'fewer runs, ' if runs > 1 else ''}a smaller model or batch, "
            f"{_ELSEWHERE}",
        )


def check_memory(experiment: Experiment, most: float) -> None:
    """Raise `OptionError` if training takes more than `most` bytes."""
    if most < math.inf and (asked := bytes_of(experiment)) > most:
        name, batch, _ = _batch_of(experiment)
        fewer = int(batch - (asked - most) / _bytes_of_a_sequence(experiment))
        problem = (
            f"at these sizes training takes about {asked / 1e9:.2g} GB of memory, more than the "
            f"{most / 1e9:.2g} GB there are"
        )
        is_count = fewer > 0 and experiment.training.data != "law"
        at_most = f"at most {fewer:,}, " if is_count else ""
        raise OptionError(name, batch, problem, f"Choose {at_most}a smaller model or length")


def check_comparison(experiments: Sequence[Experiment], limits: Limits, *, seeds: int) -> None:
    """Raise `OptionError` for too many runs, or too much total work, with `seeds` seeds each.

    This does not check each experiment, as `check_limits` does.
    """
    runs = len(experiments) * seeds
    check_runs(runs, limits)
    if limits.work < math.inf:
        asked = seeds * sum(map(work, experiments))
        if asked > limits.work:
            problem = (
                f"together about {asked:.1e} multiplications, more than the cap of "
                f"{limits.work:.1e} on this server"
            )
            raise OptionError("runs", runs, problem, _FEWER)


def check_runs(runs: int, limits: Limits) -> None:
    """Raise `OptionError` for too many compared runs."""
    if runs > limits.runs:
        problem = f"more than the cap of {limits.runs:,} on this server"
        raise OptionError("runs", runs, problem, _FEWER)


def check_limit(name: str, value: Any, limits: Limits) -> None:
    """Raise `OptionError` if the option of that name has a cap and the value is above it."""
    cap = limits.caps.get(name)
    if cap is not None and value > cap:
        raise OptionError(
            name,
            value,
            f"more than the cap of {cap:,} on this server",
            f"Choose at most {cap:,}, {_ELSEWHERE}",
        )


def work(experiment: Experiment) -> float:
    """Estimate the multiplications of all forward passes: steps × batch × those of a sequence."""
    training = experiment.training
    *_, batch = _batch_of(experiment)
    of_a_sequence = experiment.model.work(
        vocab=experiment.generator.vocabulary.size,
        length=experiment.length,
        parameters=parameter_count(abstract_state(experiment).model),
    )
    # The model's own predictions take an additional pass.
    passes = 2 if training.scheduled_sampling else 1
    return training.steps * batch * passes * of_a_sequence


def bytes_of(experiment: Experiment) -> float:
    """Estimate the bytes that training takes: data, and what a step keeps for its gradient.

    Attention keeps at least batch × heads × length² numbers per layer. Compiled steps took 0.6 to
    1.2 times the estimate. A test is computed in blocks, which are smaller for longer sequences, so
    it needs no more. The estimate is 0 if batch × length² is so small that it need not be known.
    """
    training, length, (*_, batch) = experiment.training, experiment.length, _batch_of(experiment)
    if training.data == "law":
        # Its blocks follow one another.
        batch = min(batch, evaluation_block(length + 1))
    if batch * length**2 < _FEW_PAIRS:
        return 0.0
    drawn = training.test_size + (training.train_size if training.data == "fixed" else 0)
    return batch * _bytes_of_a_sequence(experiment) + 8.0 * drawn * (length + 1)


def _batch_of(experiment: Experiment) -> tuple[str, int, int]:
    """Return name and value of the option that sets the number of sequences per step, and it."""
    training = experiment.training
    if training.data == "law":
        pasts = law_of(experiment.generator, experiment.length)
        return "length", experiment.length, len(pasts.tokens)
    name = "train_size" if training.batch_mode == "full" else "batch"
    return name, getattr(training, name), getattr(training, name)


def _bytes_of_a_sequence(experiment: Experiment) -> float:
    generator, training = experiment.generator, experiment.training
    sizes = generator.vocabulary.size, experiment.length, generator.prompt_length()
    return 4.0 * _numbers_kept(experiment.model, *sizes, training.loss, training.readout)


@functools.lru_cache(maxsize=64)
@fixed_numerics()
def _numbers_kept(
    options: AbstractModelOptions, vocab: int, length: int, prompt: int, loss: str, readout: str
) -> int:
    """Return how many numbers of a forward pass the gradient of one sequence needs."""
    source = {"source": prompt} if options.reads_source else {}

    def gradient(key):
        model = options.build(vocab=vocab, length=length, key=key, **source)
        parameters, rest = eqx.partition(model, eqx.is_array)
        examples = as_examples(jnp.zeros((1, length + 1), int), prompt_length=prompt)
        example = jax.tree.map(lambda leaf: leaf[0], examples)

        def loss_of(parameters):
            whole = eqx.combine(parameters, rest)
            return sequence_loss(whole, example, loss=loss, readout=readout).objective

        return jax.vjp(loss_of, parameters)[1]

    return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(gradient, jr.key(0))))


def steps_at_once(experiment: Experiment) -> int:
    """Return how many steps to compute in one call: about one second of steps, at most 100.

    A stop takes effect only after the call.
    """
    a_step = work(experiment) / experiment.training.steps
    return max(1, min(_MOST_AT_ONCE, int(_WORK_A_SECOND / max(a_step, 1.0))))


# With more sequences than this, few test sequences occur in training.
_FEW_SEQUENCES = 20_000
# Up to this share of a uniform guess's loss, the next token is nearly determined.
_NEARLY_DETERMINED = 0.1
# Smaller gains of accuracy, or of loss in nats, are lost in the error of 10,000 test sequences.
_NOTHING_TO_LEARN = 0.005


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What an experiment can reach, and what prevents more, as text.

    `best` is what the process allows given the visible tokens. `reachable` is a predictor whose
    loss no model of the experiment's family can beat, or None if no such bound above the floor is
    known. Whether training reaches it is a separate question.
    """

    best: Best
    reachable: Best | None
    findings: tuple[Finding, ...]


@fixed_numerics()
def feasibility(experiment: Experiment, most: int | None = None) -> Verdict:
    """Return what prevents learning, from the settings alone; `most` as in `optimum`."""
    generator, length, model = experiment.generator, experiment.length, experiment.model
    best, reachable = optimum(generator, length, most).final, reachable_by(experiment)
    findings = [
        *_about_process(experiment, best, most),
        *model.findings(loss=experiment.training.loss, length=length),
    ]
    # With several tested tokens the readout is not used.
    if not generator.has_loss_mask():
        findings += _about_overlap(experiment, best)
        findings += _about_sight(experiment, best, reachable)
    return Verdict(best, reachable, tuple(findings))


@fixed_numerics()
def reachable_by(experiment: Experiment) -> Best | None:
    """Return a predictor whose loss no model of the experiment's family can beat, if known.

    It is None if several tokens are tested: a bound for one does not bound their mean; and without
    a law.
    """
    if experiment.generator.has_loss_mask() or not experiment.generator.has_law:
        return None
    return experiment.model.reachable(
        experiment.generator, experiment.length, experiment.read_position
    )


def _about_overlap(experiment: Experiment, best: Best) -> Iterator[Finding]:
    """Yield a finding if test sequences are in the training set and could be memorised.

    Memorising looks like learning if the next token is nearly determined in few sequences.
    """
    vocab, training = experiment.generator.vocabulary.size, experiment.training
    many = vocab ** (experiment.length + 1) > _FEW_SEQUENCES
    random = best.nll > _NEARLY_DETERMINED * math.log(vocab)
    is_apart = training.split != "independent" or not experiment.generator.has_law
    if training.data != "fixed" or is_apart or many or random:
        return
    drawn = draw_data(experiment)
    if share := share_also_in(drawn.test, drawn.train_set):
        yield Finding(
            "split",
            f"{100 * share:.3g} % of the test sequences are also in the training set. Choose the "
            "test set 'held out' to test on other ones.",
        )


def _about_sight(experiment: Experiment, best: Best, reachable: Best | None) -> Iterator[Finding]:
    """Yield findings if the readout cannot see all tokens, or not their order."""
    options, position = options_of(experiment.model), experiment.read_position
    word = experiment.generator.position_word
    seen = experiment.model.sees(position, experiment.length)
    if len(seen) < experiment.length:
        places = show_positions((index + 1 for index in seen), word)
        remedy = ", or change the `mask`" if "mask" in options else ""
        yield Finding(
            "readout",
            f"The prediction is read out at {word} {position + 1}, where the model sees only "
            f"{places}. Read out at the other end{remedy}.",
        )
    known = reachable is not None and reachable.nll > best.nll + 1e-3
    if not experiment.model.sees_order() and known and len(seen) > 1:
        yield Finding(
            "position" if "position" in options else "model",
            f"This model does not see the order of the {word}s, only which one is read out. But "
            "this process depends on the order."
            + " Choose another `position`; rotary needs a `d_attn` of 2 or more."
            * ("position" in options),
        )


def _about_process(experiment: Experiment, best: Best, most: int | None) -> list[Finding]:
    generator, length = experiment.generator, experiment.length
    findings = [*generator.findings(length)]
    if experiment.tests_more_than_trained:
        words = (
            f"The loss `{experiment.training.loss}` trains only the last token of the target; the "
            "test counts all of them. Choose the loss `next`."
        )
        findings.append(Finding("loss", words))
    unigram = counted_baselines(generator, length, most)[1].best
    gains = best.accuracy - unigram.accuracy, unigram.nll - best.nll
    if max(gains) < _NOTHING_TO_LEARN:
        words = (
            "There is almost nothing to learn beyond the token frequencies. They alone give "
            f"{_figures(unigram)}, the best prediction {_figures(best)}."
        )
        findings.append(Finding("generator", words))
    return findings


def _figures(best: Best) -> str:
    if best.exact:
        return f"accuracy {best.accuracy:.3f} and loss {best.nll:.3f} nats"
    accuracy = show_measured(best.accuracy, best.accuracy_stderr)
    return f"accuracy {accuracy} and loss {show_measured(best.nll, best.nll_stderr)} nats"
