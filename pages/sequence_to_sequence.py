"""Sequence to sequence: a model that reads a source and writes a target, beside the truth."""

from attnlab.ui.core.session_library import session_run
from attnlab.ui.sequence_to_sequence.table_panel import draw_table
from attnlab.ui.sequence_to_sequence.task_panel import draw_task_choice, draw_task_figures
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.bench import draw_bench, draw_bench_foot
from attnlab.ui.train.runs_panel import follow_run_file

ABOUT = (
    "The model reads a source sequence and writes a target sequence. The true alignment is "
    "known, so you can check the learned one against it."
)

ensure_shell()
follow_run_file(session_run())
draw_task_choice()
bench = draw_bench("Sequence to sequence", about=ABOUT)
draw_task_figures(bench)
draw_table(bench)
draw_bench_foot(bench)
