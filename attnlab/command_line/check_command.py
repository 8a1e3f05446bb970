"""The command `check`: whether a process obeys its laws, and whether sequences follow its law."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from attnlab.command_line.card_command import run_card_check
from attnlab.command_line.output import file_error, print_json
from attnlab.command_line.parser import CommandProgress, whole_number
from attnlab.configuration.number_text import show_count
from attnlab.configuration.options import OptionError, options_of
from attnlab.configuration.records import to_record
from attnlab.generators import PROCESSES, AbstractGenerator, check_has_law
from attnlab.generators.own_text import decode
from attnlab.optimum.conformity import Conformity, conformity
from attnlab.registering import import_file
from attnlab.runs.option_texts import read_generator
from attnlab.testing.law_report import USUAL_LENGTH, LawReport, law_report

_LEVEL = 0.01
_MOST_BYTES = 50_000_000


def add_check(commands: argparse._SubParsersAction) -> None:
    """Add the command `check`."""
    checking = commands.add_parser(
        "check",
        add_help=False,
        help="check the laws of a process, sequences of your own against its exact law, or a card",
    )
    checking.add_argument(
        "generator",
        metavar="PROCESS",
        help="a process, a Python file that registers some, or a card, to train its runs again",
    )
    checking.add_argument(
        "--samples",
        metavar="FILE",
        help="test these sequences, one a line from its first token; - reads standard input",
    )
    checking.add_argument("--length", help=f"tokens of a sequence (default {USUAL_LENGTH})")
    checking.add_argument("--json", action="store_true", help="print one JSON object")
    checking.add_options(PROCESSES.values())


def run_check(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Print which laws hold, or what deviates; return 1 if something does."""
    name = parsed["generator"]
    if name.endswith(".py"):
        before = set(PROCESSES)
        import_file(name)
        # A process that fails in `read_generator` is named there.
        names = [each for each in PROCESSES if each not in before]
    elif name.endswith(".json") or (name not in PROCESSES and Path(name).is_file()):
        return run_card_check(parsed, progress)
    else:
        names = [name]
    processes = [read_generator(each, parsed) for each in names]
    if not processes:
        problem, remedy = "it registers no process", "Decorate the class with `@register`"
        raise OptionError("process", name, problem, remedy)
    for each in processes:
        check_has_law(each)
    if "samples" in parsed:
        if len(processes) > 1:
            problem, remedy = "it registers several processes", "Name one, with `--module FILE`"
            raise OptionError("process", name, problem, remedy)
        return _check_samples(processes[0], parsed, progress)
    reports = [_check_laws(each, parsed, progress) for each in processes]
    if parsed["json"]:
        found = zip(processes, reports, strict=True)
        rows = [{"generator": to_record(each), **report._asdict()} for each, report in found]
        print_json({"processes": rows})
    return int(not all(report.holds for report in reports))


def _check_laws(
    process: AbstractGenerator, parsed: dict[str, Any], progress: CommandProgress
) -> LawReport:
    progress.words = f"while checking {process.name}"
    length = whole_number("length", parsed["length"], 2, 15) if "length" in parsed else None
    report = law_report(process, length)
    if not parsed["json"]:
        print(f"{process.name}: all sequences of {report.length} tokens")
        for law, problem in report.laws:
            print(f"  ✗ {law}: {problem}" if problem else f"  ✓ {law}")
        if report.visibility:
            print(f"  {report.visibility}", flush=True)
    return report


