"""The command `train`: train one run, from the beginning or continuing a run file."""

import argparse
import dataclasses
import json
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from attnlab.command_line.output import check_output, print_json, write_output
from attnlab.command_line.parser import CommandProgress
from attnlab.command_line.runs_command import keep
from attnlab.command_line.signals import signals_ignored
from attnlab.comparisons.grid import show_prospect
from attnlab.configuration.environment import bytes_of_machine
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import OptionError
from attnlab.generators import is_task
from attnlab.inspection import MEASURES, estimates_of, head_scores, measures_for
from attnlab.inspection.ledger import gap_ledger
from attnlab.inspection.targets import check_targets
from attnlab.models import parameter_count
from attnlab.optimum import FEW_BELIEFS, optimum
from attnlab.optimum.law import law_of
from attnlab.runs.history import History, empty_history
from attnlab.runs.option_texts import experiment_parts, read_experiment, usual_experiment
from attnlab.runs.run import Run
from attnlab.runs.run_summary import summary_of
from attnlab.runs.storage import load_run, to_bytes
from attnlab.training.changes import change_between, rescheduled
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, Setup, prepare, to_json
from attnlab.training.limits import check_memory, steps_at_once
from attnlab.training.loop import (
    EvaluationEvent,
    EvaluationPlan,
    Progress,
    divergence,
    evaluation_plan,
    run,
)
from attnlab.training.presets import PRESETS
from attnlab.training.shares import share_in_training
from attnlab.training.steps import TrainState, advance

_STEPS_A_LINE = 500


def add_train(commands: argparse._SubParsersAction) -> None:
    """Add the command `train`."""
    training = commands.add_parser(
        "train", add_help=False, help="train a model and print its test results"
    )
    training.add_argument("--preset", metavar="NAME", help="start from this preset")
    training.add_argument("--list-presets", action="store_true", help="print the presets and exit")
    training.add_argument(
        "--save", metavar="FILE", help="write a run file, which the pages can open"
    )
    training.add_argument(
        "--load",
        metavar="FILE",
        help="continue the run of a file; only steps, batch and learning rate may change",
    )
    training.add_argument("--json", action="store_true", help="print one JSON object")
    training.add_argument(
        "--ledger",
        action="store_true",
        help="take the gap to the floor apart, which trains longer; with the data 'law' and "
        "`--json` this is always done",
    )
    training.add_options(experiment_parts())


