"""The page Known results without a browser."""

import dataclasses

import pytest

from attnlab import known_results
from attnlab.comparisons.grid import Setting
from attnlab.comparisons.shipped import shipped
from attnlab.known_results import AGREES, DISAGREES, KNOWN_RESULTS, overall
from attnlab.known_results.blog_post import PARTS, PUBLISHED
from attnlab.ui.core.outside import as_message
from tests.app.lessons import charts, open_page, texts
from tests.unit.made_up_results import with_training

LADDER, MODELS = "One change at a time", "The same processes, other models"


@pytest.fixture
def page():
    return open_page("pages/known_results.py")


def captions(page):
    return "\n".join(caption.value for caption in page.caption)


@pytest.mark.slow
def test_every_result_has_a_card_whose_details_are_in_a_panel(page):
    says = [overall(each.verdicts(each.shipped_numbers)) for each in KNOWN_RESULTS.values()]
    agree, disagree = says.count(AGREES), says.count(DISAGREES)
    assert (
        f"**The runs agree with {agree} of {len(says)} published results**, disagree with "
        f"{disagree}, and are inconclusive for {len(says) - agree - disagree}."
    ) in texts(page)
    assert len(charts(page)) == len(KNOWN_RESULTS)
    anchors = {title.anchor: title.value for title in page.header}
    for known in KNOWN_RESULTS.values():
        assert anchors[known.name] == known.title
        assert known.claim in texts(page)
        assert f"**{as_message(known.outcome(known.shipped_numbers))}**" in texts(page)
        for by, number in known.papers.items():
            assert not number or by in known.source
            assert (f"[{by}](https://arxiv.org/abs/{number})" if number else by) in captions(page)
        page.session_state[f"known_{known.name}_details"] = True
    page.run()
    checks = [check for known in KNOWN_RESULTS.values() for check in known.checks]
    plots = [plot for name in KNOWN_RESULTS for plot in shipped(name).plots]
    # The panel of the post has one of its parts, too.
    assert len(charts(page)) == len(KNOWN_RESULTS) + len(checks) + len(plots) + 1
    for check in checks:
        assert check.claim in texts(page)


@pytest.mark.slow
def test_the_menu_of_a_chart_has_the_card_of_its_result(page):
    page.session_state["share_the-bottleneck-of-the-last-state"] = True
    page.run()
    (menu,) = (each for each in page.get("popover") if each.get("download_button"))
    labels = [file.label for file in menu.get("download_button")]
    assert labels == ["SVG", "PNG", "Card, PNG", "Card, SVG", "Card, JSON"]
    chart = page.session_state["session"].charts["The bottleneck of the last state"]
    assert chart.card().name == "bottleneck"


@pytest.mark.slow
def test_cards_are_filtered_by_their_verdict(page):
    page.get("pills")[0].set_value(DISAGREES).run()
    assert not page.exception
    # The left column comes first.
    shown = ["tied-unembedding", "factored", "attention-decay"]
    assert [title.anchor for title in page.header] == shown
    assert "**The runs agree with 8 of 15 published results**" in texts(page)


@pytest.fixture
def opened(monkeypatch):
    """The page with one result, whose runs are short, and its panel of own runs."""
    known = KNOWN_RESULTS["recall-of-pairs"]
    small = with_training(steps=2, train_size=100, test_size=100)
    study = dataclasses.replace(
        known.study, settings=(Setting((("setting", "attention"),), small),)
    )
    found = "Its accuracy is {attention:.2f}."
    known = dataclasses.replace(known, study=study, checks=known.checks[:1], found=found)
    monkeypatch.setattr(known_results, "KNOWN_RESULTS", {known.name: known})
    # The shipped runs have other settings.
    numbers = {"attention": {"accuracy": dict.fromkeys(known.seeds, 0.5)}}
    monkeypatch.setattr(type(known), "shipped_numbers", numbers)
    page = open_page("pages/known_results.py")
    page.session_state[f"known_{known.name}_details"] = True
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
    assert "**Its accuracy is 0.50.**" in texts(page)
    assert "**Your seeds 20 to 23:** :red-badge[:material/close: disagrees]" in texts(page)
    # One in the card; one for the shipped runs and one for these.
    assert len(charts(page)) == 3


