"""Look inside: what a model looks at, what it believes, and which algorithm it has learned."""

from attnlab.ui.beliefs.belief_panel import draw_beliefs
from attnlab.ui.in_context.context_panel import draw_in_context
from attnlab.ui.inspect.attention_panel import draw_attention
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.course import draw_presets_of_tab
from attnlab.ui.train.measures_panel import draw_measures
from attnlab.ui.train.tabs import ALGORITHM, ATTENTION, BELIEFS, choose_tab
from attnlab.ui.train.training_page import draw_bench, draw_bench_foot, process_of
from attnlab.ui.train.welcome import draw_comparison_step

_DRAW = {ATTENTION: draw_attention, BELIEFS: draw_beliefs, ALGORITHM: draw_in_context}

ensure_shell()
bench = draw_bench("Look inside", draw_first=lambda bench: draw_presets_of_tab(), looks_inside=True)
_DRAW[choose_tab(process_of(bench))](bench)
draw_comparison_step()
draw_measures(bench.run)
draw_bench_foot(bench)
