"""One layer of a transformer: its heads, its MLP, and residual connections."""

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from attnlab.attention import MASKS, SCORES, Attended, chunked_attend, scale_factor
from attnlab.configuration.options import present
from attnlab.models.parts import (
    ACTIVATIONS,
    NORMALISERS,
    HeadParts,
    Normaliser,
    Projection,
    initial_projection,
    normalise_rows,
    project,
    project_side_by_side,
)
from attnlab.models.sites import At, Edits, unchanged, with_edits
from attnlab.positions import AbstractScorePosition

if TYPE_CHECKING:
    import attnlab.models.transformer
# That module imports this one.
LayerOptions: TypeAlias = "attnlab.models.transformer.TransformerOptions"


class KeysAndValues(NamedTuple):
    """Keys and values of a layer, before the position encoding is applied."""

    key: Float[Array, "heads key d_attn"]
    value: Float[Array, "heads key d_value"]

    @classmethod
    def empty(cls, options: LayerOptions, length: int) -> "KeysAndValues":
        """Return zeros for `length` positions, to be filled by `TransformerLayer.next_row`."""
        return cls(
            jnp.zeros((options.heads, length, options.d_attn)),
            jnp.zeros((options.heads, length, options.width_of_values)),
        )


class TransformerLayer(eqx.Module):
    """The heads and the MLP of one layer; the projections of all heads are concatenated.

    In all methods, `options` are those of the transformer. Keys and values of a `memory` are those
    of other rows, such as a source or the rows before.
    """

    query: Projection
    key: Projection
    value: Projection
    output: Projection
    mlp: tuple[Projection, Projection] | None
    # For the heads, then for the MLP, if there is one.
    normalisations: tuple[Normaliser, ...] | None

    def __call__(
        self,
        rows: Float[Array, "some width"],
        queries: Int[Array, " query"],
        options: LayerOptions,
        *,
        memory: KeysAndValues | None = None,
        number: int = 0,
        edits: Edits = (),
        at: At = unchanged,
    ) -> tuple[Float[Array, "query width"], HeadParts, Float[Array, "heads query key"]]:
        """Return the rows of `queries` after this layer, its heads' inputs, and their patterns.

        Args:
            rows: The rows before this layer, at all positions; with a `memory`, at `queries` alone.
            queries: The positions to compute.
            options: The options of the transformer.
            memory: Keys and values to attend to, instead of those of `rows`.
            number: The index of the layer, from 0, which selects its `edits`.
            edits: Edits of attention patterns.
            at: Takes the rows after the "attention" and after the "mlp", and returns the rows to
                continue with.
        """
        parts = self.project_qkv(rows, queries, options, memory)
        outputs, pattern = attend_heads(parts, options)
        if edits:
            pattern = with_edits(pattern, edits, layer=number, queries=queries)
            outputs = pattern @ parts.value
        elif options.attention == "chunked":
            # The patterns above are only needed for a trace; otherwise XLA removes them.
            outputs = _outputs_in_chunks(parts, queries, options)
        before = rows[queries] if memory is None else rows
        return self.residual_out(before, outputs, options, at), parts, pattern

    def project_qkv(
        self,
        rows: Float[Array, "some width"],
        queries: Int[Array, " query"],
        options: LayerOptions,
        memory: KeysAndValues | None = None,
    ) -> HeadParts:
        """Return the arguments of `attend`, with a leading axis for the heads."""
        read = self._normalise_input(rows, 0, options)
        if memory is None:
            read, memory = read[queries], self.project_kv(read, options)
        scale = scale_factor(options.scale, d_attn=options.d_attn, temperature=options.temperature)

        def of_head(head, query, key, value):
            return HeadParts.of(
                query,
                key,
                value,
                queries=queries,
                position=options.position,
                mask=options.mask,
                scale=jnp.float32(scale),
                head=head,
                heads=options.heads,
            )

        query = _by_head(project(self.query, read), options)
        return jax.vmap(of_head)(jnp.arange(options.heads), query, *memory)

    def project_kv(self, rows: Float[Array, "some width"], options: LayerOptions) -> KeysAndValues:
        """Return keys and values of rows that have been normalised, independent of position."""
        both = project_side_by_side((self.key, self.value), rows)
        return KeysAndValues(*(_by_head(rows, options) for rows in both))

    def next_row(
        self,
        row: Float[Array, " width"],
        position: Int[Array, ""],
        seen: KeysAndValues,
        options: LayerOptions,
    ) -> tuple[Float[Array, " width"], KeysAndValues]:
        """Return the row at `position` after this layer, and the layer's cache including it."""
        added = self.project_kv(self._normalise_input(row[None], 0, options), options)
        seen = jax.tree.map(lambda all_, one: all_.at[:, position].set(one[:, 0]), seen, added)
        return self(row[None], position[None], options, memory=seen)[0][0], seen

    def residual_out(
        self,
        rows: Float[Array, "query width"],
        outputs: Float[Array, "heads query d_value"],
        options: LayerOptions,
        at: At = unchanged,
    ) -> Float[Array, "query width"]:
        """Return rows after this layer, from the rows before it and the outputs of its heads."""
        mixed = project(self.output, outputs.swapaxes(0, 1).reshape(len(rows), -1))
        rows = at("attention", self._add(rows, mixed, 0, options))
        if self.mlp is not None:
            wide, narrow = self.mlp
            activation = ACTIVATIONS[options.activation]
            hidden = activation(project(wide, self._normalise_input(rows, 1, options)))
            rows = at("mlp", self._add(rows, project(narrow, hidden), 1, options))
        return rows

    def contributions(
        self,
        rows: Float[Array, "length width"],
        query: Int[Array, ""] | int,
        options: LayerOptions,
    ) -> tuple[Float[Array, "heads width"], Float[Array, " width"]]:
        """Return what each head, and the rest of the layer, add to the row of one query.

        The rest is the MLP, if there is one, and the biases. The layer must have residual
        connections without normalisation after them: other layers replace their input.
        """
        after, parts, _ = self(rows, jnp.array([query]), options)
        heads = self._project_out(attend_heads(parts, options)[0], options)[:, 0]
        return heads, after[0] - rows[query] - heads.sum(axis=0)

    def project_vo(
        self, rows: Float[Array, "some width"], options: LayerOptions
    ) -> Float[Array, "heads some width"]:
        """Return what each head adds if it attends to one of the rows alone."""
        read = self._normalise_input(rows, 0, options)
        return self._project_out(self.project_kv(read, options).value, options)

    def _normalise_input(
        self, rows: Float[Array, "some width"], part: int, options: LayerOptions
    ) -> Float[Array, "some width"]:
        """Return the input of the heads (part 0) or the MLP (part 1), normalised or not."""
        if options.normalisation == "pre":
            return normalise_rows(present(self.normalisations)[part], rows)
        return rows

    def _project_out(
        self, outputs: Float[Array, "heads some d_value"], options: LayerOptions
    ) -> Float[Array, "heads some width"]:
        return outputs @ jnp.stack(jnp.split(self.output.weight, options.heads))

    def _add(self, before, made, part: int, options: LayerOptions):
        rows = before + made if options.residual == "with" else made
        if options.normalisation == "post":
            rows = normalise_rows(present(self.normalisations)[part], rows)
        return rows


