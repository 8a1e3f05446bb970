"""Charts of results, as Vega-Lite specifications.

A function `…_table` returns the data of a chart as a DataFrame, and `…_chart` the chart that draws
this data. Charts do not import Streamlit, and compute no results.
"""

from attnlab.charts.claims import *
from attnlab.charts.curves import *
from attnlab.charts.dots import *
from attnlab.charts.drawing import *
from attnlab.charts.heads import *
from attnlab.charts.heatmap import *
from attnlab.charts.inside import *
from attnlab.charts.lessons import *
from attnlab.charts.lines import *
from attnlab.charts.loss import *
from attnlab.charts.matrix import *
from attnlab.charts.overview import *
from attnlab.charts.processes import *
from attnlab.charts.regression import *
from attnlab.charts.scaling import *
from attnlab.charts.simplex import *
from attnlab.charts.stacked import *
from attnlab.charts.style import *
