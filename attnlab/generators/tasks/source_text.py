"""The source of a task as text: as people type it, and as it is shown."""

from collections import Counter
from collections.abc import Iterable
from typing import SupportsInt

import numpy as np
from jaxtyping import Int

from attnlab.configuration.options import OptionError, check_typed
from attnlab.generators.tasks.base import AbstractTask


def read_source(task: AbstractTask, text: str) -> Int[np.ndarray, " source"]:
    """The tokens of a source as someone types it; between them spaces, commas or nothing.

    Cards may have letters for their suits, in any case, and T for 10. Refused, with an
    `OptionError` for the task's `source_name`: what the task has no token for, a token twice where
    none repeats, and more or fewer tokens than the source has.

    >>> from attnlab.generators import Cards, Copy
    >>> read_source(Cards(hand=3, suits=2, ranks=4), "A♦, jc QD")
    array([7, 0, 5], dtype=int32)
    >>> read_source(Copy(source_length=3), "bad").tolist()
    [1, 0, 3]
    """
    name, thing, vocabulary = task.source_name, task.token_name, task.vocabulary
    check_typed(name, text)
    tokens = []
    for word in text.replace(",", " ").split():
        try:
            tokens += vocabulary.parse(task.in_symbols(word))
        except ValueError:
            problem = f"not a {thing} of this task"
            raise OptionError(name, word, problem, f"Use {task.spelling}") from None
    token, many = Counter(tokens).most_common(1)[0] if tokens else (0, 0)
    if many > 1 and not task.may_repeat:
        problem = f"{vocabulary.symbols[token]} is in it {many} times, and there is one of each"
        raise OptionError(name, text, problem, f"Choose another {thing} in its place")
    expected = task.source_length
    if len(tokens) != expected:
        problem = f"{_counted(len(tokens), thing)}, where a source has {expected}"
        change = f"Take {len(tokens) - expected} away"
        if len(tokens) < expected:
            change = f"Add {expected - len(tokens)}"
        raise OptionError(name, text, problem, change)
    return np.array(tokens, np.int32)


def write_source(task: AbstractTask, tokens: Iterable[SupportsInt]) -> str:
    """The text that `read_source` reads back: cards with spaces between them, letters without.

    >>> from attnlab.generators import Cards, Copy
    >>> write_source(Cards(), (51, 8)), write_source(Copy(), (1, 0, 3))
    ('A♠ 10♣', 'bad')
    """
    symbols = task.vocabulary.symbols
    between = " " if max(map(len, symbols)) > 1 else ""
    return between.join(symbols[int(token)] for token in tokens)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
