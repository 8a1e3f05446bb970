"""Cards of a run, of a comparison, and of a known result."""

import dataclasses
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
from attnlab.comparisons.summary import (
    References,
    Row,
    errors_of,
    figures_of,
    interval_of,
    references_of,
    summarise,
)
from attnlab.comparisons.verdict import verdict_on
from attnlab.configuration.options import OptionError, present
from attnlab.film.frames import about_run
from attnlab.film.sequence import final_sources
from attnlab.inspection import measure_of
from attnlab.inspection.targets import exact_match_of
from attnlab.known_results import AGREES, DISAGREES, NUMBERS, KnownResult, overall
from attnlab.models.inside import mean_trace
from attnlab.optimum import FEW_BELIEFS, Best, baselines_of, informative_of
from attnlab.result_card.card import COMPARISON, KNOWN, RUN, CardMeasure, CardSetting, ResultCard
from attnlab.runs.history import Versions, current_versions
from attnlab.runs.run import Run
from attnlab.runs.run_summary import FIGURES, RunSummary, summary_of
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.loop import NO_TESTS, evaluate_state

# Shipped numbers are rounded to five places or more.
_SHIPPED_PLACES = 5
_SAYS = {AGREES: "agree", DISAGREES: "disagree"}


def card_of_run(run: Run, *, link: str = "") -> ResultCard:
    """Return the card of a run.

    Args:
        run: The run.
        link: An address that opens its settings, or "".

    Raises:
        OptionError: If the run is not finished, or its settings were changed during training: then
            its settings do not repeat it.
    """
    experiment, history, step = run.experiment, run.history, int(run.state.step)
    if history.changes:
        problem = "its settings were changed during training, so they do not repeat it"
        raise OptionError("run", experiment.model.name, problem, "Train its settings from step 0")
    if step < (steps := experiment.training.steps):
        problem = f"it has made {step:,} of {steps:,} steps"
        raise OptionError("run", experiment.model.name, problem, "Finish it first")
    setup, tests = prepare(experiment), dict(history.tests)
    if step not in tests:
        event = evaluate_state(run.state, setup, experiment.training, NO_TESTS)
        tests[step] = event.evaluation
        run = run._replace(history=history.with_test(step, event.evaluation))
    exact = exact_match_of(experiment.generator, run.state.model, setup.test)
    result = summary_of(run, "done", tests[step], 0.0, exact_match=exact)
    (setting,) = _settings(_rows([result], [Setting((), experiment)]), [""])
    curve = tuple((step, float(test.nll)) for step, test in sorted(tests.items()))
    return ResultCard(
        RUN,
        "",
        _sentence(run, np.asarray(setup.probes)),
        (dataclasses.replace(setting, curve=curve),),
        **_made_by([result]),
        link=link,
    )


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
    named = zip(labels, rows, strict=True)
    named = [(label, row) for label, row in named if interval_of(row, figure) is not None]
    if not named:
        raise OptionError("figure", figure, "no run has it", "Finish a run, or choose another")
    labels, rows = zip(*named, strict=True)
    return ResultCard(
        COMPARISON,
        "",
        " ".join(verdict_on(rows, labels, figure)),
        _settings(rows, labels),
        **_made_by([run for row in rows for run in row.results]),
        figure=figure,
        link=link,
    )


def card_of_known_result(
    known: KnownResult,
    results: Iterable[RunSummary],
    *,
    link: str = "",
    places: int | None = None,
    **made: Any,
) -> ResultCard:
    """Return the card of a known result, from results of its runs.

    Args:
        known: The known result, with the seeds of the runs.
        results: The results.
        link: An address that opens it, or "".
        places: The decimal places that the numbers of each seed have; None if they have all.
        made: `versions` and `machine` of the card; by default those of the runs.
    """
    results = [each for each in results if known.study.has(each.experiment)]
    numbers = {
        label: {
            name: {seed: value if places is None else round(value, places) for seed, value in each}
            for name, each in ((name, by_seed.items()) for name, by_seed in of.items())
        }
        for label, of in known.numbers_of(results).items()
    }
    verdicts = known.verdicts(numbers)
    says = _SAYS.get(overall(verdicts), "do not decide")
    hold = sum(verdict.says == AGREES for verdict in verdicts)
    count = f"{hold} of its {len(verdicts)} claims hold for most seeds"
    sentence = f"{known.claim} Our runs {says}: {count}."
    settings = []
    for label, experiment in known.settings.items():
        found = {name: values for name, values in numbers[label].items() if values}
        measures = [
            _measure(n, values, {}, _known_interval(n, values), known.seeds)
            for n, values in found.items()
        ]
        settings.append(_setting(label, experiment, known.seeds, None, measures))
    made = _made_by(results) | made
    return ResultCard(
        KNOWN, known.name, sentence, tuple(settings), **made, link=link, places=places
    )


