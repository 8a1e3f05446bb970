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
    possible_pasts,
    prepare_probes,
    targets_of,
)
from attnlab.inspection.predictions import check_predicts_all
from attnlab.inspection.probes import Score, show_score
from attnlab.inspection.strategies import RULE_KNOWN, has_references, rule_loss
from attnlab.models import AbstractModel
from attnlab.models.sites import site_title
from attnlab.training.evaluation import LossByPosition
from attnlab.training.experiment import Experiment

# The most different pasts whose beliefs are drawn: for three tokens, those of up to seven. Of fewer
# tokens than these they would show little, and pasts of the sequences are drawn instead.
_MOST_PASTS, _FEWEST_TOKENS = 3_300, 3
# Of long sequences there are fewer, since each takes the time of a whole sequence.
_MOST_TOKENS = 40_000
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
        # Hidden states are known of drawn sequences alone.
        if choice.target != "hidden state":
            pasts = compute(
                possible_pasts, process, length, min(_MOST_PASTS, _MOST_TOKENS // length)
            )
            if pasts.beliefs.shape[1] >= min(_FEWEST_TOKENS, length):
                setup = setup._replace(pasts=pasts)
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
    sampled, pasts, word = setup.targets[1], setup.pasts, experiment.generator.position_word
    outputs = probed_outputs(experiment.generator, choice.target)
    plane = plane_of(outputs, sampled, choice.corners)
    depth = 0 if pasts is None else pasts.beliefs.shape[1]
    every = np.array(distinct_pasts(pasts.sequences[:, :depth]) if pasts else [], int).reshape(
        -1, 2
    )
    # Longer pasts are those of the sequences.
    found = distinct_pasts(setup.test.sequences, slice(depth, None))
    longer = np.array(found[: _MOST_PASTS // (2 if depth else 1)], int).reshape(-1, 2)

    def at_dots(of_pasts: np.ndarray | None, of_sequences: np.ndarray) -> np.ndarray:
        parts = [] if of_pasts is None else [of_pasts[tuple(every.T)]]
        return np.concatenate([*parts, of_sequences[tuple(longer.T)]])

    ends = np.concatenate([every[:, 1], longer[:, 1]])
    # What is kept does not depend on the position, so that another one needs no new probes.
    shown = ends < depth if depth else np.full(len(ends), True)
    if choice.position is not None:
        shown = ends == choice.position - 1
    exact = at_dots(targets_of(pasts, choice.target) if pasts else None, sampled)[shown]
    points = partial(_points, plane, ends=ends[shown], length=experiment.length)
    noun = NOUNS[choice.target]
    which = f"{len(exact):,} pasts"
    if choice.position is None and depth:
        which = f"the {len(exact):,} possible pasts of up to {depth} {word}s"
    elif choice.position is None and len(longer) < len(found):
        which = f"{len(exact):,} of {len(found):,} pasts"
    words = (
        f"Each point is one of {which}. Left: the true {noun}. Right: what a linear probe reads "
        f"from the model, in the same colours.{_about(plane, len(outputs))}"
    )

    def keep(sites: Sequence[SiteProbe]) -> dict[str, Probed]:
        return {
            each.site: Probed(
                score=each.trained.score,
                by_position=each.trained.by_position,
                predicted=at_dots(each.after, each.trained.predicted).astype(np.float32),
            )
            for each in sites
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
            "title": f"model, {where}: R² {show_score(score).partition(' ±')[0]}",
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
            "title": f"truth: exact {noun}",
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
    certain = " The nearer to a corner, the surer it is."
    return certain + f" The other {outputs - 3} corners are at the centre." * (outputs > 3)


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
