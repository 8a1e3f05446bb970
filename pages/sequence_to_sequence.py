"""Sequence to sequence: a source in, a target out; where the model looks, beside the truth."""

from attnlab.ui.core.session import session_run
from attnlab.ui.core.shell import ensure_shell
from attnlab.ui.sequence_to_sequence.table_panel import draw_table
from attnlab.ui.sequence_to_sequence.task_panel import draw_task_choice, draw_task_figures
from attnlab.ui.train.bench import draw_bench, draw_bench_foot
from attnlab.ui.train.runs_panel import follow_run_file

ABOUT = (
    "A source is read and a target is written of it, token after token. What each target token is "
    "taken from is known: the alignment that the model learns stands beside the true one."
)

ensure_shell()
follow_run_file(session_run())
draw_task_choice()
bench = draw_bench("Sequence to sequence", about=ABOUT)
draw_task_figures(bench)
draw_table(bench)
draw_bench_foot(bench)
