"""Edits of a forward pass, and its activations by site."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from attnlab.configuration.options import OptionError, quoted

Given = Float[Array | np.ndarray, "length length"]
PatternOf = Callable[[Float[Array, "length vocab"]], Given]
Rows = Float[Array | np.ndarray, "length width"]
RowsOf = Callable[[Float[Array, "length vocab"]], Rows]
# The carried arrays: the state that is read out, then whatever else a cell remembers.
Carried = tuple[Float[Array, " size"], ...]
# Takes the name of a part of a layer and the rows after it, and returns the rows to continue with.
At = Callable[[str, Float[Array, "query width"]], Float[Array, "query width"]]


class Edit(eqx.Module):
    """A replacement of a pattern or of activations in a forward pass, used by all later parts.

    `Edit(layer, head, pattern)` replaces the pattern of one head, and `Edit(site=…, value=…)` the
    activations of one site. Either array may be a function of the sequence's one-hot rows, as
    `TrueAlignment` is. No gradient reaches an edit.

    Attributes:
        layer: Layer of the head, counted from 0.
        head: The head in that layer, counted from 0.
        pattern: Share of each key, query × key, as in the `AttentionMap` of the trace. Zeros
            remove the head, whose output is then 0.
        kind: The kind of that `AttentionMap`.
        site: Site of the activations, one of the model's `sites`.
        value: Activations of that site, length × width.
        where: Whether each position is replaced; by default all are.

    Raises:
        ValueError: If there is neither a pattern nor a site with its value, or both.

    """

    layer: int | Int[Array, ""] = 0
    head: int | Int[Array, ""] = 0
    pattern: Given | PatternOf | None = None
    kind: str = eqx.field(static=True, default="self")
    site: str | None = eqx.field(static=True, default=None)
    value: Rows | RowsOf | None = None
    where: Bool[Array | np.ndarray, " length"] | None = None

    def __check_init__(self):
        given = [part is not None for part in (self.pattern, self.site, self.value)]
        if given not in ([True, False, False], [False, True, True]):
            raise ValueError("Give an edit either a `pattern`, or a `site` and its `value`.")

    def on(self, one_hot: Float[Array, "length vocab"]) -> "Edit":
        """Return the edit for one sequence, with its functions replaced by their arrays."""
        if self.site is None:
            pattern = self.pattern(one_hot) if callable(self.pattern) else self.pattern
            return Edit(self.layer, self.head, pattern, self.kind)
        value = self.value(one_hot) if callable(self.value) else self.value
        return Edit(site=self.site, value=value, where=self.where)


Edits = Sequence[Edit]


def with_edits(
    pattern: Float[Array, "heads query key"],
    edits: Sequence[Edit],
    *,
    layer: int,
    queries: Int[Array, " query"],
) -> Float[Array, "heads query key"]:
    """Return the patterns of a layer after the edits, applied in order."""
    heads = jnp.arange(len(pattern))
    for edit in edits:
        here = (heads == edit.head) & (edit.layer == layer)
        # No gradient reaches an edit, even if a model is trained with it.
        given = jax.lax.stop_gradient(jnp.asarray(edit.pattern))[queries]
        pattern = jnp.where(here[:, None, None], given[None], pattern)
    return pattern


def unchanged(part: str, rows: Float[Array, "some width"]) -> Float[Array, "some width"]:
    """Return the rows unchanged: an `At` that neither captures nor edits."""
    return rows


def sites_of_layers(layers: int, *parts: str) -> tuple[str, ...]:
    """Return the names of the sites after these parts of each layer."""
    return tuple(f"{part}.{number}" for number in range(layers) for part in parts)


def site_title(site: str) -> str:
    """Return the name of a site on the page: the part that it follows, with layers from 1.

    >>> site_title("attention.0"), site_title("mlp.1"), site_title("final")
    ('attention 1', 'MLP 2', 'output')
    """
    part, _, layer = site.partition(".")
    name = {"mlp": "MLP", "final": "output", "conv": "convolution"}.get(part, part)
    return f"{name} {int(layer) + 1}" if layer.isdigit() else name


class Activations:
    """The edits of one forward pass, and the activations that it keeps.

    A model creates an instance in `read` and passes the rows at every site through `at`, which
    returns the rows to continue with. If no site is captured or edited, these are the same rows.
    """

    def __init__(self, edits: Sequence[Edit] = (), capture: Sequence[str] = ()):
        self._edits, self._capture = tuple(edits), tuple(capture)
        self.kept: dict[str, Array] = {}

    @property
    def active(self) -> bool:
        """Whether any site is captured or edited, so that all positions must be computed."""
        return bool(self._capture) or any(edit.site is not None for edit in self._edits)

    def patterns(self, kind: str = "self") -> tuple[Edit, ...]:
        """Return the edits that replace attention patterns of this kind."""
        return tuple(edit for edit in self._edits if edit.site is None and edit.kind == kind)

    def at(self, site: str, rows: Float[Array, "length width"]) -> Float[Array, "length width"]:
        """Return the rows of a site after its edits; keep them if they are captured."""
        if self.active:
            rows = _replaced(rows, self._edits_of(site, rows.shape))
            if site in self._capture:
                self.kept[site] = rows
        return rows

    def of_layer(self, number: int, **names: str) -> At:
        """Return `at` for the parts of one layer; `names` maps parts to other site names."""
        return lambda part, rows: self.at(f"{names.get(part, part)}.{number}", rows)

    def scan(
        self, site: str, step: Callable, start: Carried, inputs: PyTree
    ) -> tuple[Carried, Float[Array, "length size"], PyTree]:
        """Run `jax.lax.scan` with `step`; the activations of `site` are the concatenated carry.

        Returns:
            The final carry, the state at every position, and the outputs of `step`.

        """

        def after(carried, given):
            one, edits = given
            carried, output = step(carried, one)
            if not self.active:
                return carried, (carried[0], output, None)
            whole = _replaced(jnp.concatenate(carried), edits)
            carried = tuple(jnp.split(whole, len(carried)))
            return carried, (carried[0], output, whole)

        shape = len(jax.tree.leaves(inputs)[0]), sum(part.size for part in start)
        edits = self._edits_of(site, shape)
        end, (states, outputs, whole) = jax.lax.scan(after, start, (inputs, edits))
        if whole is not None:
            self.at(site, whole)
        return end, states, outputs

    def _edits_of(self, site: str, shape: tuple[int, ...]) -> tuple[tuple[Array, Array], ...]:
        """Return the value and the position mask of each edit of a site with this shape."""
        found = []
        for edit in self._edits:
            if edit.site == site:
                # No gradient reaches an edit, even if a model is trained with it.
                value = jax.lax.stop_gradient(jnp.asarray(edit.value))
                where = jnp.ones(shape[:1], bool) if edit.where is None else jnp.asarray(edit.where)
                for name, array, right in (("value", value, shape), ("where", where, shape[:1])):
                    if array.shape != right:
                        problem = f"a shape that the site {quoted(site)} does not have"
                        raise OptionError(name, array.shape, problem, f"Give the shape {right}")
                found.append((value, where))
        return tuple(found)


def _replaced(rows: Array, edits: tuple[tuple[Array, Array], ...]) -> Array:
    for value, where in edits:
        rows = jnp.where(where[..., None], value, rows)
    return rows