def card_of_shipped(known: KnownResult, *, link: str = "") -> ResultCard:
    """Return the card of the runs of a known result that come with the program."""
    found = shipped(known.name)
    return card_of_known_result(
        known,
        found.results,
        link=link,
        places=_SHIPPED_PLACES,
        versions=Versions(found.made.attnlab, found.made.jax),
        machine=found.made.machine,
    )


def _known_interval(name: str, values: Mapping[int, float]) -> Interval:
    found = NUMBERS.get(name) or present(measure_of(name))
    return student_interval([*values.values()]).within(*found.bounds)


def _rows(results: Iterable[RunSummary], settings: Sequence[Setting]) -> tuple[Row, ...]:
    """Return the rows of these settings, always with the same floors."""

    def known(experiment: Experiment) -> References:
        return references_of(
            experiment.generator, experiment.length, baselines=False, most=FEW_BELIEFS
        )

    return summarise(results, settings, references=known)[: len(settings)]


def _settings(rows: Sequence[Row], labels: Sequence[str]) -> tuple[CardSetting, ...]:
    found = []
    for row, label in zip(rows, labels, strict=True):
        seeds = [run.experiment.seed for run in row.results]
        names = [n for n in (*FIGURES, *row.metrics) if interval_of(row, n) is not None]
        measures = [
            _measure(
                name,
                figures_of(row, name),
                errors_of(row, name),
                present(interval_of(row, name)),
                seeds,
            )
            for name in names
        ]
        best = present(row.references).best
        found.append(_setting(label, row.experiment, seeds, best, measures))
    return tuple(found)


def _setting(
    label: str,
    experiment: Experiment,
    seeds: Sequence[int],
    best: Best | None,
    measures: Iterable[CardMeasure],
) -> CardSetting:
    first = dataclasses.replace(experiment, seed=seeds[0])
    return CardSetting(label, first, tuple(seeds), best, tuple(measures))


def _measure(
    name: str,
    values: Mapping[int, float],
    errors: Mapping[int, float],
    interval: Interval,
    seeds: Sequence[int],
) -> CardMeasure:
    by_seed = tuple(values.get(seed) for seed in seeds)
    low, high, stderr = interval.low, interval.high, root_mean_square([*errors.values()])
    if len(values) > 1:
        # As in `student_interval`: seeds spread at least as much as tests of one model.
        spread = float(np.std([*values.values()], ddof=1))
        stderr = max(spread, stderr) / math.sqrt(len(values))
    elif stderr:
        half = normal_quantile((1 + LEVEL) / 2) * stderr
        low, high = interval.mean - half, interval.mean + half
    stderr = None if low is None else stderr
    return CardMeasure(name, interval.mean, stderr, low, high, by_seed)


def _made_by(results: Sequence[RunSummary]) -> dict[str, Any]:
    """Return the versions and the machine that made all of these runs, as far as is known."""
    here = all(run.versions is None for run in results)
    versions = {run.versions or current_versions() for run in results}
    made = versions.pop() if len(versions) == 1 else Versions()
    return {"versions": made, "machine": this_machine() if here else ""}


def this_machine() -> str:
    """Return the kind of this machine, such as "Linux x86_64"."""
    return f"{platform.system()} {platform.machine()}"


def _sentence(run: Run, probes: np.ndarray) -> str:
    process, length = run.experiment.generator, run.experiment.length
    informative = np.zeros(length, bool)
    # Otherwise each sequence has its own sources, so no position matters in all of them.
    if not process.prompt_length() and final_sources(process, (0,) * length) is None:
        informative = informative_of(process, length)
    baselines = baselines_of(process, length, FEW_BELIEFS)
    return about_run(run, baselines, informative, mean_trace(run.state.model, probes))
