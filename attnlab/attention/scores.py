"""Scores: how well a query and a key match, before scale, mask and softmax."""

import abc
from types import MappingProxyType
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from attnlab.attention.products import dot_products
from attnlab.configuration.options import check_options, option


class AbstractScore(eqx.Module):
    """How a query is compared with a key; its fields are its options.

    A module, so that a compiled program takes other values of an option as they come.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    formula: ClassVar[str]

    @abc.abstractmethod
    def scores(
        self, query: Float[Array, "query d_attn"], key: Float[Array, "key d_attn"]
    ) -> Float[Array, "query key"]:
        """The score of every query with every key; larger is a better match."""


class DotProduct(AbstractScore):
    """q · k. Luong et al. (2015), "Effective approaches to attention-based NMT", section 3.1."""

    name: ClassVar[str] = "dot"
    summary: ClassVar[str] = "The dot product of query and key."
    formula: ClassVar[str] = r"q \cdot k"

    def scores(self, query, key):
        return dot_products(query, key)


class ScaledDotProduct(AbstractScore):
    """q · k / √d, whose variance does not grow with d. Vaswani et al. (2017), section 3.2.1."""

    name: ClassVar[str] = "scaled"
    summary: ClassVar[str] = "The dot product over √d."
    formula: ClassVar[str] = r"q \cdot k / \sqrt{d}"

    def scores(self, query, key):
        return dot_products(query, key) * query.shape[1] ** -0.5


class Additive(AbstractScore):
    """Σᵢ tanh(qᵢ + kᵢ): each component lies between -1 and 1, and so no score exceeds d.

    Bahdanau et al. (2015), "Neural machine translation by jointly learning to align and
    translate", appendix A.1.2, with weights 1 on the components: their two other matrices are
    the projections that made q and k.
    """

    name: ClassVar[str] = "additive"
    summary: ClassVar[str] = "The sum of tanh over the components of query plus key."
    formula: ClassVar[str] = r"\textstyle\sum_i \tanh(q_i + k_i)"

    def scores(self, query, key):
        return jnp.tanh(query[:, None, :] + key[None, :, :]).sum(axis=2)


class GaussianKernel(AbstractScore):
    """-‖q - k‖² / 2h², the logarithm of a Gaussian kernel of bandwidth h.

    The softmax of these scores gives the weights of a kernel regression: Nadaraya (1964) and
    Watson (1964).
    """

    name: ClassVar[str] = "gaussian"
    summary: ClassVar[str] = "The closer the key, the higher: minus the squared distance."
    formula: ClassVar[str] = r"-\lVert q - k \rVert^2 / 2h^2"

    bandwidth: float = option(
        1.0,
        "Distance at which the kernel has fallen to e^(-1/2) of its peak.",
        low=0.001,
        high=1000.0,
    )

    def __check_init__(self):
        check_options(self)

    def scores(self, query, key):
        return gaussian_scores(query, key, self.bandwidth)


def gaussian_scores(
    query: Float[Array, "query d_attn"],
    key: Float[Array, "key d_attn"],
    bandwidth: float | Num[Array, ""],
) -> Float[Array, "query key"]:
    """-‖q - k‖² / 2h²; `bandwidth`, h, may be one that is trained."""
    apart = query[:, None, :] - key[None, :, :]
    return -(apart**2).sum(axis=2) / (2 * bandwidth**2)


SCORES = MappingProxyType(
    {kind.name: kind for kind in (DotProduct, ScaledDotProduct, Additive, GaussianKernel)}
)
