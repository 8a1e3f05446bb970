"""The command `check`: whether a process obeys its laws, and whether sequences follow its law."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attnlab.command_line.card_command import run_card_check
from attnlab.command_line.output import file_error, print_json
from attnlab.command_line.parser import CommandProgress, whole_number
from attnlab.configuration.options import OptionError
from attnlab.configuration.records import to_record
from attnlab.generators import (
    GENERATORS,
    PROCESSES,
    TASKS,
    AbstractGenerator,
    check_has_law,
)
from attnlab.optimum.conformity import Conformity, ContextTest, conformity
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
        help=(
            "check the laws of a process, sequences of your own against its exact law, or a card"
        ),
    )
    checking.add_argument(
        "generator",
        metavar="PROCESS",
        help=(
            "a process, a Python file that registers processes, or a card, whose runs are trained "
            "again"
        ),
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
    name, processes = parsed["generator"], []
    is_file = Path(name).is_file() and not name.endswith(".py")
    if name.endswith(".json") or (is_file and name not in PROCESSES):
        return run_card_check(parsed, progress)
    if name.endswith(".py"):
        before = set(PROCESSES)
        import_file(name)
        # A process that fails in `read_generator` is named there.
        added = [each for each in (*GENERATORS.added(), *TASKS.added()) if each.name not in before]
        if not added:
            problem, remedy = "it registers no process", "Decorate the class with `@register`"
            raise OptionError("process", name, problem, remedy)
        processes = [read_generator(each.name, parsed) for each in added]
    else:
        processes = [read_generator(name, parsed)]
    for each in processes:
        check_has_law(each)
    if "samples" in parsed:
        if len(processes) > 1:
            problem, remedy = "it registers several processes", "Name one, with `--module FILE`"
            raise OptionError("process", name, problem, remedy)
        return _check_samples(processes[0], parsed, progress)
    reports = [_check_laws(each, parsed, progress) for each in processes]
    if parsed["json"]:
        laws = [[law._asdict() for law in report.laws] for report in reports]
        found = zip(processes, reports, laws, strict=True)
        print_json(
            {
                "processes": [
                    {"generator": to_record(process), **report._asdict(), "laws": each}
                    for process, report, each in found
                ]
            }
        )
    return int(not all(report.holds for report in reports))


def _check_laws(
    process: AbstractGenerator, parsed: dict[str, Any], progress: CommandProgress
) -> LawReport:
    progress.words = f"while checking {process.name}"
    given = parsed.get("length")
    length = None if given is None else whole_number("length", given, 2, 15)
    if length is not None and (own := process.own_length()) not in (None, length - 1):
        problem = f"a sequence of {process.name} with these options has {own + 1} tokens"
        raise OptionError("length", length, problem, "Leave it out")
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
    if own is None:
        process = process.at_length(max(max(map(len, sequences)) - 1, 1))
    else:
        for number, each in enumerate(sequences, 1):
            if len(each) != own + 1:
                problem = f"sequence {number} has {len(each)} tokens, not {own + 1}"
                raise OptionError("samples", parsed["samples"], problem, "Give whole sequences")
    progress.words = "while testing the sequences"
    found = conformity(process, sequences)
    deviating = found.first_deviation(_LEVEL)
    if parsed["json"]:
        print_json(_record(process, found))
    else:
        for line in _report(process, found, deviating, sequences):
            print(line)
    return int(found.impossible is not None or deviating is not None)


def _report(
    process: AbstractGenerator,
    found: Conformity,
    deviating: ContextTest | None,
    sequences: list[tuple[int, ...]],
) -> Iterator[str]:
    render = process.vocabulary.render
    sequences_of = f"{_counted(found.sequences, 'sequence')} of {process.name}"
    yield f"{sequences_of}, {_counted(found.tokens, 'token')}"
    if found.impossible is not None:
        number, place = found.impossible
        before = process.vocabulary.shorten(sequences[number][:place]) or "the start"
        token = render(sequences[number][place : place + 1])
        yield f"Impossible: sequence {number + 1} has {token} after {before}."
        return
    for test in found.tests:
        mark = "✗" if test.adjusted < _LEVEL else "✓"
        yield (
            f"  {mark} after {_counted(test.order, 'token')}: χ² {test.statistic:.1f} with "
            f"{_counted(test.degrees, 'degree')} of freedom, p {_show_p(test.adjusted)}"
        )
    if deviating is None:
        yield f"No deviation at the level {_LEVEL:.0%}, for all tests together."
        return
    far = deviating.deviation
    if far is None:
        yield "Rare tokens deviate together, none of them by itself."
        return
    context = f"After {render(far.context)}" if far.context else "In all places"
    yield (
        f"{context} you have {render([far.token])} in {far.observed:.1%}, the law says "
        f"{far.expected:.1%} ({far.visits:,} places, {far.errors:.1f} standard errors)."
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _show_p(p_value: float) -> str:
    return "< 0.0001" if p_value < 1e-4 else f"{p_value:.4f}"


def _record(process: AbstractGenerator, found: Conformity) -> dict[str, Any]:
    tests = [
        test._asdict() | {"deviation": test.deviation and test.deviation._asdict()}
        for test in found.tests
    ]
    return {"generator": to_record(process), **found._asdict(), "tests": tests}


def _read(file: str, process: AbstractGenerator) -> list[tuple[int, ...]]:
    """Read sequences, one a line: symbols, or numbers from 0 if these are no symbols."""
    try:
        # A byte-order mark is no token.
        if file == "-":
            text = sys.stdin.read(_MOST_BYTES + 1).removeprefix("\ufeff")
        else:
            with Path(file).open(encoding="utf-8-sig") as opened:
                text = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise file_error("samples", file, error) from None
    except UnicodeDecodeError:
        problem = "not a text in UTF-8"
        raise OptionError("samples", file, problem, "Save the sequences as text") from None
    if len(text) > _MOST_BYTES:
        raise OptionError("samples", file, "more than 50 MB", "Give fewer sequences")
    # `attnlab sample` marks the token to predict.
    lines = [(n, line.replace("→", " ")) for n, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line.strip()]
    if not lines:
        raise OptionError("samples", file, "no sequences", "Write one a line")
    # Digits may be symbols, so all lines are read in the same way.
    return _numbers(lines, process) or [_symbols(*each, file, process) for each in lines]


def _numbers(
    lines: list[tuple[int, str]], process: AbstractGenerator
) -> list[tuple[int, ...]] | None:
    """Return sequences of numbers from 0, or None if these are not such or can be symbols."""
    size, symbols = process.vocabulary.size, process.vocabulary.symbols
    rows = [line.replace(",", " ").split() for _, line in lines]
    words = {word for row in rows for word in row}
    if any(symbol.isdigit() for symbol in symbols) or not all(map(str.isdecimal, words)):
        return None
    if not all(word.isascii() and len(word) < 4 and int(word) < size for word in words):
        return None
    return [tuple(map(int, row)) for row in rows]


def _symbols(number: int, line: str, file: str, process: AbstractGenerator) -> tuple[int, ...]:
    try:
        return process.vocabulary.parse(line)
    except ValueError as error:
        problem = f"line {number}: {str(error).split(': ', 1)[-1]}"
        remedy = f"Or write all lines as numbers from 0 to {process.vocabulary.size - 1}"
        raise OptionError("samples", file, problem.rstrip("."), remedy) from None
