"""The command `measure`: measures of a trained model, at its last step or over training."""

import argparse
import json
from typing import Any

from attnlab.command_line.parser import CommandProgress
from attnlab.command_line.train_command import run_to_read
from attnlab.configuration.number_text import show_estimate
from attnlab.configuration.options import OptionError, choose_one_of, present
from attnlab.inspection import MEASURES, estimates_of, measure_of, measures_for
from attnlab.runs.option_texts import experiment_parts
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.measure import Estimate


def add_measure(commands: argparse._SubParsersAction) -> None:
    """Add the command `measure`."""
    measuring = commands.add_parser(
        "measure", add_help=False, help="train or load a model, and print measures of it"
    )
    measuring.add_argument("names", nargs="*", metavar="NAME", help="measures; by default all")
    measuring.add_argument("--list", action="store_true", help="print the measures and exit")
    measuring.add_argument("--preset", metavar="NAME", help="train this preset")
    measuring.add_argument("--load", metavar="FILE", help="measure the run of a file")
    measuring.add_argument(
        "--over-training", action="store_true", help="measure every model that was kept"
    )
    measuring.add_argument("--json", action="store_true", help="print one JSON object")
    measuring.add_options(experiment_parts())


def run_measure(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Print measures of a run that is trained or loaded."""
    names, as_json = parsed.pop("names"), parsed.pop("json")
    over_training = parsed.pop("over_training")
    if parsed.pop("list"):
        for measure in MEASURES.values():
            needs = f" Needs {measure.needs}." if measure.needs else ""
            print(f"{measure.name}  {measure.title}: {measure.summary or 'your own'}.{needs}")
        return 0
    for name in names:
        if measure_of(name) is None:
            remedy = choose_one_of(MEASURES, name)
            raise OptionError("names", name, "not a measure", remedy)

    def check(experiment: Experiment) -> None:
        for name in names:
            measure = present(measure_of(name))
            if not measure.applies(experiment):
                raise OptionError("names", name, "not defined here", f"It needs {measure.needs}")

    ended = run_to_read(parsed, progress, check, whole_history=over_training)
    # By default all measures that the run has, without those at single sites.
    names = names or [name for name in measures_for([ended.experiment]) if name in MEASURES]
    setup = prepare(ended.experiment)
    last = int(ended.state.step)
    kept = dict(ended.history.checkpoints) if over_training else {}
    found: dict[int, dict[str, Estimate]] = {}
    for step, model in sorted((kept | {last: ended.state.model}).items()):
        progress.words = f"while measuring the model of step {step:,}"
        found[step] = estimates_of(model, setup, names)
    _print(found, as_json=as_json, over_training=over_training)
    return 0


def _print(found: dict[int, dict[str, Estimate]], *, as_json: bool, over_training: bool) -> None:
    if as_json:
        rows = [
            {"name": name, "step": step, **estimate.record()}
            for step, estimates in found.items()
            for name, estimate in estimates.items()
        ]
        print(json.dumps({"measures": rows}))
        return
    for step, estimates in found.items():
        at = f"step {step:,}  " if over_training else ""
        for name, (value, stderr) in estimates.items():
            unit = present(measure_of(name)).unit
            shown = show_estimate(value, stderr, most_places=4)
            print(f"{at}{name}  {shown} {unit}".rstrip())
