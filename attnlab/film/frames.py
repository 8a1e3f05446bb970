"""What a film shows: results of a run's kept models on one sequence, beside the truth."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.configuration.options import OptionError, present
from attnlab.film.sequence import ShownSequence, shown_sequence, true_probs, true_sources_of
from attnlab.film.subject import Subject, subject_of
from attnlab.generators import is_task
from attnlab.inspection import depends_on, in_words
from attnlab.inspection.what_happened import happened_in
from attnlab.models import AbstractModel
from attnlab.models.inside import head_name, heads_of, mean_trace, trace_of
from attnlab.optimum import (
    FEW_BELIEFS,
    Baseline,
    baselines_of,
    informative_of,
    token_marginals,
)
from attnlab.runs.history import History
from attnlab.runs.run import Run
from attnlab.training.experiment import Experiment, draw_data

# The most cells of all maps in all frames, a byte each, and the fewest frames before maps lose
# their rows.
_MOST_CELLS, _FEWEST_FRAMES = 1_500_000, 16
_MOST_MAPS = 8
# The most true sources of a query, on average, that are shown.
_MOST_SOURCES = 2
# The most models that are measured, which takes up to a second each.
MOST_MEASURED = 32


class HeadMap(NamedTuple):
    """One head, or the influence of each position.

    `is_predicting` is whether its keys are those of the sequence, and the query that predicts is
    among its rows; in a model with an encoder, only cross-attention is. `rows` are the queries of
    the rows, from 0. `is_trained` is whether all rows enter the loss. `true` are the cells of
    the tokens that predictions are read from, if these are defined.
    """

    name: str
    is_predicting: bool
    rows: tuple[int, ...]
    mask: Bool[np.ndarray, "row key"]
    is_trained: bool = True
    true: Bool[np.ndarray, "row key"] | None = None


class Frame(NamedTuple):
    """A kept model on the sequence.

    `probs` are its probabilities of every token, `patterns` the shares of each map, `(row, key)`.
    """

    step: int
    probs: Float[np.ndarray, " vocab"]
    patterns: tuple[Float[np.ndarray, "row key"], ...]


class Scene(NamedTuple):
    """What all frames of a film share.

    Attributes:
        experiment: The settings of the run.
        sequence: The sequence that the models read.
        truth: The true probability of every token that may follow it, once it is known.
        maps: The heads, or the influence of each position for a model without heads.
        heads: Index of the map in a trace, and of the head in it, for each of `maps`.
        marginals: The distribution of each token, for influence.
        left_out: What was left out to bound the size, in sentences.
    """

    experiment: Experiment
    sequence: ShownSequence
    truth: Float[np.ndarray, " vocab"] | None
    maps: tuple[HeadMap, ...]
    heads: tuple[tuple[int, int], ...]
    marginals: Float[np.ndarray, "length vocab"] | None
    left_out: str

    @property
    def is_attention(self) -> bool:
        """Whether the maps are attention."""
        return bool(self.heads)

    @property
    def most_frames(self) -> int:
        """The number of frames that a film of this scene may have."""
        return max(2, _MOST_CELLS // max(1, sum(each.mask.size for each in self.maps)))

    def frame(self, step: int, model: AbstractModel) -> Frame:
        """Return the frame of a model."""
        probs = self.sequence.probs(self.experiment, model)
        if self.heads:
            found = trace_of(model, self.sequence.tokens).attention
            patterns = [
                found[place].pattern[head][list(each.rows)]
                for each, (place, head) in zip(self.maps, self.heads, strict=True)
            ]
        else:
            patterns = [self._influence(model) for _ in self.maps]
        return Frame(step, probs, tuple(patterns))

    def _influence(self, model: AbstractModel) -> Float[np.ndarray, "1 key"]:
        tokens, marginals = self.sequence.tokens, present(self.marginals)
        mean, _ = depends_on(self.experiment, model, tokens[None], marginals)
        return mean[[self.sequence.query if len(mean) == len(tokens) else -1]]


def scene_of(
    experiment: Experiment,
    tokens: Int[np.ndarray, " length"],
    model: AbstractModel,
    *,
    informative: Sequence[int],
    truth: Float[np.ndarray, "positions vocab"] | None,
    marginals: Float[np.ndarray, "length vocab"] | None,
    frames: int = _FEWEST_FRAMES,
) -> Scene:
    """Return what all frames of a film share.

    Args:
        experiment: The settings of the run.
        tokens: The visible tokens of the sequence.
        model: Any model of the run.
        informative: The positions, from 1, that the prediction depends on in all sequences.
        truth: The result of `true_probs`, if it is known.
        marginals: The distribution of each token, if it is known; a model without heads needs it.
        frames: The number of frames wanted.
    """
    sequence = shown_sequence(experiment, tokens, informative)
    heads, words = (), []
    if model.has_heads:
        maps, heads, words = _head_maps(experiment, sequence, model, frames)
    else:
        maps = _influence_maps(experiment, sequence) if marginals is not None else ()
    now = None if truth is None else truth[sequence.seen]
    return Scene(experiment, sequence, now, maps, heads, marginals, " ".join(words))


def _head_maps(
    experiment: Experiment, sequence: ShownSequence, model: AbstractModel, frames: int
) -> tuple[tuple[HeadMap, ...], tuple[tuple[int, int], ...], list[str]]:
    """Return the maps of the last heads, their places in a trace, and what was left out."""
    trace = trace_of(model, sequence.tokens)
    heads, words, several = heads_of(trace), [], len(trace.attention) > 1
    kinds = {found.kind for found in trace.attention}
    if len(heads) > _MOST_MAPS:
        words.append(f"The film has the last {_MOST_MAPS} of {len(heads)} heads.")
        heads = heads[-_MOST_MAPS:]
    rows = tuple(range(experiment.length))
    cells = sum(trace.attention[place].mask.size for place, _ in heads)
    if cells * min(frames, _FEWEST_FRAMES) > _MOST_CELLS:
        word = experiment.generator.position_word
        words.append(f"Of each head, it has the row of {word} {sequence.query + 1}.")
        rows = (sequence.query,)
    true = _true_sources(experiment, sequence)
    maps = []
    for place, head in heads:
        found = trace.attention[place]
        reads_source = found.kind == "cross" or "cross" not in kinds
        is_last = place == len(trace.attention) - 1
        maps.append(
            HeadMap(
                name=head_name(found, head) if several else f"head {head + 1}",
                is_predicting=found.kind == ("cross" if "cross" in kinds else "self"),
                rows=rows,
                mask=np.asarray(found.mask)[list(rows)],
                # All rows of earlier layers are trained, since the last layer reads their output.
                is_trained=experiment.training.loss != "last" or not is_last,
                true=None if true is None or not reads_source else true[list(rows)],
            )
        )
    return tuple(maps), tuple(heads), words


def _true_sources(
    experiment: Experiment, sequence: ShownSequence
) -> Bool[np.ndarray, "query key"] | None:
    """Return the tokens that each query's prediction is read from, if these are defined and few.

    In a task, they are the source tokens of each target token.
    """
    process, length = experiment.generator, experiment.length
    if not is_task(process):
        sources = true_sources_of(experiment, sequence.tokens)
        # Frames around most of the cells would hide them.
        return sources if sources is not None and sources.sum() <= _MOST_SOURCES * length else None
    count = process.prompt_length()
    taken = np.asarray(process.true_alignment(jnp.asarray(sequence.tokens[:count]))) > 0
    true = np.zeros((length, length), bool)
    true[count - 1 :, : taken.shape[1]] = taken
    return true


def _influence_maps(experiment: Experiment, sequence: ShownSequence) -> tuple[HeadMap, ...]:
    """Return the map of the influence of each position on the prediction; none in a task."""
    if experiment.generator.prompt_length():
        return ()
    length = experiment.length
    seen = np.arange(length) <= (sequence.query if experiment.model.causal else length)
    return (HeadMap("influence", True, (sequence.query,), seen[None]),)


class Film(NamedTuple):
    """A run's history on one sequence.

    Attributes:
        scene: What all frames share.
        frames: The frames, in the order of their steps.
        history: The tests and losses of the run.
        baselines: The baselines of the process, from the uniform guess to the floor.
        subject: What is shown beside the sequence, if there is such a thing.
        measured: What `subject` keeps of at most 32 of the models, by step.
        about: Sentences about what the run has learned.
        left_out: What was left out to bound the size, in sentences.
    """

    scene: Scene
    frames: tuple[Frame, ...]
    history: History
    baselines: tuple[Baseline, ...]
    subject: Subject | None
    measured: Mapping[int, Any]
    about: str
    left_out: str


def film_of(run: Run) -> Film:
    """Return the film of a run, on its first probe sequence.

    Models of up to 8 heads are shown at every kept step. With more heads, positions or steps, some
    are left out, so that a film has at most 1,500,000 cells, a byte each.

    Raises:
        OptionError: If the run was never tested.
    """
    experiment, history = run.experiment, run.history
    if not history.tests:
        raise OptionError("run", experiment.model.name, "never tested", "Train it with attnlab")
    process, length = experiment.generator, experiment.length
    probes = np.asarray(draw_data(experiment).probes)[:, :-1]
    kept = history.checkpoints or ((int(run.state.step), run.state.model),)
    last = kept[-1][1]
    scene = scene_of(
        experiment,
        probes[0],
        last,
        informative=(np.flatnonzero(informative_of(process, length)) + 1).tolist(),
        truth=true_probs(process, tuple(map(int, probes[0]))),
        marginals=None if last.has_heads else token_marginals(process, length),
        frames=len(kept),
    )
    shown = some(kept, scene.most_frames)
    subject = subject_of(experiment)
    measured = {}
    if subject is not None:
        few = some(kept, MOST_MEASURED)
        measured = {step: subject.keep(subject.measure(model)) for step, model in few}
    fewer = f" It shows {len(shown)} of {len(kept)} kept steps." * (len(shown) < len(kept))
    return Film(
        scene=scene,
        frames=tuple(scene.frame(step, model) for step, model in shown),
        history=history,
        baselines=baselines_of(process, length, FEW_BELIEFS),
        subject=subject,
        measured=measured,
        about=about_run(run, probes),
        left_out=f"{scene.left_out}{fewer}".strip(),
    )


def about_run(run: Run, probes: Int[np.ndarray, "probes length"]) -> str:
    """Return sentences about what a run has learned; its attention is the mean over the probes."""
    experiment, history = run.experiment, run.history
    process, length = experiment.generator, experiment.length
    happened = happened_in(
        experiment,
        history.tests,
        baselines_of(process, length, FEW_BELIEFS),
        informative=informative_of(process, length),
        trace=mean_trace(run.state.model, probes),
        losses=history.losses,
    )
    return in_words(
        happened,
        experiment.model,
        learning_rate=experiment.training.learning_rate,
        word=process.position_word,
    )


def some(kept: Sequence[Any], most: int) -> list[Any]:
    """Return at most that many, evenly spaced, with the first and the last one."""
    places = np.linspace(0, len(kept) - 1, min(len(kept), most)).round().astype(int)
    return [kept[place] for place in places]
