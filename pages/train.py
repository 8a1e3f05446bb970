"""Train: pick, press Start, watch it learn, see what it attends to."""

from attnlab.ui.core.session_run import session_run
from attnlab.ui.core.shell import ensure_shell
from attnlab.ui.train.bench import draw_bench, draw_bench_foot
from attnlab.ui.train.files_panel import follow_run_file
from attnlab.ui.train.sequences_panel import draw_sequences

ensure_shell()
follow_run_file(session_run())
bench = draw_bench("Train")
draw_sequences(bench.run)
draw_bench_foot(bench)
