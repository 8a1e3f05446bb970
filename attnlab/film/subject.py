"""What a film shows beside the sequence: beliefs over hidden states, or the loss by position."""

import base64
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractGenerator
from attnlab.inspection import (
    References,
    expected_loss,
    probe_sites,
    probs_by_query,
    references_of,
)
from attnlab.inspection.belief_planes import Plane, belief_colours, plane_of
from attnlab.inspection.belief_probes import (
    ProbeSetup,
    SiteProbe,
    check_can_probe,
    distinct_pasts,
    prepare_probes,
)
from attnlab.inspection.predictions import check_predicts_all
from attnlab.inspection.probes import Score, show_score
from attnlab.inspection.strategies import RULE_KNOWN, has_references, rule_loss
from attnlab.models import AbstractModel
from attnlab.models.sites import site_title
from attnlab.training.evaluation import LossByPosition
from attnlab.training.experiment import Experiment

# The most different pasts whose beliefs are drawn.
_MOST_PASTS = 3_000
# The drawn part of the plane: probes may read beliefs that are no probabilities.
_LOW, _HIGH = -0.1, 1.1
# What the pictures show, by the target of the probe.
NOUNS = MappingProxyType(
    {
        "belief": "beliefs",
        "next token": "next-token distributions",
        "last token": "last tokens",
        "hidden state": "hidden states",
    }
)


class Subject(NamedTuple):
    """What a film shows of each model beside its attention.

    Attributes:
        name: The player's name of the picture.
        fixed: What all frames share, as JSON has it.
        measure: Returns what is measured of a model.
        keep: Returns the part of it that is kept for each step.
        draw: Returns what a frame shows of the kept part, as JSON has it.
        of: The sequences and their exact results, which `measure` depends on.
    """

    name: str
    fixed: dict[str, Any]
    measure: Callable[[AbstractModel], Any]
    keep: Callable[[Any], Any]
    draw: Callable[[Any], dict[str, Any]]
    of: ProbeSetup | References


class BeliefChoice(NamedTuple):
    """Which beliefs to show.

    Attributes:
        target: What a probe reads from the activations, a name of `TARGETS`.
        site: The site of the activations, or "" for the last one.
        position: The position, from 1; None for all of them.
        corners: Three outputs of the probe at the corners of the picture; none for the default.
    """

    target: str = "belief"
    site: str = ""
    position: int | None = None
    corners: tuple[int, ...] = ()


_DEFAULT = BeliefChoice()


class Probed(NamedTuple):
    """What a probe finds at one site.

    Attributes:
        score: Its R², at all positions.
        by_position: R² at each position alone.
        predicted: Its predictions after different pasts.
    """

    score: Score
    by_position: tuple[Score, ...]
    predicted: Float[np.ndarray, "past outputs"]


def subject_of(
    experiment: Experiment,
    choice: BeliefChoice = _DEFAULT,
    *,
    compute: Callable[..., Any] = lambda function, *arguments: function(*arguments),
) -> Subject | None:
    """Return what a film of a run shows beside the sequence; None if there is no such thing.

    Args:
        experiment: The settings of the run.
        choice: Which beliefs to show, if there are any.
        compute: Returns the result of a slow function with these arguments.
    """
    process, length = experiment.generator, experiment.length
    if _passes(check_can_probe, experiment, choice.target):
        setup = compute(prepare_probes, experiment, choice.target)
        return belief_subject(experiment, setup, choice)
    if has_references(process) and _passes(check_predicts_all, experiment):
        references = compute(references_of, process, length, experiment.seed)
        return loss_subject(references, process.position_word)
    return None


def _passes(check: Callable[..., None], *arguments: Any) -> bool:
    try:
        check(*arguments)
    except OptionError:
        return False
    return True


def probed_outputs(process: AbstractGenerator, target: str) -> Sequence[str]:
    """Return the names of what a probe of a target predicts."""
    is_of_states = target in ("belief", "hidden state")
    return process.hidden_states if is_of_states else process.vocabulary.symbols


