"""Inspect: what a trained model attends to, depends on, and should depend on."""

import numpy as np
import streamlit as st

# Import from `attnlab.ui` only: while a new server warms up in another thread, importing a part of
# the package that this thread is importing would have to wait.
from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.figures import waiting
from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.core.session_library import session_run
from attnlab.ui.in_context.context_panel import draw_in_context_panel
from attnlab.ui.inspect.cell_panel import draw_cell, draw_contributions
from attnlab.ui.inspect.edits_panel import draw_edits
from attnlab.ui.inspect.lengths_panel import draw_lengths
from attnlab.ui.inspect.maps_panel import draw_maps, draw_two_runs
from attnlab.ui.inspect.prediction_panel import draw_final_query, follows
from attnlab.ui.inspect.quality_panel import draw_quality
from attnlab.ui.inspect.task_page import draw_task
from attnlab.ui.inspect.training_panel import (
    draw_preparation,
    draw_sequence,
    draw_training,
    run_to_inspect,
)
from attnlab.ui.inspect.view import draw_view
from attnlab.ui.library.opening import open_finished_run
from attnlab.ui.shell import ensure_shell
from attnlab.ui.train.cursor import models_before, shown_moment
from attnlab.ui.train.measures_panel import draw_measures
from attnlab.ui.train.runs_panel import draw_files, follow_run_file

ensure_shell()
run = session_run()
follow_run_file(run)
if open_finished_run(run, read_form()):
    # Resuming sets controls, which must come before any is drawn.
    st.rerun()

with st.container(horizontal=True, vertical_alignment="center"):
    st.title("Inspect", anchor=False, width="content")
    st.caption("Where does the model look, and where should it?", width="content")
    draw_training(run, read_form(), run.snapshot())
run = run_to_inspect(run)
snapshot = run.snapshot()
experiment = snapshot.experiment
is_task = experiment.generator.writes_target

if snapshot.latest is None:
    draw_preparation(run, snapshot)
elif is_task:
    draw_task(run, snapshot)
    draw_measures(run)
else:
    tokens = draw_sequence(snapshot)
    moment = shown_moment(snapshot)
    # The view settings are below the prediction, but are read first.
    prediction = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        view = draw_view(moment.model, tokens)
    with prediction:
        draw_final_query(run, snapshot, tokens, view)

    if follows(snapshot, moment):
        st.caption(
            "All queries, single cells, comparisons and test results appear when the run pauses "
            "or ends. Choose an earlier step to see them now."
        )
    else:
        test = np.asarray(run.test_sequences())
        st.header("All queries", anchor=False, divider="gray")
        with waiting():
            draw_maps(experiment, moment.model, test[:, :-1], tokens, view)
        draw_two_runs(experiment, moment.model, tokens)
        if moment.model.has_heads:
            draw_cell(experiment, moment.model, tokens, view)
        if moment.model.logits_are_a_sum:
            draw_contributions(experiment, moment.model, tokens)
        draw_edits(experiment, moment.model, test, models_before(snapshot, moment))
        draw_in_context_panel(run)
        draw_lengths(experiment, moment.model, test)
        draw_quality(experiment, moment.model, test)
    draw_measures(run)
    st.markdown(
        f"**Try this.** Change a {experiment.generator.position_word} that matters, then one "
        "that does not. Does the model's prediction change with the true one? Drag the slider to "
        "step 0 to see the same before training."
    )
draw_files(run)
if snapshot.latest is not None and is_task:
    draw_in_code(
        "from attnlab.inspection import source_influence\n\n"
        "found = source_influence(experiment.generator, model, sequences)\n"
        "print(found.influence, found.truth, found.alignment)",
    )
elif snapshot.latest is not None:
    draw_in_code(
        "from attnlab.inspection import compare, final_probs, surprise\n"
        "from attnlab.optimum import token_marginals, dependence, next_token\n\n"
        "true = dependence(experiment.generator, experiment.length)\n"
        "marginals = token_marginals(experiment.generator, experiment.length)\n"
        "maps = compare(experiment, model, sequences, true.replacement, marginals)\n"
        "print(maps.attends[-1], maps.depends[-1], maps.truth[-1])",
    )