def run_train(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Train a run, save it, and print its test results."""
    as_json, with_ledger = parsed.pop("json"), parsed.pop("ledger")
    if parsed.pop("list_presets"):
        for name, preset in PRESETS.items():
            print(f"{name}  {preset.label}. {preset.description}")
        return 0
    file, save = parsed.pop("load", None), parsed.pop("save", None)
    if save:
        check_output("save", save)
    begun = _from_file(file, parsed) if file else begun_from_options(parsed)
    if with_ledger:
        law_of(begun.experiment.generator, begun.experiment.length)
    progress.words = "while drawing data and compiling; nothing was saved"
    print("Drawing data and compiling …", file=sys.stderr)
    whole_history = bool(save or file)
    ended, figures, seconds = train_run(begun, progress, whole_history=whole_history, save=save)
    exact, is_saved = None, True
    try:
        targets = _target_results(ended, begun.setup)
        exact = targets.get("exact_match")
        report = _report(ended, figures, targets, seconds, int(ended.state.step) - begun.step)
        if (law := begun.setup.law) is not None:
            report["test_size"] = len(law.weight)
        if with_ledger or (as_json and begun.setup.law is not None):
            report["ledger"] = _ledger(ended)
        if as_json:
            report |= _in_context(ended, begun.setup, figures)
            report["measures"] = _measures(ended, begun.setup)
            print_json(report)
        else:
            _print_report(report)
        # Before the file is written, which may fail.
        sys.stdout.flush()
    finally:
        # Also if a test or the report fails, or is interrupted.
        if save:
            is_saved = _save(ended, save, progress)
        keep(summary_of(ended, "done", figures, seconds, exact_match=exact))
    return 0 if is_saved else 1


def _save(reached: Run, save: str, progress: CommandProgress) -> bool:
    """Write the run file, or print why that failed; return whether it worked."""
    with signals_ignored():
        is_saved = write_output("save", save, to_bytes(reached))
    if is_saved:
        step, steps = int(reached.state.step), reached.experiment.training.steps
        rest = f", and `--load {shlex.quote(save)}` resumes it" if step < steps else ""
        progress.words = f"at step {step:,} of {steps:,}; the run is saved{rest}"
    return is_saved


class Begun(NamedTuple):
    """What training starts from; `state` is None for a new run."""

    experiment: Experiment
    setup: Setup
    state: TrainState | None
    history: History

    @property
    def step(self) -> int:
        return 0 if self.state is None else int(self.state.step)


def begun_from_options(parsed: dict[str, Any]) -> Begun:
    """Return the run that the flags describe, before its first step."""
    preset = parsed.pop("preset", None)
    base = usual_experiment(preset, parsed.get("model"), parsed.get("generator"))
    experiment = read_experiment(base, parsed)
    _look_ahead(experiment)
    return Begun(experiment, prepare(experiment), None, empty_history())


def _look_ahead(experiment: Experiment) -> None:
    """Raise `OptionError` if the run needs too much memory; print what a large run needs."""
    check_memory(experiment, bytes_of_machine())
    if prospect := show_prospect(experiment):
        print(f"attnlab: {prospect}", file=sys.stderr)


def read_run_file(file: str, name: str = "load") -> Run:
    """Return the run of a file, given as the option `name`.

    Raises:
        OptionError: If the file cannot be read.
    """
    try:
        return load_run(Path(file))
    except OSError as error:
        problem = error.strerror or str(error)
        raise OptionError(name, file, f"not read: {problem}", "Name a run file") from None


def run_to_read(
    parsed: dict[str, Any],
    progress: CommandProgress,
    check: Callable[[Experiment], object],
    *,
    whole_history: bool = False,
) -> Run:
    """Return the run of the file `load`, or else the run that the flags describe, trained.

    Raises:
        OptionError: As `check` does for its experiment, before training; and for any flag beside
            `load`.
    """
    file = parsed.pop("load", None)
    if file is None:
        begun = begun_from_options(parsed)
        check(begun.experiment)
        print("Drawing data and compiling …", file=sys.stderr)
        return train_run(begun, progress, whole_history=whole_history)[0]
    if parsed:
        name = next(iter(parsed))
        problem = "the file has its own settings"
        raise OptionError(name, parsed[name], problem, f"Leave out `{name}` or `load`")
    found = read_run_file(file)
    check(found.experiment)
    return found


def _from_file(file: str, parsed: dict[str, Any]) -> Begun:
    if "preset" in parsed:
        problem = "the file says what is trained"
        raise OptionError("preset", parsed["preset"], problem, "Leave out `preset` or `load`")
    stored = read_run_file(file)
    experiment, step = read_experiment(stored.experiment, parsed), int(stored.state.step)
    before, after = stored.experiment.training, experiment.training
    if dataclasses.replace(experiment, training=before) != stored.experiment:
        problem = "a run continues with the same process and model"
        raise OptionError("load", file, problem, "Change only steps, batch or learning rate")
    if after.steps <= step:
        problem = f"the run of the file has made {step:,}"
        raise OptionError("steps", after.steps, problem, "Choose more with `--steps`")
    _look_ahead(experiment)
    history, setup = stored.history, prepare(experiment)
    if after != before:
        history = history.after(change_between(before, after, step=step))
    if note := rescheduled(before, after, step=step):
        print(f"attnlab: {note}", file=sys.stderr)
    return Begun(experiment, setup, stored.state, history)


def train_run(
    begun: Begun, progress: CommandProgress, *, whole_history: bool, save: str | None = None
) -> tuple[Run, Evaluation, float]:
    """Train to the end; return the run, its last evaluation, and the seconds of training.

    If a signal or a failed print ends it, the file `save` gets the run so far.
    """
    experiment, setup, state, history = begun
    state, steps = setup.state if state is None else state, experiment.training.steps
    advance(state, setup.source, experiment.training, key=setup.key, steps=0)
    # Without a run file, only the last evaluation is used.
    plan = evaluation_plan(steps) if whole_history else EvaluationPlan((steps,), (steps,))
    progress.words = f"at step {begun.step:,} of {steps:,}; nothing was saved"
    began = time.perf_counter()
    events = run(experiment, begun.state, setup=setup, chunk=steps_at_once(experiment), plan=plan)
    reached = None
    try:
        for event in events:
            history = history.after(event)
            if isinstance(event, EvaluationEvent):
                figures = event.evaluation
            if isinstance(event, Progress):
                seconds, state, losses = time.perf_counter() - began, event.state, event.losses
            step = int(state.step)
            # A resumed run does not make up for a missed evaluation.
            if step > begun.step and (not isinstance(event, Progress) or step not in plan.tests):
                reached = Run(experiment, state, history)
            if not isinstance(event, Progress):
                continue
            progress.words = f"at step {step:,} of {steps:,}; nothing was saved"
            # Evaluations may end chunks anywhere.
            if step == steps or step // _STEPS_A_LINE > (step - len(losses.nll)) // _STEPS_A_LINE:
                nll = losses.nll[-1]
                print(f"step {step:,} of {steps:,}, training loss {nll:.3f} nats", file=sys.stderr)
        if reason := divergence(experiment, setup, state, figures):
            print(f"attnlab: {reason}", file=sys.stderr)
    except (KeyboardInterrupt, OSError):
        if save and reached is not None:
            _save(reached, save, progress)
        raise
    return Run(experiment, state, history), figures, seconds


def _report(
    ended: Run, figures: Evaluation, targets: dict[str, Any], seconds: float, made: int
) -> dict[str, Any]:
    """Return the results of a run as the command prints them."""
    report: dict[str, Any] = {
        f"test_{name}": value for name, value in zip(figures._fields[:4], figures, strict=False)
    }
    if (found := figures.by_position) is not None:
        report["mean_test_nll"], report["mean_test_nll_stderr"] = found.mean, found.mean_stderr
        report["test_nll_by_position"] = dict(zip(found._fields[:3], found, strict=False))
    return {
        **report,
        **targets,
        "test_size": ended.experiment.training.test_size,
        "steps": int(ended.state.step),
        "seconds": seconds,
        "steps_per_second": made / seconds,
        "parameters": parameter_count(ended.state.model),
        "experiment": json.loads(to_json(ended.experiment)),
    }


def _target_results(ended: Run, setup: Setup) -> dict[str, Any]:
    """Return further test results of a task; {} for other processes."""
    task = ended.experiment.generator
    if not is_task(task):
        return {}
    found = check_targets(task, ended.state.model, setup.test)
    tokens = found.tokens
    return {
        "exact_match": found.exact_match.value,
        "exact_match_stderr": found.exact_match.stderr,
        "token_accuracy": tokens.mean.accuracy,
        "token_accuracy_stderr": tokens.mean.accuracy_stderr,
        "by_target_position": [
            {"position": place, **dict(zip(tokens._fields[1:5], results, strict=True))}
            for place, results in enumerate(np.transpose(tokens[1:5]).tolist(), 1)
        ],
        "floor": task.floor(),
        "sources": task.sources(),
        "share_in_training": share_in_training(ended.experiment),
    }


def _measures(ended: Run, setup: Setup) -> list[dict[str, Any]]:
    """Return all measures of the last model."""
    names = [name for name in measures_for([ended.experiment]) if name in MEASURES]
    found = estimates_of(ended.state.model, setup, names)
    return [{"name": name, **estimate._asdict()} for name, estimate in found.items()]


def _ledger(ended: Run) -> list[dict[str, Any]]:
    """Return the parts of the gap between the loss of the last model and the floor."""
    print("Taking the gap to the floor apart …", file=sys.stderr)
    *_, last = gap_ledger(ended.experiment, ended.state.model, step=int(ended.state.step))
    return [each._asdict() for each in last.parts]


def _in_context(ended: Run, setup: Setup, figures: Evaluation) -> dict[str, Any]:
    """Return the scores of all heads, and the loss and the floor at every tested position.

    A process that does not define `true_sources` has neither.
    """
    process, length = ended.experiment.generator, ended.experiment.length
    if process.true_sources(jnp.zeros(length, jnp.int32)) is None:
        return {}
    report: dict[str, Any] = {}
    if ended.experiment.model.every_position:
        scores = head_scores(process, ended.state.model, np.asarray(setup.test))
        report["head_scores"] = [each._asdict() for each in scores]
    if (found := figures.by_position) is not None:
        best = optimum(process, length, FEW_BELIEFS).by_position
        report["per_position"] = [
            {"position": position, "nll": nll, "nll_stderr": error, "floor": best[position].nll}
            | ({} if best[position].exact else {"floor_stderr": best[position].nll_stderr})
            for position, nll, error in zip(*found[:3], strict=True)
        ]
    return report


def _print_report(report: dict[str, Any]) -> None:
    if "exact_match" in report:
        print(
            f"exact match {report['exact_match']:.4f} ± {report['exact_match_stderr']:.4f} (greedy "
            f"decoding), {show_percent(report['share_in_training'])} of all sources seen in "
            "training"
        )
    is_exact = report["experiment"]["training"]["data"] == "law"
    of = "exact, all {:,} pasts" if is_exact else "standard error, {:,} test sequences"
    accuracy, loss = (
        f"{report[name]:.4f}" + f" ± {report[f'{name}_stderr']:.4f}" * (not is_exact)
        for name in ("test_accuracy", "test_nll")
    )
    print(f"accuracy  {accuracy} ({of.format(report['test_size'])})")
    print(f"loss      {loss} nats")
    if parts := report.get("ledger"):
        found = ", ".join(f"{each['part']} {each['nats']:.5f}" for each in parts)
        print(f"gap       {found} nats; the family costs at most this")
    rate, seconds = report["steps_per_second"], report["seconds"]
    print(
        f"{report['parameters']} parameters, {rate * seconds:,.0f} steps in {seconds:.2f} s, "
        f"{rate:,.0f} steps/s"
    )
