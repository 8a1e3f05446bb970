"""Results as Altair charts. No Streamlit and no number crunching."""

from attnlab.charts.difference import (
    days_chart,
    days_table,
    difference_chart,
    difference_table,
)
from attnlab.charts.loss import loss_chart, loss_table
from attnlab.charts.pattern import pattern_chart, pattern_table
from attnlab.charts.predictions import calibration_chart, confusion_chart, next_day_chart
from attnlab.charts.weights import weight_chart, weight_table

__all__ = [
    "calibration_chart",
    "confusion_chart",
    "days_chart",
    "days_table",
    "difference_chart",
    "difference_table",
    "loss_chart",
    "loss_table",
    "next_day_chart",
    "pattern_chart",
    "pattern_table",
    "weight_chart",
    "weight_table",
]
