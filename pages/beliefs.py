"""Beliefs: the distribution over hidden states, exact and as a probe finds it in the model."""

from attnlab.inspection.belief_probes import has_beliefs
from attnlab.ui.beliefs.belief_panel import draw_beliefs, draw_offer
from attnlab.ui.beliefs.lesson import draw_lesson
from attnlab.ui.core.glossary import link_to
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.training_page import draw_bench, draw_bench_foot

ABOUT = (
    f"The process has {link_to('hidden state', 'hidden states')}. The {link_to('belief')} is the "
    "distribution over them, given the tokens so far. Does a model that only learns to predict "
    "tokens represent it?"
)

ensure_shell()
bench = draw_bench("Beliefs", about=ABOUT, draw_first=draw_offer)
draw_beliefs(bench)
if has_beliefs(bench.run.experiment.generator):
    draw_lesson(bench.run.experiment.generator)
draw_bench_foot(bench)
