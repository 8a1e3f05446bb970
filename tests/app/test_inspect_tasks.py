"""Look inside on models that read a source, without a browser."""

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.generators import Cards, Reverse, write_source
from attnlab.inspection.decoding import write_target
from attnlab.models import EncoderDecoderOptions, RNNAttentionOptions, RNNBottleneckOptions
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training
from tests.app.test_inspect_page import _open, _resume, _starting, _table, progress

_TRAINING = Training(loss="next", steps=2, data="fresh", batch=8, test_size=100)
_MODELS = {
    "encoder-decoder": EncoderDecoderOptions(heads=2, d_attn=2, d_model=4, mlp_width=4),
    "rnn-bottleneck": RNNBottleneckOptions(hidden_size=4),
    "rnn-attention": RNNAttentionOptions(hidden_size=4, d_attn=2),
}


def _on(app, name):
    task = Cards(hand=3, suits=2, ranks=5) if name != "rnn-attention" else Reverse(3, 6)
    experiment = Experiment(generator=task, model=_MODELS[name], training=_TRAINING)
    app.session_state["cell_panel"] = app.session_state["target_test_set"] = True
    _resume(app, _starting(experiment))
    return _open(app), experiment


def _words(page):
    kinds = (page.caption, page.markdown, page.latex, page.info, page.error)
    return " ".join(element.value for kind in kinds for element in kind)


def _looked_into(app, name):
    """The page on an untrained model, with what it shows of each."""
    page, experiment = _on(app, name)
    charts = list(page.session_state["session"].charts)
    seen = ["Attention to the source"] if name != "rnn-bottleneck" else []
    assert charts[: len(seen) + 1] == [*seen, "Influence of the source"]
    assert "Loss by target token" in charts
    assert ("Attention pattern of this sequence" in charts) == (name != "rnn-bottleneck")
    influence = _table(page, "Influence of the source")
    assert set(influence["map"]) == {"depends", "truth"}
    # Everything is of tokens.
    assert "day" not in _words(page).split()
    return page, experiment


@pytest.mark.slow
def test_a_recurrent_model_with_attention_shows_its_arithmetic(app):
    page, _ = _looked_into(app, "rnn-attention")
    assert any("h_{t-1}" in text.value for text in page.latex)
    assert any(r"\tanh" in text.value for text in page.latex)


@pytest.mark.slow
def test_a_source_is_typed_and_its_target_follows(app):
    page, experiment = _looked_into(app, "rnn-bottleneck")
    task, model = experiment.generator, page.session_state["session"].run.snapshot().latest.model
    source = np.array([7, 1, 4], np.int32)
    page.text_input(key="edited_source_text").set_value(write_source(task, source)).run()
    assert not page.exception
    table = page.table[0].value
    symbols = task.vocabulary.symbols
    assert list(table.loc["true"]) == [
        symbols[t] for t in np.asarray(task.target_of(jnp.array(source)))
    ]
    written = np.asarray(write_target(model, jnp.array(source), count=3))
    found = [cell.removesuffix(" ✗") for cell in table.loc["written"]]
    assert found == [symbols[token] for token in written]
    # What cannot be a hand is refused, and the one before stays.
    twice = write_source(task, [7, 7, 4])
    page.text_input(key="edited_source_text").set_value(twice).run()
    assert any("`hand`" in error.value for error in page.error)
    assert list(page.table[0].value.loc["true"]) == list(table.loc["true"])


@pytest.mark.slow
def test_heads_of_every_kind_are_replaced(app):
    page, _ = _looked_into(app, "encoder-decoder")
    page.button(key="edits_start").click().run()
    while "running" in progress(page):
        page.run()
        assert not page.error
    assert "done: 100%" in progress(page)
    table = next(t.value for t in page.table if "removed" in t.value.columns)
    assert list(table.columns)[:4] == ["removed", "uniform", "mean", "alignment"]
    assert len(table) == 6
    none = [name for name, cell in table["alignment"].items() if cell == "–"]
    assert len(none) == 4
    assert not any("(source)" in name for name in none)
