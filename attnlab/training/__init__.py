"""Training: data, losses, optimisers, evaluation, and the experiment that combines them."""

# Imported by scripts, including those that the app writes.
from attnlab.training.changes import Change as Change
from attnlab.training.evaluation import Evaluation as Evaluation
from attnlab.training.evaluation import evaluate as evaluate
from attnlab.training.optimisers import Adam as Adam
from attnlab.training.optimisers import AdamW as AdamW
from attnlab.training.optimisers import Constant as Constant
from attnlab.training.optimisers import InverseSquareRoot as InverseSquareRoot
from attnlab.training.optimisers import Sgd as Sgd
from attnlab.training.optimisers import WarmUpCosine as WarmUpCosine
from attnlab.training.steps import Training as Training
from attnlab.training.steps import advance as advance
