"""Results as Altair charts. No Streamlit and no number crunching."""

from attnlab.charts.colours import past_hue
from attnlab.charts.curve import curve_chart, curve_table
from attnlab.charts.dependence import dependence_chart, dependence_table
from attnlab.charts.difference import (
    days_chart,
    days_table,
    difference_chart,
    difference_table,
)
from attnlab.charts.encoding import (
    component_chart,
    component_table,
    path_chart,
    profile_chart,
    series_chart,
)
from attnlab.charts.frequency import frequency_chart, frequency_table
from attnlab.charts.loss import HOVER, PastCurve, loss_chart, loss_table
from attnlab.charts.matrix import Lit, matrix_chart, matrix_table
from attnlab.charts.pattern import pattern_chart, pattern_table
from attnlab.charts.predictions import calibration_chart, confusion_chart, next_day_chart
from attnlab.charts.rule import rule_chart, rule_table
from attnlab.charts.weights import weight_chart, weight_table

__all__ = [
    "HOVER",
    "Lit",
    "PastCurve",
    "calibration_chart",
    "component_chart",
    "component_table",
    "confusion_chart",
    "curve_chart",
    "curve_table",
    "days_chart",
    "days_table",
    "dependence_chart",
    "dependence_table",
    "difference_chart",
    "difference_table",
    "frequency_chart",
    "frequency_table",
    "loss_chart",
    "loss_table",
    "matrix_chart",
    "matrix_table",
    "next_day_chart",
    "past_hue",
    "path_chart",
    "pattern_chart",
    "pattern_table",
    "profile_chart",
    "rule_chart",
    "rule_table",
    "series_chart",
    "weight_chart",
    "weight_table",
]
