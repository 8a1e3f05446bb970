"""Influence by lag: the row of the query, counted back from it."""

import numpy as np

from attnlab.charts import by_lag_table


def test_the_query_itself_has_lag_0_and_the_first_day_the_longest():
    table = by_lag_table(np.array([0.1, 0.2, 0.4]), np.array([0.01, 0.02, 0.03]))
    assert list(table["lag"]) == [0, 1, 2]
    assert list(table["day"]) == [3, 2, 1]
    np.testing.assert_allclose(table["influence"], [0.4, 0.2, 0.1])
    np.testing.assert_allclose(table["high"] - table["low"], [0.06, 0.04, 0.02])


def test_an_error_that_is_not_known_draws_no_bar():
    table = by_lag_table(np.array([0.5, 0.25]), np.array([np.nan, np.nan]))
    np.testing.assert_allclose(table["low"], table["influence"])
    np.testing.assert_allclose(table["high"], table["influence"])