def attend_heads(parts: HeadParts, options: LayerOptions) -> Attended:
    """Return the outputs and patterns of all heads."""
    return jax.vmap(lambda head: head.attend(options.score))(parts)


def _by_head(
    rows: Float[Array, "some columns"], options: LayerOptions
) -> Float[Array, "heads some _"]:
    return rows.reshape(len(rows), options.heads, -1).swapaxes(0, 1)


def _outputs_in_chunks(
    parts: HeadParts, queries: Int[Array, " query"], options: LayerOptions
) -> Float[Array, "heads query d_value"]:
    position: Any = options.position

    def at(places):
        # The last chunk is padded with queries beyond the end.
        return queries.at[places].get(mode="clip")

    def of_head(head, query, key, value):
        def bias(places, keys):
            return position.bias_of_head(at(places), keys, head=head, heads=options.heads)

        return chunked_attend(
            query,
            key,
            value,
            mask=lambda places, keys: MASKS[options.mask](at(places), keys),
            scale=jnp.asarray(parts.scale)[0],
            bias=bias if isinstance(position, AbstractScorePosition) else None,
            score=SCORES[options.score](),
        )

    heads = jnp.arange(options.heads)
    return jax.vmap(of_head)(heads, parts.query, parts.key, parts.value)


def build_layer(options: LayerOptions, width: int, key: Key[Array, ""]) -> TransformerLayer:
    """Return an initialised layer for vectors of that width."""
    keys = iter(jr.split(key, 6))

    def projection(inputs, outputs):
        return initial_projection("scaled", key=next(keys), inputs=inputs, outputs=outputs)

    compared, read = options.heads * options.d_attn, options.heads * options.width_of_values
    query, key_, value = (projection(width, outputs) for outputs in (compared, compared, read))
    output, mlp = projection(read, width), None
    if options.mlp_width:
        mlp = projection(width, options.mlp_width), projection(options.mlp_width, width)
    normalisations = None
    if options.normalisation != "none":
        normaliser = NORMALISERS[options.normaliser]
        normalisations = tuple(normaliser(width) for _ in range(_normalised_parts(options)))
    return TransformerLayer(query, key_, value, output, mlp, normalisations)


def layer_formulas(options: LayerOptions, width: str) -> dict[str, str]:
    """Return the parameter count of each part of a layer as a formula; `width` is one too."""
    values = "d_value" if options.d_value else "d_attn"
    formulas = {
        "query": f"({width} + 1) × heads × d_attn",
        "key": f"({width} + 1) × heads × d_attn",
        "value": f"({width} + 1) × heads × {values}",
        "output": f"(heads × {values} + 1) × {width}",
    }
    if options.mlp_width:
        formulas["mlp"] = f"(({width} + 1) × mlp_width + (mlp_width + 1) × {width})"
    if options.normalisation != "none":
        parts = _normalised_parts(options)
        formulas["normalisations"] = f"{parts} × {norm_formula(options, width)}"
    return formulas


def _normalised_parts(options: LayerOptions) -> int:
    return 2 if options.mlp_width else 1


def norm_formula(options: LayerOptions, width: str) -> str:
    """Return the number of parameters of a normalisation as a formula."""
    return f"{2 if options.normaliser == 'LayerNorm' else 1} × {width}"
