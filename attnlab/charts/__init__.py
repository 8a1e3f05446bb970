"""Results as charts: Vega-Lite forms written once, and tables that change.

No Streamlit and no number crunching.
"""

from attnlab.charts.costs import *
from attnlab.charts.curves import *
from attnlab.charts.dots import *
from attnlab.charts.drawing import *
from attnlab.charts.encodings import *
from attnlab.charts.heads import *
from attnlab.charts.heatmap import *
from attnlab.charts.inside import *
from attnlab.charts.lines import *
from attnlab.charts.loss import *
from attnlab.charts.matrix import *
from attnlab.charts.overview import *
from attnlab.charts.processes import *
from attnlab.charts.regression import *
from attnlab.charts.scaling import *
from attnlab.charts.style import *
