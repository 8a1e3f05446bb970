"""Model families: their options, in registries, and the models that the options build."""

from attnlab.configuration.registry import Registry
from attnlab.models.attention import Attention as Attention
from attnlab.models.attention import AttentionOptions as AttentionOptions
from attnlab.models.base import HIDDEN_STATES as HIDDEN_STATES
from attnlab.models.base import KERNELS as KERNELS
from attnlab.models.base import TIME_SCALES as TIME_SCALES
from attnlab.models.base import WEIGHTS_BY_POSITION as WEIGHTS_BY_POSITION
from attnlab.models.base import AbstractModel as AbstractModel
from attnlab.models.base import AbstractModelOptions as AbstractModelOptions
from attnlab.models.base import AttentionMap as AttentionMap
from attnlab.models.base import CellArithmetic as CellArithmetic
from attnlab.models.base import CellPlace as CellPlace
from attnlab.models.base import ParameterCount as ParameterCount
from attnlab.models.base import Trace as Trace
from attnlab.models.base import parameter_count as parameter_count
from attnlab.models.base import parameters_by_part as parameters_by_part
from attnlab.models.conv import Conv as Conv
from attnlab.models.conv import ConvOptions as ConvOptions
from attnlab.models.encoder_decoder import EncoderDecoder as EncoderDecoder
from attnlab.models.encoder_decoder import EncoderDecoderOptions as EncoderDecoderOptions
from attnlab.models.feedforward import MLP as MLP
from attnlab.models.feedforward import Linear as Linear
from attnlab.models.feedforward import LinearOptions as LinearOptions
from attnlab.models.feedforward import MLPOptions as MLPOptions
from attnlab.models.inside import TrueAlignment as TrueAlignment
from attnlab.models.inside import edited as edited
from attnlab.models.recurrent import RNN as RNN
from attnlab.models.recurrent import Gated as Gated
from attnlab.models.recurrent import GRUOptions as GRUOptions
from attnlab.models.recurrent import LSTMOptions as LSTMOptions
from attnlab.models.recurrent import RNNOptions as RNNOptions
from attnlab.models.recurrent_seq2seq import EncodedRNN as EncodedRNN
from attnlab.models.recurrent_seq2seq import RNNAttentionOptions as RNNAttentionOptions
from attnlab.models.recurrent_seq2seq import RNNBottleneckOptions as RNNBottleneckOptions
from attnlab.models.seq2seq import AbstractSourceModel as AbstractSourceModel
from attnlab.models.seq2seq import alignment_of as alignment_of
from attnlab.models.sites import Edit as Edit
from attnlab.models.ssm import SSM as SSM
from attnlab.models.ssm import SSMOptions as SSMOptions
from attnlab.models.transformer import Transformer as Transformer
from attnlab.models.transformer import TransformerOptions as TransformerOptions

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
