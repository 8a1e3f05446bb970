"""`linear` on `dotmod`, seed 0.

Written by attnlab, which it needs on Python's path and nothing else. Options that
are not named have their defaults.
"""

from attnlab import Experiment, evaluate, prepare, train
from attnlab.configuration import show_measured
from attnlab.generators import DotMod
from attnlab.models import LinearOptions
from attnlab.training import Training

experiment = Experiment(
    generator=DotMod(variant="published"),
    model=LinearOptions(initialisation="published", day_feature="with"),
    training=Training(
        learning_rate=0.01,
        batch_mode="full",
        steps=60,
        train_size=800,
        test_size=500,
    ),
)
setup = prepare(experiment)
for progress in train(experiment, setup):
    state = progress.state
test = evaluate(state.model, setup.test, readout=experiment.training.readout)
print("step", f"{int(state.step):,}")
print("test accuracy", show_measured(test.accuracy, test.accuracy_stderr))
print("test loss (nats)", show_measured(test.nll, test.nll_stderr))
