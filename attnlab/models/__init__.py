"""Model families: their options, in registries, and the models that the options build."""

from attnlab.configuration.registry import Registry
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
    ParameterCount,
    Trace,
    parameter_count,
    parameters_by_part,
)
from attnlab.models.conv import Conv, ConvOptions
from attnlab.models.encoder_decoder import EncoderDecoderOptions
from attnlab.models.encoder_decoder_model import EncoderDecoder
from attnlab.models.feedforward import MLP, Linear, LinearOptions, MLPOptions
from attnlab.models.inside import TrueAlignment, edited
from attnlab.models.recurrent import GRU, LSTM, RNN, GRUOptions, LSTMOptions, RNNOptions
from attnlab.models.recurrent_seq2seq import (
    EncodedRNN,
    RNNAttentionOptions,
    RNNBottleneckOptions,
)
from attnlab.models.seq2seq import AbstractSourceModel, alignment_of
from attnlab.models.sites import Edit
from attnlab.models.ssm import SSM, SSMOptions
from attnlab.models.transformer import Transformer, TransformerOptions

MODELS = Registry(
    (
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
)

# Families that read a source are in a separate registry, since they need the source's length.
SOURCE_MODELS = Registry((EncoderDecoderOptions, RNNBottleneckOptions, RNNAttentionOptions))
ALL_MODELS = Registry(parts=(MODELS, SOURCE_MODELS))

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
