"""Cards of a run, of a comparison, and of a known result."""

import dataclasses
import math
import platform
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from attnlab.comparisons.grid import Setting
from attnlab.comparisons.intervals import (
    LEVEL,
    Interval,
    normal_quantile,
    root_mean_square,
    student_interval,
)
from attnlab.comparisons.shipped import shipped
from attnlab.comparisons.summary import Row, errors_of, figures_of, interval_of, summarise
from attnlab.comparisons.verdict import verdict_on
from attnlab.configuration.options import OptionError, present
from attnlab.film.frames import about_run
from attnlab.inspection import measure_of
from attnlab.inspection.targets import exact_match_of
from attnlab.known_results import AGREES, DISAGREES, NUMBERS, KnownResult, overall
from attnlab.optimum import FEW_BELIEFS
from attnlab.result_card.card import COMPARISON, KNOWN, RUN, CardMeasure, CardSetting, ResultCard
from attnlab.runs.history import Versions, current_versions
from attnlab.runs.run import Run
from attnlab.runs.run_summary import FIGURES, RunSummary, summary_of
from attnlab.training.experiment import prepare
from attnlab.training.loop import NO_TESTS, evaluate_state

# Numbers of known results are rounded, as those that come with the program are.
_PLACES = 5
_SAYS = {AGREES: "agree", DISAGREES: "disagree"}


def card_of_run(run: Run, *, link: str = "") -> ResultCard:
    """Return the card of a run; `link` is an address that opens its settings, or "".

    Raises:
        OptionError: If the run is not finished, or its settings were changed during training: then
            its settings do not repeat it.
    """
    experiment, step = run.experiment, int(run.state.step)
    if run.history.changes:
        problem = "its settings were changed during training, so they do not repeat it"
        raise OptionError("run", experiment.model.name, problem, "Train its settings from step 0")
    if step < (steps := experiment.training.steps):
        problem = f"it has made {step:,} of {steps:,} steps"
        raise OptionError("run", experiment.model.name, problem, "Finish it first")
    setup = prepare(experiment)
    if step not in dict(run.history.tests):
        event = evaluate_state(run.state, setup, experiment.training, NO_TESTS)
        run = run._replace(history=run.history.with_test(step, event.evaluation))
    tests = dict(run.history.tests)
    exact = exact_match_of(experiment.generator, run.state.model, setup.test)
    result = summary_of(run, "done", tests[step], 0.0, exact_match=exact)
    (setting,) = map(_setting, _rows([result], [Setting((), experiment)]), [""])
    curve = tuple((step, float(test.nll)) for step, test in sorted(tests.items()))
    sentence = about_run(run, np.asarray(setup.probes))
    settings = (dataclasses.replace(setting, curve=curve),)
    return ResultCard(RUN, sentence, settings, *_made_by([result]), link=link)


def card_of_comparison(
    results: Iterable[RunSummary],
    settings: Sequence[Setting],
    labels: Sequence[str],
    *,
    figure: str = "",
    link: str = "",
) -> ResultCard:
    """Return the card of a comparison.

    Args:
        results: The results of its runs.
        settings: Its settings. Those that were rejected, or have no result, are left out.
        labels: Their names.
        figure: The measure that the sentence is about; by default the accuracy or, for tasks, the
            exact match.
        link: An address that opens the comparison, or "".

    Raises:
        OptionError: If no run has the measure.
    """
    rows = _rows(results, settings)
    if not figure:
        is_task = any(row.exact_match is not None for row in rows)
        figure = "exact_match" if is_task else "accuracy"
    pairs = zip(rows, labels, strict=True)
    pairs = [(row, label) for row, label in pairs if interval_of(row, figure) is not None]
    if not pairs:
        raise OptionError("figure", figure, "no run has it", "Finish a run, or choose another")
    rows, labels = zip(*pairs, strict=True)
    sentence, found = " ".join(verdict_on(rows, labels, figure)), tuple(map(_setting, rows, labels))
    made = _made_by([run for row in rows for run in row.results])
    return ResultCard(COMPARISON, sentence, found, *made, figure=figure, link=link)


def card_of_known_result(
    known: KnownResult, results: Iterable[RunSummary] | None = None, *, link: str = ""
) -> ResultCard:
    """Return the card of a known result.

    Args:
        known: The known result, with the seeds of the runs.
        results: Results of its runs; by default those that come with the program.
        link: An address that opens it, or "".
    """
    if results is None:
        found = shipped(known.name)
        results = found.results
        made = Versions(found.made.attnlab, found.made.jax), found.made.machine
    else:
        made = _made_by(results := [*results])
    results = [each for each in results if known.study.has(each.experiment)]
    numbers = {
        label: {
            name: {seed: round(value, _PLACES) for seed, value in by_seed.items()}
            for name, by_seed in of.items()
        }
        for label, of in known.numbers_of(results).items()
    }
    verdicts = known.verdicts(numbers)
    says = _SAYS.get(overall(verdicts), "do not decide")
    hold = sum(verdict.says == AGREES for verdict in verdicts)
    count = f"{hold} of its {len(verdicts)} claims hold for most seeds"
    sentence, seeds, settings = f"{known.claim} Our runs {says}: {count}.", tuple(known.seeds), []
    for label, experiment in known.settings.items():
        measures = []
        for name, values in numbers[label].items():
            if values:
                bounds = (NUMBERS.get(name) or present(measure_of(name))).bounds
                interval = student_interval([*values.values()]).within(*bounds)
                measures.append(_measure(name, values, {}, interval, seeds))
        first = dataclasses.replace(experiment, seed=seeds[0])
        settings.append(CardSetting(label, first, seeds, None, tuple(measures)))
    return ResultCard(KNOWN, sentence, tuple(settings), *made, name=known.name, link=link)


def _rows(results: Iterable[RunSummary], settings: Sequence[Setting]) -> tuple[Row, ...]:
    """Return the rows of these settings, always with the same floors."""
    found = summarise(results, settings, baselines=False, most=FEW_BELIEFS)
    return found[: len(settings)]


def _setting(row: Row, label: str) -> CardSetting:
    seeds = tuple(run.experiment.seed for run in row.results)
    measures = tuple(
        _measure(name, figures_of(row, name), errors_of(row, name), interval, seeds)
        for name in (*FIGURES, *row.metrics)
        if (interval := interval_of(row, name)) is not None
    )
    first = dataclasses.replace(row.experiment, seed=seeds[0])
    return CardSetting(label, first, seeds, present(row.references).best, measures)


def _measure(
    name: str,
    values: Mapping[int, float],
    errors: Mapping[int, float],
    interval: Interval,
    seeds: Sequence[int],
) -> CardMeasure:
    low, high, stderr = interval.low, interval.high, root_mean_square([*errors.values()])
    if len(values) > 1:
        # As in `student_interval`: seeds spread at least as much as tests of one model.
        spread = float(np.std([*values.values()], ddof=1))
        stderr = max(spread, stderr) / math.sqrt(len(values))
    elif stderr:
        half = normal_quantile((1 + LEVEL) / 2) * stderr
        low, high = interval.mean - half, interval.mean + half
    stderr = None if low is None else stderr
    return CardMeasure(name, interval.mean, stderr, low, high, tuple(map(values.get, seeds)))


def _made_by(results: Sequence[RunSummary]) -> tuple[Versions, str]:
    """Return the versions and the machine that made all of these runs, as far as is known."""
    here = all(run.versions is None for run in results)
    versions = {run.versions or current_versions() for run in results}
    made = versions.pop() if len(versions) == 1 else Versions()
    return made, f"{platform.system()} {platform.machine()}" if here else ""
