"""A replay, whatever the browser sends late or twice."""

import pytest


@pytest.fixture
def finished(app):
    """The page after a short run."""
    app.number_input(key="steps").set_value(6).run()
    app.button(key="run_start").click().run()
    assert app.session_state["session"].run.wait(120.0)
    app.run()
    assert _shown(app) == "now"
    return app


def _shown(app):
    return app.select_slider(key="shown_step").value


def _kept(app):
    return app.select_slider(key="shown_step").options


def _label(app):
    (label,) = (button.label for button in app.button if button.label in ("Replay", "Stop"))
    return label


def _press(app, label):
    button = next(button for button in app.button if button.label == label)
    button.click().run()
    return button


@pytest.mark.slow
def test_it_goes_through_the_run_to_now(finished):
    _press(finished, "Replay")
    seen = [_shown(finished)]
    while _label(finished) == "Stop":
        finished.run()
        seen.append(_shown(finished))
        assert len(seen) < 20
    # Each kept model after the first.
    assert [str(step) for step in dict.fromkeys(seen)] == _kept(finished)[1:]


def test_a_click_that_arrives_twice_is_one(finished):
    replay = _press(finished, "Replay")
    at = _shown(finished)
    replay.click().run()
    assert _label(finished) == "Stop"
    # It goes on, and does not begin again.
    assert _shown(finished) > at
    stop = _press(finished, "Stop")
    at = _shown(finished)
    stop.click().run()
    assert (_label(finished), _shown(finished)) == ("Replay", at)


def test_a_browser_that_is_late_does_not_hold_up_its_end(finished):
    _press(finished, "Replay")
    for _ in range(20):
        finished.run()
        if _shown(finished) == "now":
            break
    # What it sends is where the slider stood a moment ago.
    finished.session_state["shown_step"] = 4
    finished.run()
    assert _shown(finished) == "now"
    finished.run()
    assert (_label(finished), _shown(finished)) == ("Replay", "now")


def test_the_status_names_the_step_that_is_shown(finished):
    """Not that of the run, beside numbers of another step."""
    states = [word.value for word in finished.markdown]
    assert any("`step 000,006` of 6" in word for word in states)
    finished.select_slider(key="shown_step").set_value(2).run()
    states = [word.value for word in finished.markdown]
    assert any("`showing step 000,002` of 6" in word for word in states)
    assert not any("`step 000,006`" in word for word in states)