def belief_subject(experiment: Experiment, setup: ProbeSetup, choice: BeliefChoice) -> Subject:
    """Return exact beliefs, and those that a linear probe reads from a model at one site."""
    exact = setup.targets[1]
    outputs = probed_outputs(experiment.generator, choice.target)
    plane = plane_of(outputs, exact, choice.corners)
    places = distinct_pasts(setup.test.sequences)
    rows, ends = np.array(places[:_MOST_PASTS]).T
    # What is kept does not depend on the position, so that another one needs no new probes.
    shown = np.full(len(ends), True) if choice.position is None else ends == choice.position - 1
    exact = exact[rows, ends][shown]
    points = partial(_points, plane, ends=ends[shown], length=experiment.length)
    noun = NOUNS[choice.target]
    few = f" of {len(places):,}" * (len(rows) < len(places))
    words = (
        f"Each dot is one of {len(exact):,}{few} pasts, in the same colour in both pictures. A "
        f"linear probe reads the {noun} from the model; ± is half of a 95 % interval."
        f"{_about(plane, len(outputs))}"
    )

    def keep(sites: Sequence[SiteProbe]) -> dict[str, Probed]:
        return {
            site: Probed(
                score=each.score,
                by_position=each.by_position,
                predicted=each.predicted[rows, ends].astype(np.float32),
            )
            for site, each, _ in sites
        }

    def draw(found: dict[str, Probed]) -> dict[str, Any]:
        site = choice.site or list(found)[-1]
        score = found[site].score
        if choice.position is not None:
            score = found[site].by_position[choice.position - 1]
        title = site_title(site)
        where = "at the output" if title == "output" else f"after {title}"
        return {
            "points": _packed(points(found[site].predicted[shown])),
            "title": f"{where}: R² {show_score(score)}",
        }

    return Subject(
        name="beliefs",
        fixed={
            "exact": _packed(points(exact)),
            "colours": _in_base64(belief_colours(exact).round().astype(np.uint8)),
            "corners": [
                (float(x), float(y), name)
                for (x, y), name in zip(plane.corners, plane.names, strict=True)
            ],
            "title": f"exact {noun}",
            "words": words,
        },
        measure=partial(probe_sites, setup),
        keep=keep,
        draw=draw,
        of=setup,
    )


def _about(plane: Plane, outputs: int) -> str:
    """Return what a plane shows of more or fewer than three outputs."""
    if plane.by_position:
        return " Later ones are lower."
    if not plane.names:
        return f" Shown are the first two principal components of {outputs} dimensions."
    return f" The other {outputs - 3} corners are at the centre." if outputs > 3 else ""


def _points(plane: Plane, values: np.ndarray, *, ends: np.ndarray, length: int) -> np.ndarray:
    """Return the coordinates of beliefs after pasts that end at some positions."""
    found = plane._replace(by_position=False).of(values[:, None])
    if plane.by_position:
        found[:, 1] = 1 - (ends + 0.5) / length
    return found


def _packed(points: np.ndarray) -> str:
    """Return coordinates in base 64, two bytes for each, of the drawn part of the plane."""
    shares = (np.nan_to_num(points).clip(_LOW, _HIGH) - _LOW) / (_HIGH - _LOW)
    return _in_base64((65_535 * shares).round().astype("<u2"))


def _in_base64(numbers: np.ndarray) -> str:
    return base64.b64encode(numbers.tobytes()).decode()


def loss_subject(references: References, word: str) -> Subject:
    """Return the loss at each position of a model, and of the reference predictors."""
    losses = {
        name: expected_loss(references, probs)
        for name, probs in zip(references.names, references.probs, strict=True)
    }
    known = rule_loss(references)
    if known is not None:
        losses[RULE_KNOWN] = known

    def measure(model: AbstractModel) -> list[float | None]:
        probs = probs_by_query(model, references.sequences[:, :-1])
        return _nats(expected_loss(references, probs))

    return Subject(
        name="losses",
        fixed={
            "title": f"loss by {word} (nats)",
            "places": [place + 1 for place in losses[references.names[0]].positions],
            "curves": [[name, _nats(each)] for name, each in losses.items()],
        },
        measure=measure,
        keep=lambda found: found,
        draw=lambda found: {"nats": found},
        of=references,
    )


def _nats(found: LossByPosition) -> list[float | None]:
    """Return the losses; None for those of a diverged model."""
    return [round(float(each), 4) if np.isfinite(each) else None for each in found.nll]
