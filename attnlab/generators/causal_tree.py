"""`causal-tree`: each token is drawn from its parent's row in a table that each sequence draws."""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import OptionError, option
from attnlab.generators.base import AbstractGenerator, Draw
from attnlab.generators.display import lines_latex
from attnlab.generators.vocabulary import Vocabulary, first_letters

_TREES = {
    "chain": "each token has the one before it as its parent",
    "pairs": "every second token has the one before it as its parent, the others have none",
    "binary": "token t has token t / 2, rounded down",
    "given": "your own parents",
}


class TreeTokens(NamedTuple):
    """The tokens seen so far, and how many."""

    tokens: Int[Array, " positions"]
    seen: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class CausalTree(AbstractGenerator):
    """Sequences share a tree; each draws its own k × k table, whose rows are Dirichlet(alpha).

    A token without a parent is uniform; every other one is drawn from its parent's row. The last
    visible token s is a uniform question, and the token to predict is drawn from row s. So the
    exact prediction is (n_sj + alpha) / (n_s + k alpha), where n_sj counts the children j of
    earlier tokens s. The latent variable is the table.

    Raises `OptionError` for parents that do not come before their children.

    References:
        Nichani et al. (2024), "How transformers learn causal structure with gradient descent".
    """

    name: ClassVar[str] = "causal-tree"
    summary: ClassVar[str] = (
        "Each token depends on an earlier one, its parent, by a table that each sequence draws."
    )
    source: ClassVar[str] = (
        "Nichani et al. (2024), “How transformers learn causal structure with gradient descent”"
    )
    position_word: ClassVar[str] = "token"

    k: int = option(3, "Number of tokens.", low=2, high=8, label="tokens")
    alpha: float = option(
        0.1,
        "Dirichlet parameter of each row; small values give nearly certain rows.",
        low=0.05,
        high=10.0,
    )
    tree: str = option(
        "chain",
        "The parent of each token. "
        + "; ".join(f"{name}: {text}" for name, text in _TREES.items())
        + ".",
        choices=tuple(_TREES),
    )
    parents: tuple[int, ...] = option(
        (0, 1, 1, 2, 3), "The parent of each token, counted from 1; 0 means that it has none."
    )

    visible: int = dataclasses.field(default=256)

    def __post_init__(self):
        super().__post_init__()
        given = self.parents
        if not isinstance(given, tuple) or not 1 <= len(given) <= 255:
            raise OptionError("parents", given, "not a row of 1 to 255 numbers", "Try 0, 1, 1")
        for child, parent in enumerate(given, 1):
            if isinstance(parent, bool) or not isinstance(parent, int) or not 0 <= parent < child:
                problem = f"the parent of token {child} is not from 0 to {child - 1}"
                raise OptionError("parents", given, problem, "Let parents come before children")

    def at_length(self, length: int) -> "CausalTree":
        own = self.own_length()
        if own is not None and length != own:
            problem = f"{own - 1} `parents` and the question are {own} tokens"
            raise OptionError("length", length, problem, f"Choose {own}, or other parents")
        return dataclasses.replace(self, visible=length)

    def own_length(self) -> int | None:
        return len(self.parents) + 1 if self.tree == "given" else None

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the first letters of the alphabet."""
        return first_letters(self.k)

    @property
    def parent_positions(self) -> Int[np.ndarray, " positions"]:
        """Return the parent of each token and of the one to predict, from 0; -1: none."""
        length = self.own_length() or self.visible
        places = np.arange(length - 1)
        parents = {
            "chain": places - 1,
            "pairs": np.where(places % 2 == 1, places - 1, -1),
            "binary": (places + 1) // 2 - 1,
            "given": np.array(self.parents) - 1,
        }[self.tree]
        return np.concatenate([parents, [-1, length - 1]])

    @property
    def formula(self) -> str:
        return lines_latex(
            r"x_t \sim P_{x_{\text{parent}(t)}}",
            rf"P_i \sim \text{{Dirichlet}}({self.alpha:.4g}),\ k = {self.k}",
        )

    def rule_in_words(self, length: int) -> str:
        return (
            f"Token {length + 1} is drawn from the row of token {length} in the sequence's table. "
            "Earlier parents and their children reveal that row."
        )

    def start(self) -> TreeTokens:
        size = len(self.parent_positions)
        return TreeTokens(jnp.full(size, -1, jnp.int32), jnp.int32(0))

    def update(self, belief: TreeTokens, token: Int[Array, ""]) -> TreeTokens:
        return TreeTokens(belief.tokens.at[belief.seen].set(token, mode="drop"), belief.seen + 1)

    def log_probs(self, belief: TreeTokens) -> Float[Array, " vocab"]:
        parents = jnp.asarray(self.parent_positions)
        siblings = self._has_parent_like(belief.tokens, parents, belief.seen)
        row = self._log_counted(belief, siblings)
        return jnp.where(parents[belief.seen] < 0, -jnp.log(self.k), row)

    def _log_counted(
        self, belief: TreeTokens, places: Bool[Array, " positions"]
    ) -> Float[Array, " vocab"]:
        """Return log p(next token) from the counts of the tokens at these places."""
        tokens = belief.tokens[:, None] == jnp.arange(self.k)[None, :]
        counts = (places[:, None] & tokens).sum(axis=0) + self.alpha
        return jnp.log(counts / counts.sum())

    def _has_parent_like(
        self, tokens: Int[Array, " positions"], parents: Int[Array, " positions"], seen
    ) -> Bool[Array, " positions"]:
        """Return which of the seen tokens have a parent that is equal to that of token `seen`."""
        above = jnp.where(parents < 0, -1, tokens[parents])
        return (above == above[seen]) & (parents >= 0) & (jnp.arange(parents.size) < seen)

    def draw(self, start: TreeTokens, key: Key[Array, ""], length: int) -> Draw:
        """Draw a table, which is the latent variable, and the tokens in order."""
        table_key, key = jr.split(key)
        table = jr.dirichlet(table_key, jnp.full(self.k, self.alpha), (self.k,))
        rows = jnp.append(jnp.cumsum(table, axis=1), jnp.arange(1.0, self.k + 1)[None, :], axis=0)

        def step(tokens, drawn):
            place, parent, uniform = drawn
            # The last row is that of a token without a parent.
            row = rows[jnp.where(parent < 0, self.k, tokens[parent])]
            return tokens.at[place].set((row <= uniform * row[-1]).sum()), None

        parents = jnp.asarray(self.parent_positions)[:length]
        places = jnp.arange(length), parents, jr.uniform(key, (length,))
        return Draw(jax.lax.scan(step, jnp.zeros(length, jnp.int32), places)[0], table)

    def references(self, belief: TreeTokens) -> Mapping[str, Float[Array, " vocab"]]:
        places = jnp.arange(belief.tokens.size)
        after_equal = self._has_parent_like(belief.tokens, places - 1, belief.seen)
        return {
            "in-context unigram": self._log_counted(belief, places < belief.seen),
            "in-context bigram": self._log_counted(belief, after_equal),
        }

    def log_probs_of_rule(
        self, latent: Float[Array, "vocab vocab"], belief: TreeTokens
    ) -> Float[Array, " vocab"]:
        parent = jnp.asarray(self.parent_positions)[belief.seen]
        row = latent[belief.tokens[jnp.maximum(parent, 0)]]
        return jnp.where(parent < 0, -jnp.log(self.k), jnp.log(row))

    def true_sources(self, tokens: Int[Array, " length"]) -> Bool[Array, "query key"]:
        """Return the children of tokens equal to the parent of the next one."""
        parents = jnp.asarray(self.parent_positions)
        longer = jnp.append(tokens, jnp.full(parents.size - tokens.size, -1))

        def of_query(query):
            found = self._has_parent_like(longer, parents, query + 1)[: tokens.size]
            return found & (parents[query + 1] >= 0)

        return jax.vmap(of_query)(jnp.arange(tokens.size))
