"""Model families. Each one's options are in `MODELS`; what they build shows its inside."""

from types import MappingProxyType

from attnlab.models.attention import Attention, AttentionOptions
from attnlab.models.base import AbstractModel, AbstractModelOptions, Trace, parameter_count
from attnlab.models.linear import Linear, LinearOptions

MODELS = MappingProxyType({kind.name: kind for kind in (AttentionOptions, LinearOptions)})

__all__ = [
    "MODELS",
    "AbstractModel",
    "AbstractModelOptions",
    "Attention",
    "AttentionOptions",
    "Linear",
    "LinearOptions",
    "Trace",
    "parameter_count",
]
