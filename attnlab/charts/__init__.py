"""Charts of results, as Vega-Lite specifications.

`lines_chart` and `heatmap_chart` draw tidy tables; most other functions `…_chart` arrange arrays
and names for them. Charts do not import Streamlit, and compute no results.
"""

from attnlab.charts.curves import *
from attnlab.charts.dots import *
from attnlab.charts.drawing import *
from attnlab.charts.heads import *
from attnlab.charts.heatmap import *
from attnlab.charts.inside import *
from attnlab.charts.lessons import *
from attnlab.charts.lines import *
from attnlab.charts.maps import *
from attnlab.charts.matrix import *
from attnlab.charts.overview import *
from attnlab.charts.processes import *
from attnlab.charts.simplex import *
from attnlab.charts.stacked import *
from attnlab.charts.style import *
