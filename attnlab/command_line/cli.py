"""`python -m attnlab`: sample sequences, train models and tell the best possible.

Results go to standard output, progress to standard error. A bad argument ends with status 2 and
one line that says what to do; `ending` has the other ways to end before the time.
"""

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO

import jax.random as jr
import numpy as np

from attnlab.command_line.ending import Doing, is_installed_command
from attnlab.command_line.flags import (
    EXPERIMENT_PARTS,
    add_flags,
    read_experiment,
    read_generator,
    read_value,
)
from attnlab.configuration.options import Option, OptionError, default_of, options_of
from attnlab.configuration.records import to_record
from attnlab.generators import GENERATORS, AbstractGenerator, sample
from attnlab.models import MODELS, parameter_count
from attnlab.optimum import dependence, ladder, optimum
from attnlab.training.experiment import Experiment, prepare, to_json
from attnlab.training.loop import Progress, run
from attnlab.training.presets import PRESETS
from attnlab.training.schedule import Schedule
from attnlab.training.steps import Training, advance

_MOST_SEQUENCES = 1_000_000
_STEPS_A_CHUNK, _STEPS_A_LINE = 100, 500
# More than the longest that argparse says of arguments which people write.
_MOST_CHARACTERS = 300


def main(arguments: Sequence[str] | None = None, doing: Doing | None = None) -> int:
    """Run one command; the exit status. `doing` is told how far it came."""
    parser = _parser()
    parsed = {
        name: value
        for name, value in vars(parser.parse_args(arguments)).items()
        if value is not None
    }
    command = {"sample": _sample, "optimum": _optimum, "train": _train}[parsed.pop("command")]
    try:
        return command(parsed, doing or Doing())
    except ValueError as error:
        print(f"attnlab: {error}", file=sys.stderr)
        return 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        print(f"attnlab: {_cut(message)}. See `{self.prog} --help`.", file=sys.stderr)
        raise SystemExit(2)

    def print_help(self, file: TextIO | None = None):
        # argparse's own is silent about a write that fails.
        print(self.format_help(), end="", file=file or sys.stdout)


def _cut(message: str) -> str:
    """One line of bounded length: a message may repeat arguments of any length."""
    if len(message) > _MOST_CHARACTERS:
        # The end of it may say what could be chosen instead.
        message = f"{message[:150]} … {message[-147:]}"
    return " ".join(message.split())


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="attnlab" if is_installed_command() else "python -m attnlab",
        description=(
            "Train small attention models on processes whose best possible prediction is known."
        ),
    )
    commands = parser.add_subparsers(dest="command", required=True)

    drawing = commands.add_parser("sample", help="print sequences from a generator")
    drawing.add_argument("generator", choices=list(GENERATORS), help="the process")
    drawing.add_argument("--size", default="10", help="how many sequences (default 10)")
    drawing.add_argument("--length", help="visible days; the day after them is printed too")
    drawing.add_argument("--seed", default="0", help="draws the sequences (default 0)")
    drawing.add_argument("--json", action="store_true", help="one JSON object")
    add_flags(drawing, GENERATORS.values())

    best = commands.add_parser(
        "optimum", help="print the Bayes accuracy and loss, and those of the baselines"
    )
    best.add_argument("generator", choices=list(GENERATORS), help="the process")
    best.add_argument("--length", help="visible days; the day after them is predicted")
    best.add_argument("--json", action="store_true", help="one JSON object")
    add_flags(best, GENERATORS.values())

    training = commands.add_parser("train", help="train a model and print its test figures")
    training.add_argument("--preset", metavar="NAME", help="start from this named experiment")
    training.add_argument("--list-presets", action="store_true", help="print the presets and end")
    training.add_argument("--json", action="store_true", help="one JSON object")
    add_flags(training, EXPERIMENT_PARTS)
    return parser


def _sample(parsed: dict[str, Any], doing: Doing) -> int:
    size = _whole("size", parsed["size"], 1, _MOST_SEQUENCES)
    seed = _whole("seed", parsed["seed"], 0, 2**31 - 1)
    generator, length = _process(parsed)
    doing.words = "while drawing sequences"
    tokens = np.asarray(sample(generator, key=jr.key(seed), size=size, length=length + 1))
    doing.words = "while printing sequences"
    vocabulary = generator.vocabulary
    if parsed["json"]:
        print(
            json.dumps(
                {
                    "generator": to_record(generator),
                    "length": length,
                    "seed": seed,
                    "symbols": vocabulary.symbols,
                    "sequences": tokens.tolist(),
                },
                ensure_ascii=False,
            )
        )
    else:
        for row in tokens:
            print(f"{vocabulary.render(row[:-1])} → {vocabulary.render(row[-1:])}")
    return 0


