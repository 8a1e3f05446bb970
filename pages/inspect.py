"""Inspect: look inside a trained model: attends, depends, truth."""

import numpy as np
import streamlit as st

from attnlab.ui.core.in_code import draw_in_code
from attnlab.ui.core.session_run import session_run
from attnlab.ui.core.shell import ensure_shell
from attnlab.ui.inspect.maps_panel import draw_maps
from attnlab.ui.inspect.quality_panel import draw_quality
from attnlab.ui.inspect.sequence_panel import draw_sequence, edited_days
from attnlab.ui.inspect.untrained_panel import draw_untrained
from attnlab.ui.train.cursor import draw_scrubber, shown_moment
from attnlab.ui.train.files_panel import draw_files
from attnlab.ui.train.transport import draw_status

ensure_shell()
run = session_run()
snapshot = run.snapshot()

st.title("Inspect", anchor=False)
st.markdown(
    "What a trained model attends to, what its prediction really depends on, and what the truth "
    "depends on: three different things, side by side."
)
if snapshot.latest is None:
    draw_untrained(run, snapshot)
else:
    experiment = snapshot.experiment
    draw_status(snapshot)
    if snapshot.active:
        st.button("Show the newest step", key="newest", icon=":material/refresh:")
    draw_scrubber(snapshot)
    moment = shown_moment(snapshot)
    model = moment.model
    st.caption(
        f"`{experiment.generator.name}`, {experiment.length} days, "
        f"model `{experiment.model.name}`, after step {moment.model_step:,}."
    )
    test = np.asarray(run.test_sequences())

    st.header("Attends, depends, truth", anchor=False, divider="gray")
    single = edited_days(experiment, snapshot.probes)
    draw_maps(experiment, model, test[:, :-1], single)

    st.header("One sequence in the hand", anchor=False, divider="gray")
    draw_sequence(experiment, model, snapshot.probes)

    draw_quality(experiment, model, test)

    st.markdown(
        "**Try this.** Change the last day above, then the first: which one moves the true law, "
        "and which one the model's? Then pull the slider at the top back to step 0 and see what "
        "the prediction depended on before it was trained."
    )
    draw_files(run)
    draw_in_code(
        "from attnlab.inspection import compare, final_probs, surprise\n"
        "from attnlab.optimum import day_laws, dependence, next_day\n\n"
        "true = dependence(experiment.generator, experiment.length)\n"
        "laws = day_laws(experiment.generator, experiment.length)\n"
        "maps = compare(experiment, model, sequences, true.replacement, laws)\n"
        "print(maps.attends[-1], maps.depends[-1], maps.truth[-1])",
    )
