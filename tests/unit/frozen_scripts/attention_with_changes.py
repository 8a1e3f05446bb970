"""`attention` on `recall`, seed 3.

Written by attnlab, which it needs on Python's path and nothing else. Options that
are not named have their defaults.
"""

from attnlab import Experiment, evaluate, prepare, train
from attnlab.configuration import show_measured
from attnlab.generators import Recall
from attnlab.models import AttentionOptions
from attnlab.positions import Sinusoidal
from attnlab.training import Change, Training

experiment = Experiment(
    generator=Recall(days=(1, 3), horizon=6),
    length=6,
    model=AttentionOptions(
        d_attn=4,
        embedding="learned",
        d_model=6,
        position=Sinusoidal(base=100.0),
    ),
    training=Training(
        loss="next",
        learning_rate=0.02,
        batch=30,
        steps=120,
        test_size=500,
    ),
    seed=3,
)
changes = (
    Change(step=40, options=(("learning_rate", 0.02, 0.01),)),
    Change(step=80, options=(("batch", 30, 50),)),
)
setup = prepare(experiment)
for progress in train(experiment, setup, changes=changes):
    state = progress.state
test = evaluate(state.model, setup.test, readout=experiment.training.readout)
print("step", f"{int(state.step):,}")
print("test accuracy", show_measured(test.accuracy, test.accuracy_stderr))
print("test loss (nats)", show_measured(test.nll, test.nll_stderr))