@pytest.mark.slow
def test_the_script_of_a_result_trains_its_runs_outside_the_app(opened, capsys):
    page, _ = opened
    exec(page.code[-1].value, {})
    assert capsys.readouterr().out.strip().endswith("disagrees")


# The blog post, whose page this was.


@pytest.fixture
def post(page):
    """The page with the panel of the blog post."""
    page.session_state["known_blog-post_details"] = True
    return page.run()


def numbers(page, part):
    """The table of a part, whose panel is opened."""
    page.session_state[f"published_{part}_numbers"] = True
    page.run()
    assert not page.exception
    (table,) = page.dataframe
    return table.value


def chosen(page, part):
    page.segmented_control(key="published_part").set_value(part).run()
    assert not page.exception
    return page


@pytest.mark.slow
def test_the_old_address_of_the_post_leads_to_its_card():
    page = open_page("pages/a_published_question.py")
    assert [title.value for title in page.title] == ["Known results"]
    assert page.header[0].anchor == "blog-post"


@pytest.mark.slow
def test_the_card_of_the_post_says_where_its_numbers_are_from(post):
    # Above the dot plot, what its marks are; below it, why some are above the ceiling.
    assert captions(post).count("Small dots are runs") == 1
    assert captions(post).count("Some runs score above the best possible by chance") == 1
    shown = numbers(post, "table")
    assert len(shown) == len(PUBLISHED)
    assert list(shown["post (English)"])[:3] == ["0.498", "–", "0.402"]
    assert all(shown["verdict"])
    made = shipped("blog-post").made
    assert f"computed {made.date} with attnlab {made.attnlab} and JAX {made.jax}" in captions(post)
    compile(post.code[-1].value, "script", "exec")


@pytest.mark.slow
def test_the_ladder_and_the_families_are_of_the_chosen_process(post):
    assert "on `dotmod` rises" in texts(chosen(post, LADDER))
    post.segmented_control(key="published_process").set_value("recall").run()
    assert "on `recall` rises" in texts(post)
    shown = numbers(post, "ladder")
    assert list(shown.index)[:2] == ["0  the published head", "1  causal mask"]
    assert set(shown["ceiling"]) == {"0.545"}
    chosen(post, MODELS)
    assert set(numbers(post, "zoo")["ceiling"]) == {"0.960"}
    post.segmented_control(key="published_zoo_process").set_value("markov").run()
    assert set(post.dataframe[0].value["ceiling"]) == {"0.506"}


@pytest.mark.slow
def test_the_rows_are_chosen_in_compare_to_be_trained_again(post):
    chosen(post, LADDER).button(key="published_ladder_compare").click().run()
    # Without a browser, pages do not change by themselves.
    post.switch_page("pages/compare.py").run()
    assert not post.exception
    presets = post.multiselect(key="vary_preset").value
    assert (len(presets), presets[0], presets[-1]) == (
        11, "published-dotmod-attention", "dotmod-10-depth",
    )  # fmt: skip
    assert post.number_input(key="compare_seeds").value == PARTS["ladder"].seeds


@pytest.mark.slow
def test_a_row_opens_in_train_which_links_back(post):
    menu = chosen(post, LADDER).menu_button(key="published_ladder_train")
    menu.click("7 learned positions").run()
    assert not post.exception
    # Without a browser, pages do not change by themselves.
    post.switch_page("pages/train.py").run()
    assert not post.exception
    assert post.selectbox(key="preset").value == "dotmod-7-positions"
    (back,) = post.sidebar.get("page_link")
    assert back.proto.label == "Known results"


def test_the_words_about_the_post_agree_with_its_figures():
    pairs = [
        (linear, attention)
        for process in dict.fromkeys(process for process, _ in PUBLISHED)
        for linear, attention in zip(
            PUBLISHED[process, "linear"], PUBLISHED[process, "attention"], strict=True
        )
        if linear is not None and attention is not None
    ]
    # "In all of its rows that have both, but one, the linear model is the more accurate."
    assert [linear > attention for linear, attention in pairs].count(False) == 1
    assert sum(len(published.figures) for published in PUBLISHED.values()) == 18
