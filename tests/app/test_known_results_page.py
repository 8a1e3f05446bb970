"""The page Known results without a browser."""

import dataclasses

import pytest

from attnlab import known_results
from attnlab.known_results import AGREES, DISAGREES, KNOWN_RESULTS, overall
from attnlab.known_results.shipped import shipped_numbers, shipped_plots
from tests.app.lessons import charts, open_page, texts
from tests.unit.made_up_results import with_training


@pytest.mark.slow
def test_every_result_is_in_the_overview_and_its_details_are_in_a_panel():
    page = open_page("pages/known_results.py")
    assert len(charts(page)) == len(KNOWN_RESULTS)
    for known in KNOWN_RESULTS.values():
        assert f"[{known.title}](#{known.name})" in texts(page)
        assert known.claim in texts(page)
        page.session_state[f"known_{known.name}_details"] = True
    page.run()
    checks = [check for known in KNOWN_RESULTS.values() for check in known.checks]
    plots = [plot for known in KNOWN_RESULTS.values() for plot in shipped_plots(known)]
    assert len(charts(page)) == len(KNOWN_RESULTS) + len(checks) + len(plots)
    for check in checks:
        assert check.claim in texts(page)


@pytest.mark.slow
def test_the_page_begins_with_how_many_results_were_found_again():
    says = [overall(each.verdicts(shipped_numbers(each)[1])) for each in KNOWN_RESULTS.values()]
    agree, disagree = says.count(AGREES), says.count(DISAGREES)
    page = open_page("pages/known_results.py")
    assert (
        f"**The runs agree with {agree} of {len(says)} published results**, disagree with "
        f"{disagree}, and are inconclusive for {len(says) - agree - disagree}."
    ) in texts(page)


@pytest.fixture
def opened(monkeypatch):
    """The page with one result, whose runs are short, and its panel of own runs."""
    known = KNOWN_RESULTS["recall-of-pairs"]
    small = with_training(steps=2, train_size=100, test_size=100)
    known = dataclasses.replace(known, settings={"attention": small}, checks=known.checks[:1])
    monkeypatch.setattr(known_results, "KNOWN_RESULTS", {known.name: known})
    page = open_page("pages/known_results.py")
    page.session_state[f"known_{known.name}_here"] = True
    page.run()
    return page, known


@pytest.mark.slow
def test_runs_with_seeds_of_your_own_get_a_verdict_beside_the_shipped_one(opened):
    page, known = opened
    page.number_input(key=f"known_{known.name}_seeds").set_value(4).run()
    page.button(key=f"known_{known.name}_start").click().run()
    assert page.session_state["session"].jobs[f"known_{known.name}"].wait(60.0)
    page.run()
    assert not page.exception
    # No such run recalls a value, and four of four outside the range disagree.
    assert "Your seeds 20 to 23: The runs disagree." in texts(page)
    assert len(charts(page)) == 2


@pytest.mark.slow
def test_the_script_of_a_result_trains_its_runs_outside_the_app(opened, capsys):
    page, _ = opened
    exec(page.code[-1].value, {})
    assert capsys.readouterr().out.strip().endswith("disagrees")
