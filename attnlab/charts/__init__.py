"""Results as Altair charts. No Streamlit and no number crunching."""

from attnlab.charts.comparisons.curves import (
    bands_chart,
    bands_table,
    each_seed_table,
    levels_table,
)
from attnlab.charts.comparisons.dots import dots_chart, means_table, references_table, seeds_table
from attnlab.charts.comparisons.losses import losses_chart, losses_table
from attnlab.charts.comparisons.parallel import (
    BRUSH,
    axis_of_numbers,
    axis_of_texts,
    lines_table,
    marks_table,
    parallel_chart,
    within,
)
from attnlab.charts.comparisons.published import (
    climb_chart,
    gains_chart,
    gains_table,
    published_chart,
    published_table,
)
from attnlab.charts.comparisons.shares import share_names, shares_chart, shares_table
from attnlab.charts.comparisons.swept import swept_chart, swept_table
from attnlab.charts.core.colours import past_hue
from attnlab.charts.core.drawing import Drawing
from attnlab.charts.core.large_type import with_large_type
from attnlab.charts.core.picture import as_picture, to_png, to_svg
from attnlab.charts.core.scale import top_of_scale
from attnlab.charts.core.series import SCALED, UNSCALED, level_table, series_chart, series_table
from attnlab.charts.lessons.bottleneck import (
    exact_match_chart,
    exact_match_table,
)
from attnlab.charts.lessons.costs import cost_chart, cost_table
from attnlab.charts.lessons.distribution import distribution_chart, distribution_table
from attnlab.charts.lessons.encoding import (
    component_chart,
    component_table,
    encoding_lines_chart,
    path_chart,
    path_table,
    profile_chart,
    profile_table,
)
from attnlab.charts.lessons.matrix import Lit, matrix_chart, matrix_table
from attnlab.charts.lessons.plane import plane_chart, plane_table
from attnlab.charts.lessons.regression import (
    CLICKED,
    fit_chart,
    fit_table,
    learning_chart,
    learning_table,
    leave_one_out_chart,
    points_table,
)
from attnlab.charts.lessons.softmax import softmax_chart, softmax_table
from attnlab.charts.lessons.sweep import (
    gap_map_chart,
    gap_map_table,
    reached_chart,
    reached_table,
    training_chart,
    training_table,
)
from attnlab.charts.maps.alignment import alignment_chart, alignment_table
from attnlab.charts.maps.heads import MapWords, heads_chart, heads_table, informative_table
from attnlab.charts.maps.heads_overview import HeadPicture, overview_chart, overview_table
from attnlab.charts.maps.pattern import pattern_chart, pattern_table
from attnlab.charts.maps.token_map import token_map_chart, token_map_table
from attnlab.charts.processes.curve import curve_chart, curve_table
from attnlab.charts.processes.frequency import frequency_chart, frequency_map_chart, frequency_table
from attnlab.charts.processes.rule import rule_chart, rule_table
from attnlab.charts.runs.by_day import by_day_chart, by_day_table
from attnlab.charts.runs.by_lag import by_lag_chart, by_lag_table
from attnlab.charts.runs.dependence import dependence_chart, dependence_table
from attnlab.charts.runs.difference import difference_chart, difference_table
from attnlab.charts.runs.final_query import TRUTH, final_query_chart, final_query_table
from attnlab.charts.runs.loss import HOVER, PastCurve, loss_chart, loss_table
from attnlab.charts.runs.predictions import (
    calibration_chart,
    calibration_table,
    confusion_chart,
    confusion_table,
    next_day_chart,
    next_day_table,
)
from attnlab.charts.runs.states import state_chart, state_table
from attnlab.charts.runs.time_scales import time_scale_chart, time_scale_table
from attnlab.charts.runs.weights import weight_chart, weight_table

__all__ = [
    "BRUSH",
    "CLICKED",
    "HOVER",
    "SCALED",
    "TRUTH",
    "UNSCALED",
    "Drawing",
    "HeadPicture",
    "Lit",
    "MapWords",
    "PastCurve",
    "alignment_chart",
    "alignment_table",
    "as_picture",
    "axis_of_numbers",
    "axis_of_texts",
    "bands_chart",
    "bands_table",
    "by_day_chart",
    "by_day_table",
    "by_lag_chart",
    "by_lag_table",
    "calibration_chart",
    "calibration_table",
    "climb_chart",
    "component_chart",
    "component_table",
    "confusion_chart",
    "confusion_table",
    "cost_chart",
    "cost_table",
    "curve_chart",
    "curve_table",
    "dependence_chart",
    "dependence_table",
    "difference_chart",
    "difference_table",
    "distribution_chart",
    "distribution_table",
    "dots_chart",
    "each_seed_table",
    "encoding_lines_chart",
    "exact_match_chart",
    "exact_match_table",
    "final_query_chart",
    "final_query_table",
    "fit_chart",
    "fit_table",
    "frequency_chart",
    "frequency_map_chart",
    "frequency_table",
    "gains_chart",
    "gains_table",
    "gap_map_chart",
    "gap_map_table",
    "heads_chart",
    "heads_table",
    "informative_table",
    "learning_chart",
    "learning_table",
    "leave_one_out_chart",
    "level_table",
    "levels_table",
    "lines_table",
    "loss_chart",
    "loss_table",
    "losses_chart",
    "losses_table",
    "marks_table",
    "matrix_chart",
    "matrix_table",
    "means_table",
    "next_day_chart",
    "next_day_table",
    "overview_chart",
    "overview_table",
    "parallel_chart",
    "past_hue",
    "path_chart",
    "path_table",
    "pattern_chart",
    "pattern_table",
    "plane_chart",
    "plane_table",
    "points_table",
    "profile_chart",
    "profile_table",
    "published_chart",
    "published_table",
    "reached_chart",
    "reached_table",
    "references_table",
    "rule_chart",
    "rule_table",
    "seeds_table",
    "series_chart",
    "series_table",
    "share_names",
    "shares_chart",
    "shares_table",
    "softmax_chart",
    "softmax_table",
    "state_chart",
    "state_table",
    "swept_chart",
    "swept_table",
    "time_scale_chart",
    "time_scale_table",
    "to_png",
    "to_svg",
    "token_map_chart",
    "token_map_table",
    "top_of_scale",
    "training_chart",
    "training_table",
    "weight_chart",
    "weight_table",
    "with_large_type",
    "within",
]