def _check_samples(
    process: AbstractGenerator, parsed: dict[str, Any], progress: CommandProgress
) -> int:
    if "length" in parsed:
        problem = "sequences of a file have their own length"
        raise OptionError("length", parsed["length"], problem, "Leave it out")
    sequences = _read(parsed["samples"], process)
    own = process.own_length()
    for number, each in enumerate(sequences, 1):
        if own is not None and len(each) != own + 1:
            problem = f"sequence {number} has {len(each)} tokens, not {own + 1}"
            raise OptionError("samples", parsed["samples"], problem, "Give whole sequences")
    process = process.at_length(own or max(max(map(len, sequences)) - 1, 1))
    progress.words = "while testing the sequences"
    found = conformity(process, sequences)
    if parsed["json"]:
        print_json({"generator": to_record(process), **found._asdict()})
    else:
        print("\n".join(_report(process, found, sequences)))
    return int(found.impossible is not None or found.first_deviation(_LEVEL) is not None)


def _report(
    process: AbstractGenerator, found: Conformity, sequences: list[tuple[int, ...]]
) -> Iterator[str]:
    render, counts = process.vocabulary.render, show_count(found.sequences, "sequence")
    # Tables have no room.
    values = {name: getattr(process, name) for name in options_of(type(process))}
    plain = [f"{name} {value}" for name, value in values.items() if not isinstance(value, tuple)]
    law = f"{process.name} ({', '.join(plain)})" if plain else process.name
    yield f"{counts} of {law}, {show_count(found.tokens, 'token')}"
    if found.impossible is not None:
        number, place = found.impossible
        before = process.vocabulary.shorten(sequences[number][:place]) or "the start"
        token = render([sequences[number][place]])
        yield f"Impossible: sequence {number + 1} has {token} after {before}."
        return
    for test in found.tests:
        p_value = "< 0.0001" if test.adjusted < 1e-4 else f"{test.adjusted:.4f}"
        after = f"after {show_count(test.order, 'token')}" if test.order else "without context"
        yield (
            f"  {'✗' if test.adjusted < _LEVEL else '✓'} {after}: χ² {test.statistic:.1f} with "
            f"{show_count(test.degrees, 'degree')} of freedom, p {p_value}"
        )
    rejected = [test for test in found.tests if test.adjusted < _LEVEL]
    if not rejected:
        yield f"No deviation at the level {_LEVEL:.0%}, for all tests together."
    elif not (largest := [far for test in rejected if (far := test.deviation) is not None]):
        yield "Rare tokens deviate together, none of them by itself."
    else:
        yield "The largest deviation in each rejected test (the law is given all earlier tokens):"
        for far in largest:
            context = f"after {render(far.context)}" if far.context else "in all places"
            yield (
                f"  {context} you have {render([far.token])} in {far.observed:.1%}, the law says "
                f"{far.expected:.1%} ({far.visits:,} places, {far.errors:.1f} standard errors)"
            )


def _read(file: str, process: AbstractGenerator) -> list[tuple[int, ...]]:
    """Read sequences, one a line: symbols, or numbers from 0 if these are no symbols."""
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as opened:
            text = decode(opened.read(_MOST_BYTES + 1), name="samples", most=_MOST_BYTES)
    except OSError as error:
        raise file_error("samples", file, error) from None
    # `attnlab sample` marks the token to predict.
    lines = enumerate(text.replace("→", " ").splitlines(), 1)
    if not (lines := {number: line for number, line in lines if line.strip()}):
        raise OptionError("samples", file, "no sequences", "Write one a line")
    size, symbols = process.vocabulary.size, process.vocabulary.symbols
    rows = [line.replace(",", " ").split() for line in lines.values()]
    numbers = {str(token): token for token in range(size)}
    # Digits may be symbols, so all lines are read in the same way.
    if numbers.keys() >= set().union(*rows) and not any(map(str.isdigit, symbols)):
        return [tuple(numbers[word] for word in row) for row in rows]
    found = []
    for number, line in lines.items():
        try:
            found.append(process.vocabulary.parse(line))
        except ValueError as error:
            problem = f"line {number}: {str(error).split(': ', 1)[-1]}"
            remedy = f"Or write all lines as numbers from 0 to {process.vocabulary.size - 1}"
            raise OptionError("samples", file, problem.rstrip("."), remedy) from None
    return found
