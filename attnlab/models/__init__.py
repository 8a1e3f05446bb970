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
from attnlab.models.edits import Edit, TrueAlignment, edited
from attnlab.models.linear import Linear, LinearOptions
from attnlab.models.mlp import MLP, MLPOptions
from attnlab.models.parameters import ParameterCount, parameters_by_part
from attnlab.models.parts.with_source import AbstractSourceModel, alignment_of
from attnlab.models.recurrent.encoded import (
    EncodedRNN,
    RNNAttentionOptions,
    RNNBottleneckOptions,
)
from attnlab.models.recurrent.gru import GRU, GRUOptions
from attnlab.models.recurrent.lstm import LSTM, LSTMOptions
from attnlab.models.recurrent.rnn import RNN, RNNOptions
from attnlab.models.recurrent.ssm import SSM, SSMOptions
from attnlab.models.transformer.encoder_decoder import EncoderDecoderOptions
from attnlab.models.transformer.encoder_decoder_model import EncoderDecoder
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

# Families that read a source; they have a registry of their own, since nothing else can build them.
SOURCE_MODELS = MappingProxyType(
    {kind.name: kind for kind in (EncoderDecoderOptions, RNNBottleneckOptions, RNNAttentionOptions)}
)
ALL_MODELS = MappingProxyType({**MODELS, **SOURCE_MODELS})

__all__ = [
    "ALL_MODELS",
    "GRU",
    "HIDDEN_STATES",
    "KERNELS",
    "LSTM",
    "MLP",
    "MODELS",
    "RNN",
    "SOURCE_MODELS",
    "SSM",
    "TIME_SCALES",
    "WEIGHTS_BY_POSITION",
    "AbstractModel",
    "AbstractModelOptions",
    "AbstractSourceModel",
    "Attention",
    "AttentionMap",
    "AttentionOptions",
    "CellArithmetic",
    "Conv",
    "ConvOptions",
    "Edit",
    "EncodedRNN",
    "EncoderDecoder",
    "EncoderDecoderOptions",
    "GRUOptions",
    "LSTMOptions",
    "Linear",
    "LinearOptions",
    "MLPOptions",
    "ParameterCount",
    "RNNAttentionOptions",
    "RNNBottleneckOptions",
    "RNNOptions",
    "SSMOptions",
    "Trace",
    "Transformer",
    "TransformerOptions",
    "TrueAlignment",
    "alignment_of",
    "edited",
    "parameter_count",
    "parameters_by_part",
]
