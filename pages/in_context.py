"""In context: each sequence has its own rule, and the model must read it off the context."""

from attnlab.ui.in_context.context_panel import draw_in_context, draw_offer
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.training_page import draw_bench, draw_bench_foot

ABOUT = (
    "Each sequence has its own rule, which the model can only **infer from the context**. "
    "Which algorithm does it learn, and which heads implement it?"
)

ensure_shell()
bench = draw_bench("In context", about=ABOUT, draw_first=draw_offer)
draw_in_context(bench)
draw_bench_foot(bench)
