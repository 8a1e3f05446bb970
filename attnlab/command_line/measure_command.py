"""The commands `measure` and `probe`: what a trained model has learned, by measure or by site."""

import argparse
import math
from collections.abc import Mapping
from typing import Any

from attnlab.command_line.output import print_json
from attnlab.command_line.parser import CommandProgress
from attnlab.command_line.train_command import run_to_read
from attnlab.configuration.number_text import show_estimate, show_percent
from attnlab.configuration.options import OptionError, choose_one_of, present
from attnlab.inspection import (
    MEASURES,
    TARGETS,
    activations,
    belief_gap,
    estimates_of,
    measure_of,
    measures_for,
    prepare_probes,
    probe_all_sites,
    probe_sites,
)
from attnlab.inspection.belief_probes import LAST_TOKEN, NEXT_TOKEN, check_can_probe
from attnlab.runs.option_texts import experiment_parts
from attnlab.training.experiment import Experiment, build_model, prepare
from attnlab.training.measure import Estimate


def add_measure(commands: argparse._SubParsersAction) -> None:
    """Add the command `measure`."""
    measuring = commands.add_parser(
        "measure", add_help=False, help="train or load a model, and print measures of it"
    )
    measuring.add_argument("names", nargs="*", metavar="NAME", help="measures; by default all")
    measuring.add_argument("--list", action="store_true", help="print the measures and exit")
    measuring.add_argument(
        "--over-training", action="store_true", help="measure every model that was kept"
    )
    _add_run(measuring, "measure")


def add_probe(commands: argparse._SubParsersAction) -> None:
    """Add the command `probe`."""
    probing = commands.add_parser(
        "probe", add_help=False, help="train or load a model, and probe it for the exact belief"
    )
    probing.add_argument(
        "--target", choices=list(TARGETS), default="belief", help="what to probe for"
    )
    _add_run(probing, "probe")


def _add_run(command: Any, verb: str) -> None:
    """Add the flags that say which run is read, as `run_to_read` takes them, and `--json`."""
    command.add_argument("--preset", metavar="NAME", help="train this preset")
    command.add_argument("--load", metavar="FILE", help=f"{verb} the run of a file")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.add_options(experiment_parts())


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
            raise OptionError("names", name, "not a measure", choose_one_of(MEASURES, name))

    def check(experiment: Experiment) -> None:
        for name in names:
            measure = present(measure_of(name))
            if not measure.applies(experiment):
                raise OptionError("names", name, "not defined here", f"It needs {measure.needs}")

    ended = run_to_read(parsed, progress, check, whole_history=over_training)
    # By default all measures that the run has, without those at single sites.
    names = names or [name for name in measures_for([ended.experiment]) if name in MEASURES]
    setup = prepare(ended.experiment)
    models = dict(ended.history.checkpoints) if over_training else {}
    models[int(ended.state.step)] = ended.state.model
    found: list[tuple[int, str, Estimate]] = []
    for step, model in sorted(models.items()):
        progress.words = f"while measuring the model of step {step:,}"
        found += [(step, *pair) for pair in estimates_of(model, setup, names).items()]
    if as_json:
        rows = [{"name": name, "step": step, **each._asdict()} for step, name, each in found]
        print_json({"measures": rows})
        return 0
    for step, name, (value, stderr) in found:
        at = f"step {step:,}  " if over_training else ""
        shown = show_estimate(value, stderr, most_places=4)
        print(f"{at}{name}  {shown} {present(measure_of(name)).unit}".rstrip())
    return 0


def run_probe(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Print R² of a probe at every site, beside its controls."""
    as_json, target = parsed.pop("json"), parsed.pop("target")
    ended = run_to_read(parsed, progress, lambda experiment: check_can_probe(experiment, target))
    progress.words = "while fitting the probes"
    experiment, model = ended.experiment, ended.state.model
    setup = prepare_probes(experiment, target)
    sites, controls = probe_sites(setup, model), setup.controls
    whole, before = (probe_all_sites(setup, each) for each in (model, build_model(experiment)))
    report = {
        "target": target,
        "sites": [
            {
                "site": each.site,
                "layer": int(layer) if (layer := each.site.partition(".")[2]) else None,
                "r2": each.trained.score.r2,
                "r2_low": each.trained.score.low,
                "r2_high": each.trained.score.high,
                "untrained_r2": each.untrained.r2,
                "next_token_r2": controls[NEXT_TOKEN].r2,
                "last_token_r2": controls[LAST_TOKEN].r2,
                "by_position": [score.r2 for score in each.trained.by_position],
            }
            for each in sites
        ],
        "all_sites": {
            **whole.score._asdict(),
            "untrained_r2": before.score.r2,
            "new_r2": setup.score_of_new(whole).r2,
            "untrained_new_r2": setup.score_of_new(before).r2,
        },
        "controls": {name: score.r2 for name, score in controls.items()},
        "repeated_pasts": float(setup.repeated.mean()),
    }
    if target == "belief":
        last = sites[-1]
        rows = activations(model, setup.test.sequences, [last.site])[last.site]
        gap = belief_gap(experiment.generator, model, last.trained.probe, rows, setup.test)
        report["gap"] = gap._asdict() | {"beats_probe": bool(gap.beats_probe)}
    if as_json:
        print_json(report)
    else:
        _print_probes(report)
    return 0


def _print_probes(report: Mapping[str, Any]) -> None:
    whole = report["all_sites"]
    together = {"site": "all sites together", "r2_low": whole["low"], "r2_high": whole["high"]}
    rows = [*report["sites"], whole | together]
    width = max(len(row["site"]) for row in rows)
    for row in rows:
        between = f" ({row['r2_low']:.3f} to {row['r2_high']:.3f})"
        shown = _r2(row["r2"]) + between * math.isfinite(row["r2"])
        print(f"{row['site']:<{width}}  R² {shown}, untrained {_r2(row['untrained_r2'])}")
    for name, r2 in report["controls"].items():
        print(f"{name} alone: R² {_r2(r2)}")
    if (gap := report.get("gap")) is not None:
        print(
            f"loss minus floor, mean over positions: {gap['gap']:.4f} ± {gap['gap_stderr']:.4f} "
            f"nats; if predicted from the belief probed at {report['sites'][-1]['site']}: "
            f"{gap['not_represented']:.4f} ± {gap['not_represented_stderr']:.4f}"
        )
        if gap["beats_probe"]:
            print("the model predicts better than the probed belief: it uses what the probe misses")
    print(
        f"{show_percent(report['repeated_pasts'])} of the tested pasts were also fitted; at the "
        f"others, all sites together: R² {_r2(whole['new_r2'])}, "
        f"untrained {_r2(whole['untrained_new_r2'])}"
    )


def _r2(value: float) -> str:
    return "not defined" if math.isnan(value) else f"{value:.3f}"
