"""The command `card`, and the part of `check` that trains the runs of a card again."""

import argparse
import sys
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from attnlab.command_line.export_command import add_address, check_address, run_and_entry
from attnlab.command_line.many_runs import carry_out
from attnlab.command_line.output import check_output, file_error, print_json, write_output
from attnlab.command_line.parser import CommandProgress
from attnlab.comparisons.grid import seconds_of
from attnlab.configuration.environment import bytes_of_machine
from attnlab.configuration.number_text import show_duration
from attnlab.configuration.options import OptionError
from attnlab.known_results import KNOWN_RESULTS
from attnlab.result_card import (
    MOST_BYTES,
    ResultCard,
    card_from_json,
    card_of_known_result,
    card_of_run,
    card_to_json,
    check_card,
)
from attnlab.result_card.checking import DIFFERS
from attnlab.runs.history import current_versions
from attnlab.runs.links import to_query
from attnlab.runs.whole_file import read_bytes
from attnlab.training.limits import check_memory


def add_card(commands: argparse._SubParsersAction) -> None:
    """Add the command `card`."""
    making = commands.add_parser("card", help="write a result as a card that checks itself")
    making.add_argument(
        "result",
        help="a run file, a number of `runs list`, a name of `reproduce --list`, or a card",
    )
    making.add_argument("--svg", metavar="FILE", help="write the card as a picture")
    making.add_argument("--png", metavar="FILE", help="write the card as a picture")
    making.add_argument("--json", metavar="FILE", help="write the card itself (default: print it)")
    add_address(making, "card")


def run_card(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Write the card of a result; return the exit status."""
    names = [name for name in ("svg", "png", "json") if name in parsed]
    address = check_address(parsed["address"])
    if {"svg", "png"} & {*names} and find_spec("vl_convert") is None:
        problem, remedy = "pictures need vl-convert", 'Run `pip install "attnlab[app]"`'
        raise OptionError(names[0], parsed[names[0]], problem, remedy)
    for name in names:
        check_output(name, parsed[name])
    progress.words = "while the card was being made"
    card = _card(parsed["result"], address)
    if not names:
        print(card_to_json(card), end="")
    written = [write_output(name, parsed[name], _as(name, card)) for name in names]
    return int(not all(written))


def _as(name: str, card: ResultCard) -> bytes:
    if name == "json":
        return card_to_json(card).encode()
    # Imported here: pictures need packages of the extra `app`.
    from attnlab.result_card.picture import card_png, card_svg

    return card_png(card) if name == "png" else card_svg(card).encode()


def _card(named: str, address: str) -> ResultCard:
    if named in KNOWN_RESULTS and not Path(named).is_file():
        return card_of_known_result(KNOWN_RESULTS[named], link=f"{address}/known_results#{named}")
    with suppress(OSError):
        # A run file begins with the length of its header.
        head = read_bytes(Path(named), is_right=lambda head: False, most=MOST_BYTES)
        if named.endswith(".json") or head.lstrip()[:1] == b"{":
            return _read_card(named, "result")
    run, _ = run_and_entry(named)
    return card_of_run(run, link=f"{address}/?{urlencode(to_query(run.experiment))}")


def _read_card(file: str, name: str) -> ResultCard:
    """Return the card in a file that is given as the option `name`."""
    try:
        data = read_bytes(Path(file), is_right=lambda head: True, most=MOST_BYTES)
    except OSError as error:
        raise file_error(name, file, error) from None
    return card_from_json(data.decode(errors="replace"))


def run_card_check(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Train the runs of a card again, and print whether its numbers are found; 1 if not."""
    file, as_json = parsed.pop("generator"), parsed.pop("json")
    for name, value in parsed.items():
        raise OptionError(name, value, "the card has its own settings", "Leave it out")
    card, here = _read_card(file, "card"), current_versions()
    for setting in card.settings:
        check_memory(setting.experiment, bytes_of_machine())
    if not card.versions.agree_with(here):
        made, now = (" ".join(filter(None, each)) for each in (card.versions[:2], here[:2]))
        words = f"the card names the versions {made or 'of no program'}; here are {now}"
        print(f"attnlab: {words}: the last digits may differ.", file=sys.stderr)
    time = show_duration(seconds_of(card.runs))
    print(f"Training takes about {time}, by a rough estimate.", file=sys.stderr)
    progress.words = "while the run was being trained"
    train = partial(carry_out, executor=None, progress=progress, what="of the card", keep=False)
    found = check_card(card, train)
    if as_json:
        rows = [each._asdict() | {"agrees": each.off <= 1} for each in found.differences]
        print_json({"says": found.says, "sentences": found.sentences, "differences": rows})
    else:
        print("\n".join(found.sentences))
    return int(found.says == DIFFERS)
