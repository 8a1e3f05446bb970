"""Model families. Each one's options are in `MODELS`; what they build shows its inside."""

from types import MappingProxyType

from attnlab.models.attention import Attention, AttentionOptions
from attnlab.models.base import (
    HIDDEN_STATES,
    WEIGHTS_BY_DAY,
    AbstractModel,
    AbstractModelOptions,
    AttentionMap,
    CellArithmetic,
    Trace,
    parameter_count,
)
from attnlab.models.gru import GRU, GRUOptions
from attnlab.models.linear import Linear, LinearOptions
from attnlab.models.transformer import Transformer, TransformerOptions

MODELS = MappingProxyType(
    {kind.name: kind for kind in (AttentionOptions, LinearOptions, TransformerOptions, GRUOptions)}
)

__all__ = [
    "GRU",
    "HIDDEN_STATES",
    "MODELS",
    "WEIGHTS_BY_DAY",
    "AbstractModel",
    "AbstractModelOptions",
    "Attention",
    "AttentionMap",
    "AttentionOptions",
    "CellArithmetic",
    "GRUOptions",
    "Linear",
    "LinearOptions",
    "Trace",
    "Transformer",
    "TransformerOptions",
    "parameter_count",
]
