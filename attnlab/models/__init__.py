"""Model families. Each one's options are in `MODELS`; what they build shows its inside."""

from types import MappingProxyType

from attnlab.models.attention import Attention, AttentionOptions
from attnlab.models.base import (
    HIDDEN_STATES,
    KERNELS,
    TIME_SCALES,
    WEIGHTS_BY_POSITION,
    AbstractModel,
    AbstractModelOptions,
    AttentionMap,
    CellArithmetic,
    Trace,
    parameter_count,
)
from attnlab.models.conv import Conv, ConvOptions
from attnlab.models.edits import Edit, edited
from attnlab.models.linear import Linear, LinearOptions
from attnlab.models.mlp import MLP, MLPOptions
from attnlab.models.parameters import ParameterCount, parameters_by_part
from attnlab.models.recurrent.gru import GRU, GRUOptions
from attnlab.models.recurrent.lstm import LSTM, LSTMOptions
from attnlab.models.recurrent.rnn import RNN, RNNOptions
from attnlab.models.recurrent.ssm import SSM, SSMOptions
from attnlab.models.transformer.stack import Transformer, TransformerOptions

MODELS = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            AttentionOptions,
            LinearOptions,
            TransformerOptions,
            GRUOptions,
            LSTMOptions,
            RNNOptions,
            SSMOptions,
            ConvOptions,
            MLPOptions,
        )
    }
)

__all__ = [
    "GRU",
    "HIDDEN_STATES",
    "KERNELS",
    "LSTM",
    "MLP",
    "MODELS",
    "RNN",
    "SSM",
    "TIME_SCALES",
    "WEIGHTS_BY_POSITION",
    "AbstractModel",
    "AbstractModelOptions",
    "Attention",
    "AttentionMap",
    "AttentionOptions",
    "CellArithmetic",
    "Conv",
    "ConvOptions",
    "Edit",
    "GRUOptions",
    "LSTMOptions",
    "Linear",
    "LinearOptions",
    "MLPOptions",
    "ParameterCount",
    "RNNOptions",
    "SSMOptions",
    "Trace",
    "Transformer",
    "TransformerOptions",
    "edited",
    "parameter_count",
    "parameters_by_part",
]
