"""What the page on generators says of the distribution of single days."""

import numpy as np
import pytest

from attnlab.generators import HiddenMarkov, Markov
from attnlab.optimum import Frequencies
from attnlab.ui.generators.sample_panel import days_in_words
from tests.unit.documents import ROOT, run_code

SHARES = np.array([[0.3, 0.4, 0.3], [0.36, 0.34, 0.3]])


def of_days(*, exact):
    error = np.zeros((2, 3)) if exact else np.full((2, 3), 0.004)
    return Frequencies(SHARES, error, np.eye(3), np.zeros((3, 3)), exact)


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "sampled"])
def test_it_changes_only_where_the_process_is_not_stationary(exact):
    settled, settling = HiddenMarkov(initial=(2 / 3, 1 / 3)), HiddenMarkov()
    assert "is **stationary**" in days_in_words(settled, of_days(exact=exact))
    assert "is **not stationary**: day 1" in days_in_words(settling, of_days(exact=exact))
    unknown = days_in_words(run_code(ROOT / "CONTRIBUTING.md")["Turns"](), of_days(exact=exact))
    assert "stationary" not in unknown
    assert "day 1" in unknown


def test_shares_of_a_sample_have_their_errors():
    assert "0.300 ± 0.004" in days_in_words(Markov(), of_days(exact=False))
    assert "±" not in days_in_words(Markov(), of_days(exact=True))
