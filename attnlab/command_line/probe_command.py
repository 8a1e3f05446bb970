"""The command `probe`: how well a model's activations give the exact belief of its process."""

import argparse
import json
import math
from typing import Any

from attnlab.command_line.parser import CommandProgress
from attnlab.command_line.train_command import run_to_read
from attnlab.configuration.number_text import show_percent
from attnlab.inspection import (
    TARGETS,
    BeliefGap,
    BeliefProbes,
    activations,
    belief_gap,
    prepare_probes,
    probe_all_sites,
    probe_sites,
)
from attnlab.inspection.belief_probes import LAST_TOKEN, NEXT_TOKEN, check_can_probe
from attnlab.runs.option_texts import experiment_parts
from attnlab.training.experiment import build_model


def add_probe(commands: argparse._SubParsersAction) -> None:
    """Add the command `probe`."""
    probing = commands.add_parser(
        "probe", add_help=False, help="train or load a model, and probe it for the exact belief"
    )
    probing.add_argument("--preset", metavar="NAME", help="train this preset")
    probing.add_argument("--load", metavar="FILE", help="probe the run of a file")
    probing.add_argument(
        "--target", choices=list(TARGETS), default="belief", help="what to probe for"
    )
    probing.add_argument("--json", action="store_true", help="print one JSON object")
    probing.add_options(experiment_parts())


def run_probe(parsed: dict[str, Any], progress: CommandProgress) -> int:
    """Print R² of a probe at every site, beside its controls."""
    as_json, target = parsed.pop("json"), parsed.pop("target")
    ended = run_to_read(parsed, progress, lambda experiment: check_can_probe(experiment, target))
    progress.words = "while fitting the probes"
    experiment, model = ended.experiment, ended.state.model
    setup = prepare_probes(experiment, target)
    sites = probe_sites(setup, model)
    whole, before = (probe_all_sites(setup, each) for each in (model, build_model(experiment)))
    found = BeliefProbes(sites, whole, setup.controls, before.score)
    at_new = [setup.score_of_new(each).r2 for each in (whole, before)]
    gap = None
    if target == "belief":
        last = sites[-1]
        rows = activations(model, setup.test.sequences, [last.site])[last.site]
        gap = belief_gap(experiment.generator, model, last.trained.probe, rows, setup.test)
    if as_json:
        record = _record(found, target) | ({} if gap is None else {"gap": gap._asdict()})
        record["repeated_pasts"] = float(setup.repeated.mean())
        record["all_sites"] |= dict(zip(("new_r2", "untrained_new_r2"), at_new, strict=True))
        print(json.dumps(_defined(record)))
    else:
        _print(found, gap)
        print(
            f"{show_percent(setup.repeated.mean())} of the tested pasts were also fitted; at the "
            f"others, all sites together: R² {_r2(at_new[0])}, untrained {_r2(at_new[1])}"
        )
    return 0


def _defined(value: Any) -> Any:
    """Replace R² of a constant target, which is not defined, by None: JSON has no NaN."""
    if isinstance(value, dict):
        return {name: _defined(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_defined(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _record(found: BeliefProbes, target: str) -> dict[str, Any]:
    controls = {name: score.r2 for name, score in found.controls.items()}
    sites = []
    for each in found.sites:
        layer = each.site.partition(".")[2]
        sites.append(
            {
                "site": each.site,
                "layer": int(layer) if layer else None,
                "r2": each.trained.score.r2,
                "r2_low": each.trained.score.low,
                "r2_high": each.trained.score.high,
                "untrained_r2": each.untrained.r2,
                "next_token_r2": controls[NEXT_TOKEN],
                "last_token_r2": controls[LAST_TOKEN],
                "by_position": [score.r2 for score in each.trained.by_position],
            }
        )
    whole = found.all_sites.score._asdict() | {"untrained_r2": found.untrained_all_sites.r2}
    return {"target": target, "sites": sites, "all_sites": whole, "controls": controls}


def _r2(value: float) -> str:
    return "not defined" if math.isnan(value) else f"{value:.3f}"


def _print(found: BeliefProbes, gap: BeliefGap | None) -> None:
    rows = [(each.site, each.trained.score, each.untrained.r2) for each in found.sites]
    rows.append(("all sites together", found.all_sites.score, found.untrained_all_sites.r2))
    width = max(len(site) for site, *_ in rows)
    for site, score, untrained in rows:
        between = f" ({score.low:.3f} to {score.high:.3f})" if math.isfinite(score.r2) else ""
        print(f"{site:<{width}}  R² {_r2(score.r2)}{between}, untrained {_r2(untrained)}")
    for name, score in found.controls.items():
        print(f"{name} alone: R² {_r2(score.r2)}")
    if gap is not None:
        print(
            f"loss minus floor, mean over positions: {gap.gap:.4f} ± {gap.gap_stderr:.4f} nats; if "
            f"predicted from the belief probed at {found.sites[-1].site}: "
            f"{gap.not_represented:.4f} ± {gap.not_represented_stderr:.4f}"
        )
        if gap.beats_probe:
            print("the model predicts better than the probed belief: it uses what the probe misses")
