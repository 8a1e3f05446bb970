"""`attnlab card`, `attnlab compare --card`, and `attnlab check CARD`."""

import json

import pytest

from attnlab.result_card import card_from_json

pytestmark = pytest.mark.usefixtures("as_users_run")
SMALL = ("--steps", "5", "--train-size", "100", "--test-size", "100")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTNLAB_LIBRARY", "off")
    return tmp_path


@pytest.mark.slow
def test_a_run_becomes_a_card_that_is_found_again(run, folder):
    run("train", *SMALL, "--save", "a.run")
    files = {"--json": "a.json", "--svg": "a.svg", "--png": "a.png"}
    written = [part for pair in files.items() for part in pair]
    assert run("card", "a.run", *written, "--address", "https://a.org/")[:2] == (0, "")
    card = card_from_json((folder / "a.json").read_text("utf-8"))
    assert card.link.startswith("https://a.org/?v=2")
    assert (folder / "a.svg").read_bytes().startswith(b"<svg")
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    # The card of a card is the same.
    assert run("card", "a.json")[1] == (folder / "a.json").read_text("utf-8")
    status, out, err = run("check", "a.json")
    assert (status, out) == (0, "The card agrees to the last digit.\n")
    assert "Training takes about" in err
    record = json.loads((folder / "a.json").read_text("utf-8"))
    loss = record["settings"][0]["measures"][1]
    loss |= {name: loss[name] + 9 for name in ("value", "low", "high")}
    loss["by_seed"] = [loss["value"]]
    record["versions"]["jax"] = "0.0.1"
    (folder / "b.json").write_text(json.dumps(record))
    status, out, err = run("check", "b.json", "--json")
    found = json.loads(out)
    assert (status, found["says"]) == (1, "differs")
    assert found["differences"][0]["label"] == "loss (nats)"
    assert "the last digits may differ" in err


@pytest.mark.slow
def test_a_comparison_becomes_a_card_that_is_found_again(run, folder):
    models = ("--model", "linear,attention", "--seeds", "2", "--metrics", "excess")
    assert run("compare", *models, *SMALL, "--card", "c.json")[0] == 0
    card = card_from_json((folder / "c.json").read_text("utf-8"))
    assert [setting.label for setting in card.settings] == ["model linear", "model attention"]
    assert "excess" in {measure.name for measure in card.settings[0].measures}
    assert "vary_model=linear%2Cattention" in card.link
    status, out, err = run("check", "c.json")
    assert (status, out) == (0, "The card agrees to the last digit.\n")
    assert "4 runs of the card" in err


def test_a_known_result_becomes_a_card(run, folder):
    status, out, _ = run("card", "bottleneck")
    card = card_from_json(out)
    assert (status, card.name) == (0, "bottleneck")
    assert card.link.endswith("/known_results#bottleneck")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("card", "none"), "`run` is 'none': not read"),
        (("card", "bottleneck", "--png", "no/a.png"), "`png` is 'no/a.png'"),
        (("card", "bottleneck", "--address", "a"), "not a web address"),
        (("card", "cut.json"), "This card is damaged or cut off"),
        (("check", "cut.json"), "This card is damaged or cut off"),
        (("check", "none.json"), "`card` is 'none.json': No such file"),
        (("check", "huge.json"), "it has more than 2,000,000 bytes"),
        (("check", "bytes"), "This is not a card of attnlab"),
        (("check", "cut.json", "--length", "4"), "`length` is '4': the card has its own settings"),
        (("compare", *SMALL, "--card", "no/c.json"), "`card` is 'no/c.json'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run, folder, arguments, words):
    (folder / "cut.json").write_text('{"format": "attnlab card", "version": 1, "ki')
    (folder / "bytes").write_bytes(bytes(range(256)))
    with (folder / "huge.json").open("wb") as file:
        file.truncate(2_000_001)
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1
