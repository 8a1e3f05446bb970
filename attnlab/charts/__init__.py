"""Results as Altair charts. No Streamlit and no number crunching."""

from attnlab.charts.curve import curve_chart, curve_table
from attnlab.charts.dependence import dependence_chart, dependence_table
from attnlab.charts.difference import (
    days_chart,
    days_table,
    difference_chart,
    difference_table,
)
from attnlab.charts.frequency import frequency_chart, frequency_table
from attnlab.charts.loss import loss_chart, loss_table
from attnlab.charts.pattern import pattern_chart, pattern_table
from attnlab.charts.picture import as_picture, to_png, to_svg
from attnlab.charts.predictions import calibration_chart, confusion_chart, next_day_chart
from attnlab.charts.rule import rule_chart, rule_table
from attnlab.charts.weights import weight_chart, weight_table

__all__ = [
    "as_picture",
    "calibration_chart",
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
    "next_day_chart",
    "pattern_chart",
    "pattern_table",
    "rule_chart",
    "rule_table",
    "to_png",
    "to_svg",
    "weight_chart",
    "weight_table",
]
