"""What runs are held against, worked out while the page is looked at."""

from attnlab.comparisons.references import References, references_of
from attnlab.comparisons.summary import Row, summarise
from attnlab.generators import AbstractGenerator
from attnlab.optimum import FEW_BELIEFS
from attnlab.runs.result import Result
from attnlab.training.experiment import Experiment
from attnlab.ui.compare.plan import Plan
from attnlab.ui.core.process_figures import answer_or_none, is_answered


def _references(generator: AbstractGenerator, length: int) -> References:
    return references_of(generator, length, most=FEW_BELIEFS)


def references_at_hand(experiment: Experiment) -> References | None:
    """Those of a process and length if they are there; asked for in any case."""
    return answer_or_none(_references, experiment.generator, experiment.length)


def references_missing(plan: Plan) -> int:
    """Of how many processes and lengths they are still worked out."""
    asked = {(e.generator, e.length) for s in plan.settings if (e := s.experiment) is not None}
    return sum(not is_answered(_references, *each) for each in asked)


def rows_of(plan: Plan, results: tuple[Result, ...]) -> tuple[Row, ...]:
    """A row for every setting of the plan, with what is known by now."""
    return summarise(results, plan.settings, references=references_at_hand)
