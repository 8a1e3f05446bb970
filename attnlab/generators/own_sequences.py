"""`sequences`: the user's own sequences, with the best of several reference predictors."""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.number_text import show_count
from attnlab.configuration.options import Finding, OptionError, option, present
from attnlab.generators.base import AbstractGenerator, Draw, Fitted, HeldOut, Shared
from attnlab.generators.context_tree import CTW, Predictor, Result, predictors
from attnlab.generators.own_text import (
    AS_WRITTEN,
    CHARACTERS,
    LAYOUTS,
    LINES,
    LOWER_CASE,
    MOST_TEXT,
    TOKENS,
    Understood,
    read_sequences,
    read_text,
)
from attnlab.generators.vocabulary import Vocabulary

# One block in five is held out. There are so many blocks of about so many tokens, or one a line.
_ONE_IN, _FEWEST_BLOCKS, _MOST_BLOCKS, _BLOCK, _SHORTEST_BLOCK = 5, 25, 200, 200, 20
# Windows of fewer held-out blocks say nothing about their error, and a test has 100 sequences.
_FEWEST_TESTED, _FEWEST_WINDOWS = 3, 100
# A sample, so that the process can be tried.
_SAMPLE = """
the lake lies low between the hills, and the hills are old. in the morning there is mist on the
water and no one can see the other side. then the sun comes over the eastern hill and the mist goes
up like smoke from a slow fire. a heron stands in the reeds and does not move. it waits for the
fish, and the fish wait for the flies, and the flies wait for nothing at all. by noon the water is
blue and warm. children come down the path with towels and bread, and they stay until someone calls
them home. an old man rents out three boats. two of them are red and one is green, and everyone
wants the green one. he says that the green boat leaks, which is true, but no one minds. in the
evening the wind drops and the lake is a mirror again. the hills stand on their heads in it. one
star comes out, and then another, and somewhere on the far side a dog barks at its own echo. the old
man pulls his boats up on the stones and counts them. one, two, three. he has counted them every
night for thirty years, and there have always been three, but he likes to be sure. then the lake is
dark, and the only sound is the small sound of the water on the stones, which never stops and which
no one who lives here can hear any more. in winter the boats lie under a cover of straw and the path
is white. the ice is thick enough to walk on by the end of the year. then the children come down the
path again, with skates and tea, and they shout as they did in the summer. the old man sits by his
stove and mends a net that needs no mending. he hears them shout and he knows without looking that
the sun is low, that the shadows are long, and that it will soon be time for someone to call them
home. in spring the ice breaks in a single night, with a noise like a great door. the heron is back
in the reeds before the last of it is gone. the old man takes the straw off the boats. he paints the
red ones red and the green one green, and he looks for the leak and does not find it, as he has not
found it for thirty years. then he pulls them down to the water and counts them again.
"""


class Blocks(NamedTuple):
    """Where blocks begin in the tokens, and their sizes."""

    begin: Int[np.ndarray, " blocks"]
    size: Int[np.ndarray, " blocks"]

    def windows(self, tokens: Int[np.ndarray, " tokens"], length: int) -> HeldOut:
        """Return all windows of `length` tokens."""
        counts = np.maximum(self.size - length + 1, 0)
        block = np.repeat(np.arange(counts.size), counts)
        return HeldOut(tokens, self.begin[block] + _before(counts), block, length)