def _process(parsed: dict[str, Any]) -> tuple[AbstractGenerator, int]:
    generator = read_generator(parsed["generator"], parsed)
    bounds = options_of(Experiment)["length"]
    given = parsed.get("length", str(default_of(Experiment, "length")))
    length = _whole("length", given, int(bounds.low), int(bounds.high))
    return generator.at_length(length), length


def _optimum(parsed: dict[str, Any], doing: Doing) -> int:
    generator, length = _process(parsed)
    doing.words = "while computing the optimum"
    print("Computing the optimum …", file=sys.stderr)
    found = optimum(generator, length)
    rungs = ladder(generator, length)
    if not parsed["json"]:
        for rung in rungs:
            best = rung.best
            print(
                f"{rung.name:9} accuracy {_figure(best.accuracy, best.accuracy_stderr)}  "
                f"loss {_figure(best.nll, best.nll_stderr)} nats"
            )
        return 0
    maps = dependence(generator, length)
    report = {
        "generator": to_record(generator),
        "length": length,
        "accuracy": found.final.accuracy,
        "nll": found.final.nll,
        "exact": found.final.exact,
        "stderr": {"accuracy": found.final.accuracy_stderr, "nll": found.final.nll_stderr},
        "per_day": [
            {"day": day, **dataclasses.asdict(best)}
            for day, best in enumerate(found.by_position, 1)
        ],
        "ladder": [{"name": rung.name, **dataclasses.asdict(rung.best)} for rung in rungs],
        "dependence": {
            "exact": maps.exact,
            **{
                name: np.asarray(getattr(maps, name))[-1].tolist()
                for name in (
                    "replacement",
                    "replacement_stderr",
                    "information",
                    "information_stderr",
                )
            },
            "by_query": {
                "replacement": maps.replacement.tolist(),
                "information": maps.information.tolist(),
            },
        },
    }
    print(json.dumps(report, ensure_ascii=False))
    return 0


def _figure(value: float, stderr: float) -> str:
    return f"{value:.4f} ± {stderr:.4f}" if stderr else f"{value:.4f} (exact)"


def _train(parsed: dict[str, Any], doing: Doing) -> int:
    as_json = parsed.pop("json")
    if parsed.pop("list_presets"):
        for name, preset in PRESETS.items():
            print(f"{name}  {preset.description}")
        return 0
    preset = parsed.pop("preset", None)
    experiment = read_experiment(_base(preset, parsed.get("model")), parsed)
    doing.words = "while drawing data and compiling; nothing was saved"
    print("Drawing data and compiling …", file=sys.stderr)
    setup = prepare(experiment)
    advance(setup.state, setup.source, experiment.training, key=setup.key, steps=0)
    began, steps = time.perf_counter(), experiment.training.steps
    doing.words = f"at step 0 of {steps:,}; nothing was saved"
    plan = Schedule((steps,), ())
    for event in run(experiment, setup=setup, chunk=_STEPS_A_CHUNK, plan=plan):
        if not isinstance(event, Progress):
            figures = event.evaluation
            continue
        seconds = time.perf_counter() - began
        state, nll = event.state, event.losses.nll[-1]
        step = int(state.step)
        doing.words = f"at step {step:,} of {steps:,}; nothing was saved"
        if step % _STEPS_A_LINE == 0 or step == steps:
            print(f"step {step:,} of {steps:,}, training loss {nll:.3f} nats", file=sys.stderr)
    report = {
        "test_accuracy": figures.accuracy,
        "test_accuracy_stderr": figures.accuracy_stderr,
        "test_nll": figures.nll,
        "test_nll_stderr": figures.nll_stderr,
        "test_size": experiment.training.test_size,
        "steps": int(state.step),
        "seconds": seconds,
        "steps_per_second": int(state.step) / seconds,
        "parameters": parameter_count(state.model),
        "experiment": json.loads(to_json(experiment)),
    }
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(
            f"accuracy  {figures.accuracy:.4f} ± {figures.accuracy_stderr:.4f} "
            f"(standard error, {experiment.training.test_size:,} test sequences)"
        )
        print(f"loss      {figures.nll:.4f} ± {figures.nll_stderr:.4f} nats")
        print(
            f"{report['parameters']} parameters, {int(state.step):,} steps in {seconds:.2f} s, "
            f"{report['steps_per_second']:,.0f} steps/s"
        )
    return 0


def _base(preset: str | None, model: str | None) -> Experiment:
    if preset is None:
        usual = MODELS[model].usual_training if model in MODELS else {}
        return Experiment(training=Training(**usual))
    if preset not in PRESETS:
        raise OptionError("preset", preset, "not a preset", "See `train --list-presets`")
    return PRESETS[preset].experiment


def _whole(name: str, text: str, low: int, high: int) -> int:
    value = read_value(name, Option(help=""), text, 0)
    if not low <= value <= high:
        problem = f"not from {low:,} to {high:,}"
        raise OptionError(name, value, problem, "Choose a whole number within")
    return value
