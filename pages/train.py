"""Train: choose settings, train a model and watch what it learns."""

from attnlab.ui.sequence_to_sequence.table_panel import draw_table
from attnlab.ui.sequence_to_sequence.task_panel import draw_task_figures
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.figures_panel import draw_sequences
from attnlab.ui.train.measures_panel import draw_measures
from attnlab.ui.train.training_page import draw_bench, draw_bench_foot

ensure_shell()
bench = draw_bench("Train", draw_first=draw_table)
draw_task_figures(bench)
draw_measures(bench.run)
draw_sequences(bench.run)
draw_bench_foot(bench)
