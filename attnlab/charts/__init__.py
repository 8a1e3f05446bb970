"""Results as Altair charts. No Streamlit and no number crunching."""

from attnlab.charts.curve import curve_chart, curve_table
from attnlab.charts.dependence import dependence_chart, dependence_table
from attnlab.charts.frequency import frequency_chart, frequency_table
from attnlab.charts.loss import loss_chart, loss_table
from attnlab.charts.pattern import pattern_chart, pattern_table
from attnlab.charts.rule import rule_chart, rule_table
from attnlab.charts.weights import weight_chart, weight_table

__all__ = [
    "curve_chart",
    "curve_table",
    "dependence_chart",
    "dependence_table",
    "frequency_chart",
    "frequency_table",
    "loss_chart",
    "loss_table",
    "pattern_chart",
    "pattern_table",
    "rule_chart",
    "rule_table",
    "weight_chart",
    "weight_table",
]
