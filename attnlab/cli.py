"""`python -m attnlab`: sample sequences and train models from the command line.

Results go to standard output, progress to standard error. A bad argument ends with status 2 and
one line that says what to do.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import jax.random as jr
import numpy as np

from attnlab.experiment import Experiment, from_json_record, prepare, to_json, train
from attnlab.generators import GENERATORS, sample
from attnlab.models import MODELS, parameter_count
from attnlab.options import Option, OptionError, default_of, options_of
from attnlab.positions import POSITIONS
from attnlab.presets import PRESETS
from attnlab.records import from_record, to_record
from attnlab.training import Training, advance, evaluate

_MOST_SEQUENCES = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    parser = _parser()
    parsed = vars(parser.parse_args(arguments))
    command = parsed.pop("command")
    try:
        return {"sample": _sample, "train": _train}[command](parsed)
    except ValueError as error:
        print(f"attnlab: {error}", file=sys.stderr)
        return 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.exit(2, f"attnlab: {message}. See `{self.prog} --help`.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m attnlab", description="A laboratory bench for attention.")
    commands = parser.add_subparsers(dest="command", required=True)

    drawing = commands.add_parser("sample", help="print sequences from a generator")
    drawing.add_argument("generator", choices=list(GENERATORS), help="the process")
    drawing.add_argument("--size", default="10", help="how many sequences (default 10)")
    drawing.add_argument("--length", help="visible days; the day after them is printed too")
    drawing.add_argument("--seed", default="0", help="draws the sequences (default 0)")
    drawing.add_argument("--json", action="store_true", help="one JSON object")
    _add_options(drawing, _options(GENERATORS.values()))

    training = commands.add_parser("train", help="train a model and print its test figures")
    training.add_argument("--preset", metavar="NAME", help="start from this named experiment")
    training.add_argument("--list-presets", action="store_true", help="print the presets and end")
    training.add_argument("--json", action="store_true", help="one JSON object")
    everything = _options((Experiment, *GENERATORS.values(), *MODELS.values(), *POSITIONS.values(),
                           Training))  # fmt: skip
    everything.pop("training")
    _add_options(training, everything)
    return parser


def _options(kinds: Any) -> dict[str, Option]:
    return {name: spec for kind in kinds for name, spec in options_of(kind).items()}


def _add_options(parser: argparse.ArgumentParser, options: Mapping[str, Option]) -> None:
    for name, spec in options.items():
        names = list(spec.registry or spec.choices)
        shown = "{" + ",".join(names) + "}" if names else name.upper()
        parser.add_argument(
            f"--{name.replace('_', '-')}", metavar=shown, help=spec.help.replace("%", "%%")
        )


def _sample(parsed: dict[str, Any]) -> int:
    size = _whole("size", parsed["size"], 1, _MOST_SEQUENCES)
    seed = _whole("seed", parsed["seed"], 0, 2**31 - 1)
    generator = _configuration(GENERATORS, parsed["generator"], {}, parsed, "generator")
    bounds = options_of(Experiment)["length"]
    given = parsed["length"] or str(default_of(Experiment, "length"))
    length = _whole("length", given, int(bounds.low), int(bounds.high))
    generator = generator.at_length(length)
    tokens = np.asarray(sample(generator, key=jr.key(seed), size=size, length=length + 1))
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


def _train(parsed: dict[str, Any]) -> int:
    if parsed["list_presets"]:
        for name, preset in PRESETS.items():
            print(f"{name}  {preset.description}")
        return 0
    experiment = _experiment(parsed)
    print("Drawing data and compiling …", file=sys.stderr)
    setup = prepare(experiment)
    advance(setup.state, setup.source, experiment.training, key=setup.key, steps=0)
    began, state = time.perf_counter(), setup.state
    for progress in train(experiment, setup, chunk=500):
        state = progress.state
        done, nll = int(state.step), progress.losses.nll[-1]
        print(f"step {done:,} of {experiment.training.steps:,}, training loss {nll:.3f} nats",
              file=sys.stderr)  # fmt: skip
    seconds = time.perf_counter() - began
    figures = evaluate(state.model, setup.test, readout=experiment.training.readout)
    if not np.isfinite(figures.nll):
        raise OptionError(
            "learning_rate", experiment.training.learning_rate,
            "the loss is no finite number any more", "Choose a lower rate",
        )
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
    if parsed["json"]:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(f"accuracy  {figures.accuracy:.4f} ± {figures.accuracy_stderr:.4f} "
              f"(standard error, {experiment.training.test_size:,} test sequences)")  # fmt: skip
        print(f"loss      {figures.nll:.4f} ± {figures.nll_stderr:.4f} nats")
        print(f"{report['parameters']} parameters, {int(state.step):,} steps in {seconds:.2f} s, "
              f"{report['steps_per_second']:,.0f} steps/s")  # fmt: skip
    return 0


def _experiment(parsed: dict[str, Any]) -> Experiment:
    """The preset, or the default experiment, with the given options in place of its own."""
    base = Experiment()
    if parsed["preset"] is not None:
        if parsed["preset"] not in PRESETS:
            remedy = "See `train --list-presets`"
            raise OptionError("preset", parsed["preset"], "not a preset", remedy)
        base = PRESETS[parsed["preset"]].experiment
    given = {name: value for name, value in parsed.items() if value is not None}
    used = {"json", "list_presets", "preset"}
    model = json.loads(to_json(base))["model"]
    model = _record(MODELS, given.get("model", base.model.name), model, given, used)
    if "position" in model:
        at_hand = model["position"]
        chosen = given.get("position", at_hand["name"])
        model["position"] = _record(POSITIONS, chosen, at_hand, given, used)
        used.add("position")
    generator = to_record(base.generator)
    record = {
        "version": 1,
        "name": "experiment",
        "generator": _record(
            GENERATORS, given.get("generator", base.generator.name), generator, given, used
        ),
        "model": model,
        "training": _record(
            {Training.name: Training}, Training.name, to_record(base.training), given, used
        ),
    }
    for name in ("length", "seed"):
        bounds = options_of(Experiment)[name]
        value = given.get(name, str(getattr(base, name)))
        record[name] = _value(name, bounds, value, default_of(Experiment, name))
    used |= {"generator", "model", "length", "seed"}
    for name in given.keys() - used:
        flag = f"--{name.replace('_', '-')}"
        problem = "the chosen generator, model and position have no such option"
        raise OptionError(flag, given[name], problem, "Leave it out, or choose another of them")
    return from_json_record(record)


def _configuration(registry, name, at_hand, given, option_name):
    record = _record(registry, name, at_hand, given, set())
    return from_record(registry, record, option_name=option_name)


def _record(
    registry: Mapping[str, type],
    name: str,
    at_hand: dict[str, Any],
    given: dict[str, Any],
    used: set[str],
) -> dict[str, Any]:
    """The record of `name` in `registry`: options as given, or as `at_hand` if of that name."""
    if name not in registry:
        names = ", ".join(f"'{choice}'" for choice in registry)
        raise OptionError("name", name, "unknown", f"Choose one of {names}")
    kind = registry[name]
    record = dict(at_hand) if at_hand.get("name") == name else {"name": name}
    for option_name, spec in options_of(kind).items():
        if given.get(option_name) is not None and spec.registry is None:
            default = default_of(kind, option_name)
            record[option_name] = _value(option_name, spec, given[option_name], default)
            used.add(option_name)
    return record


def _value(name: str, spec: Option, text: str, default: Any) -> Any:
    """What a flag's text means for an option of this default."""
    if isinstance(default, tuple):
        rows = [row.replace(",", " ").split() for row in text.split(";")]
        number = int if isinstance(default[0], int) else float
        try:
            table = [[number(part) for part in row] for row in rows]
        except ValueError:
            remedy = 'Write numbers with commas, rows with semicolons: "0.9,0.1;0.2,0.8"'
            raise OptionError(name, text, "not numbers", remedy) from None
        return table if isinstance(default[0], tuple) else table[0]
    if spec.choices:
        return text
    try:
        return int(text) if isinstance(default, int) else float(text)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise OptionError(name, text, f"not {kind}", f"Write {kind}") from None


def _whole(name: str, text: str, low: int, high: int) -> int:
    value = _value(name, Option(help=""), text, 0)
    if not low <= value <= high:
        problem = f"not from {low:,} to {high:,}"
        raise OptionError(name, value, problem, "Choose a whole number within")
    return value
