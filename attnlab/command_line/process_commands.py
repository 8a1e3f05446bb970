"""The commands `sample` and `optimum`: sequences of a process, and its best predictions."""

import argparse
import csv
import dataclasses
import sys
from typing import Any

import jax.random as jr
import numpy as np

from attnlab.command_line.output import print_json
from attnlab.command_line.parser import CommandProgress, whole_number
from attnlab.configuration.options import OptionError, default_of, options_of
from attnlab.configuration.records import to_record
from attnlab.generators import NO_LAW, PROCESSES, AbstractGenerator, AbstractHiddenChain, sample
from attnlab.optimum import baselines_of, dependence, entropy_rate, optimum
from attnlab.optimum.exact_table import exact_table
from attnlab.runs.option_texts import read_generator
from attnlab.training.experiment import Experiment

_MOST_SEQUENCES = 1_000_000


def add_sample(commands: argparse._SubParsersAction) -> None:
    """Add the command `sample`."""
    drawing = commands.add_parser("sample", add_help=False, help="print sequences from a generator")
    drawing.add_argument("generator", metavar="PROCESS", help=f"one of {', '.join(PROCESSES)}")
    drawing.add_argument("--size", default="10", help="number of sequences (default 10)")
    drawing.add_argument(
        "--length", help="number of visible positions; the next token is printed too"
    )
    drawing.add_argument("--seed", default="0", help="random seed (default 0)")
    drawing.add_argument("--json", action="store_true", help="print one JSON object")
    drawing.add_options(PROCESSES.values())


def add_optimum(commands: argparse._SubParsersAction) -> None:
    """Add the command `optimum`."""
    best = commands.add_parser(
        "optimum",
        add_help=False,
        help="print the Bayes accuracy and loss, and those of the baselines",
    )
    best.add_argument("generator", metavar="PROCESS", help=f"one of {', '.join(PROCESSES)}")
    best.add_argument("--length", help="number of visible positions; the next token is predicted")
    best.add_argument(
        "--csv",
        action="store_true",
        help="print every possible past with its probability, belief and next tokens, as CSV",
    )
    best.add_argument("--json", action="store_true", help="print one JSON object")
    best.add_options(PROCESSES.values())


def run_sample(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Print sampled sequences of a process."""
    size = whole_number("size", parsed["size"], 1, _MOST_SEQUENCES)
    seed = whole_number("seed", parsed["seed"], 0, 2**31 - 1)
    generator, length = _process(parsed)
    progress.words = "while drawing sequences"
    tokens = np.asarray(sample(generator, key=jr.key(seed), size=size, length=length + 1))
    progress.words = "while printing sequences"
    vocabulary = generator.vocabulary
    if parsed["json"]:
        print_json(
            {
                "generator": to_record(generator),
                "length": length,
                "seed": seed,
                "symbols": vocabulary.symbols,
                "sequences": tokens,
            }
        )
    else:
        # Split after the source of a task, or before the token to predict of other processes.
        parts = generator.prompt_length() or length
        for row in tokens:
            print(f"{vocabulary.render(row[:parts])} → {vocabulary.render(row[parts:])}")
    return 0


def run_optimum(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Print accuracy and loss of the best predictor and of the baselines."""
    generator, length = _process(parsed)
    progress.words = "while computing the optimum"
    if parsed["csv"]:
        if parsed["json"]:
            raise OptionError("csv", True, "there is also `--json`", "Leave one of them out")
        _print_table(generator, length)
        return 0
    print("Computing the optimum …", file=sys.stderr)
    found = optimum(generator, length)
    print("Computing the baselines …", file=sys.stderr)
    baselines = baselines_of(generator, length)
    rate = entropy_rate(generator) if isinstance(generator, AbstractHiddenChain) else None
    if parsed["json"]:
        best, by_position = found.final, enumerate(found.by_position, 1)
        report = {
            "generator": to_record(generator),
            "length": length,
            "accuracy": best.accuracy,
            "nll": best.nll,
            "exact": best.exact,
            "stderr": {"accuracy": best.accuracy_stderr, "nll": best.nll_stderr},
            "per_day": [{"day": day, **dataclasses.asdict(each)} for day, each in by_position],
            "ladder": [{"name": each.name, **dataclasses.asdict(each.best)} for each in baselines],
            "dependence": _dependence(generator, length) if generator.has_law else NO_LAW,
        }
        print_json(report if rate is None else report | {"entropy_rate": rate._asdict()})
        return 0
    for baseline in baselines:
        best = baseline.best
        accuracy = _show_estimate(best.accuracy, best.accuracy_stderr, bounded=best.bounded)
        loss = _show_estimate(best.nll, best.nll_stderr, bounded=best.bounded)
        print(f"{baseline.name:9} accuracy {accuracy}  loss {loss} nats")
    if rate is not None:
        print(f"entropy rate from {rate.low:.4f} to {rate.high:.4f} nats per token")
    return 0


def _dependence(generator: AbstractGenerator, length: int) -> dict[str, Any]:
    maps = dependence(generator, length)
    last = {name: each[-1] for name, each in vars(maps).items() if name != "exact"}
    by_query = {"replacement": maps.replacement, "information": maps.information}
    return {"exact": maps.exact, **last, "by_query": by_query}


def _print_table(generator: AbstractGenerator, length: int) -> None:
    """Print the exact table of a process as CSV."""
    symbols, states = generator.vocabulary.symbols, generator.hidden_states
    out = csv.writer(sys.stdout, lineterminator="\n")
    beliefs = (f"belief in {name}" for name in states)
    pasts = list(exact_table(generator, length))
    out.writerow(["past", "probability", *beliefs, *(f"next {symbol}" for symbol in symbols)])
    for past in pasts:
        numbers = (past.probability, *past.belief, *past.next_probs)
        out.writerow([generator.vocabulary.render(past.tokens), *(f"{x:.6g}" for x in numbers)])


def _show_estimate(value: float, stderr: float, *, bounded: bool) -> str:
    """Return a number with its standard error, or with the note that it is exact or a bound."""
    if bounded:
        return f"{known_value(value, stderr)} (search stopped early)"
    return known_value(value, stderr) if stderr else f"{value:.4f} (exact)"


def known_value(value: float, stderr: float) -> str:
    """Return a number as text, with its standard error if it has one."""
    return f"{value:.4f} ± {stderr:.4f}" if stderr else f"{value:.4f}"


def _process(parsed: dict[str, Any]) -> tuple[AbstractGenerator, int]:
    generator = read_generator(parsed["generator"], parsed)
    low, high = options_of(Experiment)["length"].bounds
    usual = generator.own_length() or default_of(Experiment, "length")
    given = parsed.get("length", str(usual))
    length = whole_number("length", given, int(low), int(high))
    return generator.at_length(length), length
