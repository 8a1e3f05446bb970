"""Results as Altair charts. No Streamlit and no number crunching."""

from attnlab.charts.loss import loss_chart, loss_table
from attnlab.charts.pattern import pattern_chart, pattern_table
from attnlab.charts.weights import weight_chart, weight_table

__all__ = [
    "loss_chart",
    "loss_table",
    "pattern_chart",
    "pattern_table",
    "weight_chart",
    "weight_table",
]
