"""attnlab: a laboratory bench for attention. See README.md; `streamlit run app.py` shows it."""

import sys

from attnlab.command_line.ending import Doing, end_when_interrupted, is_installed_command

# The installed command, or Python while it looks for the file behind `-m`. They import this one
# first, and with it the engine, which takes a while in which Ctrl-C may be pressed.
if sys.argv[:1] == ["-m"] or is_installed_command():
    end_when_interrupted(Doing())

from attnlab.attention.head import attend
from attnlab.comparisons.many import run_all
from attnlab.comparisons.processes import Processes
from attnlab.configuration.earlier_names import EarlierNames
from attnlab.configuration.options import OptionError
from attnlab.generators import (
    GENERATORS,
    DotMod,
    Markov,
    NDays,
    Recall,
    continue_sequence,
    log_predictives,
    sample,
)
from attnlab.generators.vocabulary import WEATHER, Vocabulary
from attnlab.live.live_run import LiveRun
from attnlab.models import (
    MODELS,
    AttentionOptions,
    LinearOptions,
    parameter_count,
    parameters_by_part,
)
from attnlab.models.generation import beam_search, generate
from attnlab.models.readout import READOUTS
from attnlab.positions import POSITIONS
from attnlab.runs.history import History, empty_history
from attnlab.runs.storage import Run, RunFileError, load_run, save_run
from attnlab.training.evaluation import Evaluation, evaluate, evaluate_by_position
from attnlab.training.experiment import Experiment, Setup, from_json, prepare, to_json
from attnlab.training.loop import Look, NotFiniteError, Progress, run, train
from attnlab.training.losses import LOSSES
from attnlab.training.optimisers import OPTIMISERS
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training, advance

__all__ = [
    "GENERATORS",
    "LOSSES",
    "MODELS",
    "OPTIMISERS",
    "POSITIONS",
    "PRESETS",
    "READOUTS",
    "WEATHER",
    "AttentionOptions",
    "DotMod",
    "Evaluation",
    "Experiment",
    "History",
    "LinearOptions",
    "LiveRun",
    "Look",
    "Markov",
    "NDays",
    "NotFiniteError",
    "OptionError",
    "Processes",
    "Progress",
    "Recall",
    "Run",
    "RunFileError",
    "Setup",
    "Training",
    "Vocabulary",
    "advance",
    "attend",
    "beam_search",
    "continue_sequence",
    "empty_history",
    "evaluate",
    "evaluate_by_position",
    "from_json",
    "generate",
    "load_run",
    "log_predictives",
    "parameter_count",
    "parameters_by_part",
    "prepare",
    "run",
    "run_all",
    "sample",
    "save_run",
    "to_json",
    "train",
]

sys.meta_path.append(EarlierNames())
