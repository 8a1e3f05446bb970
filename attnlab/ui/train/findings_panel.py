"""What stands in the way of the chosen settings: their controls at first sight, the words below."""

import streamlit as st

from attnlab.configuration.options import Finding, OptionError, label_of, options_of
from attnlab.training.experiment import Experiment
from attnlab.training.limits import Verdict, feasibility
from attnlab.ui.core.outside import draw_warning
from attnlab.ui.core.process_figures import accuracy_of, answer_or_none, figures

# There is one line for them.
_MOST_NAMED = 3


def draw_prospect(form: Experiment | OptionError, whose: str) -> None:
    """What the settings can come to at best and which of them stand in its way, on one line.

    `whose` tells the settings from those of the run, if they differ.
    """
    if isinstance(form, OptionError):
        return
    verdict = answer_or_none(feasibility, form)
    with st.container(key="verdict", width="content"):
        if verdict is None:
            st.caption(":material/hourglass_top: Working out what can be learned …")
            return
        days = f"{form.length} {form.generator.position_word}s"
        best = f"Best possible from {days}: {accuracy_of(verdict.best)}"
        parts = [f":orange-badge[{whose}]"] if whose else []
        # Not a caption, in which badges are too pale to read.
        parts.append(f":small[:gray[{best}]]")
        if controls := dict.fromkeys(_control(form, finding) for finding in _findings(verdict)):
            named = ", ".join(list(controls)[:_MOST_NAMED]) + " …" * (len(controls) > _MOST_NAMED)
            parts.append(f":orange-badge[:material/report: {named}: see below]")
        st.markdown(" ".join(parts))


def draw_findings(form: Experiment | OptionError) -> None:
    """What stands in the way, each with the control that it is about."""
    verdict = None if isinstance(form, OptionError) else answer_or_none(feasibility, form)
    if verdict is None:
        return
    findings = [f"{_control(form, finding)}: {finding.text}" for finding in _findings(verdict)]
    if findings:
        with st.container(key="findings"):
            draw_warning("About these settings:", *findings, icon=":material/report:")


def _findings(verdict: Verdict) -> list[Finding]:
    findings = list(verdict.findings)
    if verdict.reachable is not None and verdict.reachable.nll > verdict.best.nll + 1e-3:
        words = (
            "With these settings no loss is below that of a predictor with "
            f"{figures(verdict.reachable)}."
        )
        findings.append(Finding("model", words))
    return findings


def _control(form: Experiment, finding: Finding) -> str:
    """What the control is called on screen."""
    for part in (form, form.model, form.training):
        if (spec := options_of(part).get(finding.option)) is not None:
            return label_of(finding.option, spec, unit=False)
    raise ValueError(f"no control of {finding.option!r}")