def _before(counts: Int[np.ndarray, " groups"]) -> Int[np.ndarray, " members"]:
    """Return how many members of its group are before each member, for groups of these sizes."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


class SequencesBelief(NamedTuple):
    """The state of the best reference predictor, its tables, and the training sequences."""

    log_probs: Shared
    after: Shared
    tokens: Shared
    begin: Shared
    size: Shared
    state: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class OwnSequences(AbstractGenerator):
    """Your own sequences: a text with one sequence a line, or one long stream.

    Sequences are cut into blocks, of which every fifth is held out, at random. Test sequences are
    windows of these and training sequences windows of the others, so that they share no token.
    There is no law: predictions are those of the best of several reference predictors. They are
    fitted and it is chosen on the training blocks, so that the held-out blocks measure it without a
    bias. A model may be better.

    Raises `OptionError` for a text that is too long, is not plain text, or has fewer than two or
    more than 64 symbols; and for a length that leaves too few held-out windows.

    References:
        See `attnlab.generators.context_tree`.
    """

    name: ClassVar[str] = "sequences"
    summary: ClassVar[str] = "Your own sequences, from a text or a CSV file."
    position_word: ClassVar[str] = "token"
    has_law: ClassVar[bool] = False

    text: str = option(
        " ".join(_SAMPLE.split()), "Your sequences, as plain text or CSV.", long_text=MOST_TEXT
    )
    layout: str = option(
        LINES,
        "lines: each line is a sequence. stream: the lines are one long sequence.",
        choices=LAYOUTS,
    )
    tokens: str = option(
        CHARACTERS,
        "What a token is: each character, each word, or what commas, semicolons or tabs separate.",
        choices=TOKENS,
    )
    letters: str = option(
        AS_WRITTEN, "Whether A and a are different tokens.", choices=(AS_WRITTEN, LOWER_CASE)
    )

    visible: int = dataclasses.field(default=16)

    def __post_init__(self):
        super().__post_init__()
        _ = self.understood

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> "OwnSequences":
        """Return the sequences of a text or CSV file; `options` are the other options.

        Raises:
            OptionError: If the file is too large, or has no such sequences.
            OSError: If it cannot be read.
        """
        return cls(text=read_text(path), **options)

    @property
    def understood(self) -> Understood:
        """Return the sequences, and the lines that were not understood."""
        return read_sequences(self.text, self.layout, self.tokens, self.letters)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the symbols of the text, sorted."""
        return self.understood.vocabulary

    def at_length(self, length: int) -> "OwnSequences":
        training, held = _parts(self.understood)
        windows = np.maximum(held.size[:, None] - np.arange(1, training.size.max(initial=1)), 0)
        # Lengths at which there are windows to train on and enough to test.
        enough = windows.sum(axis=0) >= _FEWEST_WINDOWS
        most = int((enough & ((windows > 0).sum(axis=0) >= _FEWEST_TESTED)).sum())
        if length > most:
            problem = f"fewer than {_FEWEST_WINDOWS} held-out windows are that long"
            shorter = f"Choose at most {most}, a" if most else "Give a"
            raise OptionError("length", length, problem, f"{shorter} longer text or longer lines")
        return dataclasses.replace(self, visible=length)

    def held_out(self, length: int) -> HeldOut:
        return _parts(self.understood)[1].windows(self.understood.tokens, length)

    def findings(self, length: int) -> Iterator[Finding]:
        if problems := self.understood.problems:
            yield Finding("text", f"{show_count(len(problems), 'line')} left out. {problems[0]}")

    def rule_in_words(self, length: int) -> str:
        return "Your own sequences: no one knows the rule, and a model may beat every reference."

    def fitted(self) -> Fitted:
        return _fitted(self)

    def start(self) -> SequencesBelief:
        training, _ = _parts(self.understood)
        shared = (*self.fitted().predictor, self.understood.tokens, *training)
        return SequencesBelief(*(Shared(jnp.asarray(x)) for x in shared), state=jnp.int32(0))

    def log_probs(self, belief: SequencesBelief) -> Float[Array, " vocab"]:
        return belief.log_probs.value[belief.state]

    def update(self, belief: SequencesBelief, token: Int[Array, ""]) -> SequencesBelief:
        return belief._replace(state=belief.after.value[belief.state, token])

    def draw(self, start: SequencesBelief, key: Key[Array, ""], length: int) -> Draw:
        """Return a window of the training blocks, all equally likely."""
        counts = jnp.maximum(start.size.value - length + 1, 0)
        before = jnp.cumsum(counts)
        number = jr.randint(key, (), 0, before[-1])
        block = jnp.searchsorted(before, number, side="right")
        begin = start.begin.value[block] + number - (before - counts)[block]
        return Draw(start.tokens.value[begin + jnp.arange(length)])


def _parts(understood: Understood) -> tuple[Blocks, Blocks]:
    """Return the training blocks and the held-out blocks; neighbours in training are joined."""
    lengths, total = understood.lengths, understood.tokens.size
    count = min(max(total // _BLOCK, _FEWEST_BLOCKS), _MOST_BLOCKS)
    pieces = np.maximum(1, np.round(lengths / max(total / count, _SHORTEST_BLOCK))).astype(int)
    sequence = np.repeat(np.arange(len(lengths)), pieces)
    first = np.cumsum(lengths) - lengths
    begin = first[sequence] + _before(pieces) * lengths[sequence] // pieces[sequence]
    sizes, number = np.diff(np.append(begin, total)), np.arange(len(sequence))
    groups = np.random.default_rng(0).integers(_ONE_IN, size=-(-len(sequence) // _ONE_IN))
    held = number % _ONE_IN == groups[number // _ONE_IN]
    # A training block continues the one before unless that is held out or of another sequence.
    joins = np.append(False, ~held[1:] & ~held[:-1] & (sequence[1:] == sequence[:-1]))
    opens = ~held & ~joins
    joined = np.bincount(np.cumsum(opens)[~held] - 1, sizes[~held]).astype(np.int64)
    return Blocks(begin[opens], joined), Blocks(begin[held], sizes[held])


@functools.lru_cache(maxsize=4)
def _fitted(generator: OwnSequences) -> Fitted:
    """Return the best reference predictor for the visible length, fitted to the training blocks.

    It has the lowest loss on every fifth training block when it is fitted to the others.
    """
    tokens, length, vocab = (
        generator.understood.tokens,
        generator.visible,
        generator.vocabulary.size,
    )
    training, held = _parts(generator.understood)

    def tested(fit: Blocks, test: Blocks) -> Iterator[tuple[str, Predictor, Result]]:
        windows = test.windows(tokens, length + 1).sequences()
        of_fit = tokens[fit.windows(tokens, 1).begin]
        for name, predictor in predictors(of_fit, _before(fit.size), vocab, length):
            *_, last = predictor.results(windows)
            yield name, predictor, last

    chosen = np.arange(len(training.size)) % _ONE_IN == 0
    inner, outer = (Blocks(*(part[rows] for part in training)) for rows in (~chosen, chosen))
    losses = {}
    if inner.size.size and outer.size.max() > length:
        losses = {name: result[0].mean() for name, _, result in tested(inner, outer)}
    results, best = {}, ("", None, np.inf)
    for name, predictor, result in tested(training, held):
        results[name] = result
        # Of few blocks there are no losses to choose by.
        loss = losses.get(name, 0.0 if name == CTW else np.inf)
        best = min(best, (name, predictor, loss), key=lambda each: each[2])
    name, predictor, _ = best
    return Fitted(name, present(predictor), results, held.windows(tokens, length + 1))
