"""attnlab: a laboratory bench for attention. `attnlab app` starts the app."""

from attnlab import optimum
from attnlab.attention import attend
from attnlab.comparisons.many import run_all
from attnlab.comparisons.processes import Processes, WorkersError
from attnlab.comparisons.summary import summarise
from attnlab.configuration import earlier_names as earlier_names
from attnlab.configuration.options import OptionError
from attnlab.generators import (
    GENERATORS,
    PROCESSES,
    TASKS,
    Cards,
    Copy,
    Custom,
    DotMod,
    HiddenMarkov,
    Markov,
    NDays,
    Recall,
    Reverse,
    Shift,
    Sort,
    Translate,
    beliefs,
    continue_sequence,
    log_predictives,
    sample,
)
from attnlab.generators.vocabulary import WEATHER, Vocabulary
from attnlab.live.live_run import LiveRun
from attnlab.models import (
    ALL_MODELS,
    MODELS,
    SOURCE_MODELS,
    AttentionOptions,
    ConvOptions,
    EncoderDecoderOptions,
    GRUOptions,
    LinearOptions,
    LSTMOptions,
    MLPOptions,
    RNNAttentionOptions,
    RNNBottleneckOptions,
    RNNOptions,
    SSMOptions,
    TransformerOptions,
    parameter_count,
    parameters_by_part,
)
from attnlab.models.base import READOUTS
from attnlab.models.generation import beam_search, generate
from attnlab.positions import (
    POSITIONS,
    Alibi,
    BlogDescribed,
    BlogPublished,
    Learned,
    NoPosition,
    Rotary,
    Scalar,
    Sinusoidal,
)
from attnlab.runs.history import ATTNLAB_VERSION as __version__
from attnlab.runs.history import History, empty_history
from attnlab.runs.library import Library, LibraryError
from attnlab.runs.run_summary import RunSummary
from attnlab.runs.storage import Run, RunFileError, load_run, save_run
from attnlab.training.evaluation import Evaluation, evaluate, evaluate_by_position
from attnlab.training.experiment import Experiment, Setup, from_json, prepare, to_json
from attnlab.training.loop import EvaluationEvent, NotFiniteError, Progress, run, train
from attnlab.training.losses import LOSSES
from attnlab.training.optimisers import (
    OPTIMISERS,
    SCHEDULES,
    Adam,
    AdamW,
    Constant,
    InverseSquareRoot,
    Sgd,
    WarmUpCosine,
)
from attnlab.training.presets import PRESETS
from attnlab.training.registering import register, unregister
from attnlab.training.steps import Training, advance

__all__ = [
    "ALL_MODELS",
    "GENERATORS",
    "LOSSES",
    "MODELS",
    "OPTIMISERS",
    "POSITIONS",
    "PRESETS",
    "PROCESSES",
    "READOUTS",
    "SCHEDULES",
    "SOURCE_MODELS",
    "TASKS",
    "WEATHER",
    "Adam",
    "AdamW",
    "Alibi",
    "AttentionOptions",
    "BlogDescribed",
    "BlogPublished",
    "Cards",
    "Constant",
    "ConvOptions",
    "Copy",
    "Custom",
    "DotMod",
    "EncoderDecoderOptions",
    "Evaluation",
    "EvaluationEvent",
    "Experiment",
    "GRUOptions",
    "HiddenMarkov",
    "History",
    "InverseSquareRoot",
    "LSTMOptions",
    "Learned",
    "Library",
    "LibraryError",
    "LinearOptions",
    "LiveRun",
    "MLPOptions",
    "Markov",
    "NDays",
    "NoPosition",
    "NotFiniteError",
    "OptionError",
    "Processes",
    "Progress",
    "RNNAttentionOptions",
    "RNNBottleneckOptions",
    "RNNOptions",
    "Recall",
    "Reverse",
    "Rotary",
    "Run",
    "RunFileError",
    "RunSummary",
    "SSMOptions",
    "Scalar",
    "Setup",
    "Sgd",
    "Shift",
    "Sinusoidal",
    "Sort",
    "Training",
    "TransformerOptions",
    "Translate",
    "Vocabulary",
    "WarmUpCosine",
    "WorkersError",
    "__version__",
    "advance",
    "attend",
    "beam_search",
    "beliefs",
    "continue_sequence",
    "empty_history",
    "evaluate",
    "evaluate_by_position",
    "from_json",
    "generate",
    "load_run",
    "log_predictives",
    "optimum",
    "parameter_count",
    "parameters_by_part",
    "prepare",
    "register",
    "run",
    "run_all",
    "sample",
    "save_run",
    "summarise",
    "to_json",
    "train",
    "unregister",
]
