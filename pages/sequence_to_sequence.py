"""Sequence to sequence: a model that reads a source and writes a target, beside the truth."""

from attnlab.ui.sequence_to_sequence.table_panel import draw_table
from attnlab.ui.sequence_to_sequence.task_panel import draw_task_choice, draw_task_figures
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.training_page import Bench, draw_bench, draw_bench_foot

ABOUT = (
    "The model reads a source sequence and writes a target sequence. The true alignment "
    "(the source token of each target token) is known, so you can check the attention against it."
)


def draw_task(bench: Bench) -> None:
    """Draw the table, or a choice of tasks if the controls describe none."""
    if not draw_task_choice():
        draw_table(bench)


ensure_shell()
bench = draw_bench("Sequence to sequence", about=ABOUT, draw_first=draw_task, example="cards")
draw_task_figures(bench)
draw_bench_foot(bench)
