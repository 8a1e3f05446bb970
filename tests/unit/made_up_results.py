"""Results of runs that were never trained, with the numbers that a test needs."""

import dataclasses

from attnlab.comparisons.grid import Setting
from attnlab.comparisons.summary import summarise
from attnlab.generators import Markov
from attnlab.models import AttentionOptions
from attnlab.runs.run_summary import RunSummary
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training

SHORT = Experiment(generator=Markov(), length=2, model=AttentionOptions(d_attn=2))


def with_training(experiment=SHORT, **options):
    return dataclasses.replace(experiment, training=Training(**options))


def evaluation(nll, accuracy=0.5, stderr=0.005):
    return Evaluation(float(nll), stderr, float(accuracy), 0.005)


def finished(experiment, nll, *, seed=0, accuracy=0.5, stderr=0.005, **rest):
    run = dataclasses.replace(experiment, seed=seed)
    steps = experiment.training.steps
    return RunSummary(run, "done", evaluation(nll, accuracy, stderr), steps=steps, **rest)


def all_finished(experiment, losses, *, accuracies=None, stderr=0.005):
    """One run a loss, with seeds from 0."""
    accuracies = [0.5] * len(losses) if accuracies is None else accuracies
    return [
        finished(experiment, nll, seed=seed, accuracy=accuracy, stderr=stderr)
        for seed, (nll, accuracy) in enumerate(zip(losses, accuracies, strict=True))
    ]


def row_of(experiment, losses, *, options=(), stderr=0.005, **rest):
    results = all_finished(experiment, losses, stderr=stderr)
    (row,) = summarise(results, [Setting(tuple(options), experiment)], baselines=False, **rest)
    return row
