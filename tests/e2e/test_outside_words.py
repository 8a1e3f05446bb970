"""Words from outside: shown letter by letter, in every place, and no request leaves the page.

The pages are opened without their Content-Security-Policy, so that what holds is not that alone.
"""

import http.server
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from attnlab.configuration.options import quoted
from attnlab.generators import Custom
from attnlab.runs.links import Lesson, to_query
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training
from tests.e2e.train_page import TrainPage, go_to
from tests.unit.run_file_edits import joined, parts_of

pytestmark = pytest.mark.e2e

# What Streamlit's Markdown, and HTML, can make of words; of ours there are no such elements.
_FOREIGN = """() => [
    ...[...document.querySelectorAll('a[href]')].filter(link => link.origin !== location.origin),
    ...[...document.querySelectorAll('img')].filter(image => !image.src.startsWith('data:')),
    ...document.querySelectorAll('iframe, object, embed, [aria-label="home icon"]'),
    ...[...document.querySelectorAll('.katex')].filter(it => it.textContent.includes('evil')),
].map(element => element.outerHTML)"""
# Pages of lessons, their parameters that are texts, and what these need to be read.
_LESSON_VALUES = (
    ("softmax_scaling", ("sweep_process", "logits"), {}),
    ("kernel_regression", ("curve",), {}),
    ("kernel_regression", ("own_points",), {"curve": "own points"}),
    ("step_by_step", ("step_example", "step_inputs"), {}),
    ("positional_encodings", ("pe_trained",), {}),
)
_UNSEEN = "\N{WORD JOINER}"


class Outside(NamedTuple):
    """A server that no page should know of, and words that name it."""

    host: str
    first: str
    second: str


@pytest.fixture
def outside() -> Iterator[Outside]:
    asked: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        host = f"127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # No longer than what a message repeats.
        first = rf"![](http://{host}/x) www.evil.co $\href{{evil}}$"
        second = f"<img src=//{host}/y> [a](//b.c) m@b.co :material/home:"
        yield Outside(host, first, second)
        server.shutdown()
    assert asked == []


@pytest.fixture
def open_bare(new_page, server) -> Callable[..., TrainPage]:
    """Opens a page of the app that trusts in nothing but its own words."""

    train = TrainPage(new_page(bypass_csp=True))

    def open_it(path: str = "", **query: str) -> TrainPage:
        train.page.goto(f"{server.url}/{path}?{urlencode(query)}")
        return train

    return open_it


def _assert_message(page: Page, *words: str) -> None:
    """The words can be read as they are, and are nothing else than words."""
    page.wait_for_function(
        """([words, unseen]) => {
            const text = document.body.innerText.replaceAll(unseen, '')
            return words.every(one => text.includes(one))
        }""",
        arg=[words, _UNSEEN],
    )
    assert page.evaluate(_FOREIGN) == []


def test_values_notices_and_words_of_links(open_bare, outside):
    first, second = outside.first, outside.second
    for words, (path, keys, rest) in zip(itertools.cycle(outside[1:]), _LESSON_VALUES):
        # A space begins another cell of a table.
        said = [words.replace(" ", "_") if key == "step_inputs" else words for key in keys]
        train = open_bare(path, **rest, **dict(zip(keys, said, strict=True)))
        _assert_message(train.page, *map(quoted, said))
    train = open_bare(v="2", d_attn=first, mask=second, hide=second, **{first: "1"})
    _assert_message(train.page, f"d_attn is {quoted(first)}", f"mask is {quoted(second)}")
    _assert_message(train.page, f"names {quoted(second)}", f"{quoted(first)} is not a setting")
    text = f"{first}\n{second}\n\n- *seen* https://evil.co\n- `{first}`"
    train = open_bare(**to_query(Experiment(), Lesson(title=first, text=text)))
    _assert_message(train.page, first, second, "seen https://evil.co")
    expect(train.page.locator("h2").filter(has_text="![](http")).to_be_visible()
    words = train.part("lesson_words")
    expect(words.locator("p br")).to_have_count(1)
    expect(words.locator("ul li")).to_have_count(2)
    expect(words.locator("em")).to_have_text("seen")
    expect(words.locator("code")).to_have_text(first)


def test_run_files(open_bare, outside):
    train = open_bare()
    train.wait_for("idle")
    train.press("step")
    train.wait_for_step(1)
    train.wait_for("paused")
    train.open_panel("files")
    with train.page.expect_download() as download:
        train.part("run_save").get_by_role("button").click()
    content = download.value.path().read_bytes()

    def with_figure(header: dict) -> None:
        header["tests"][0][1] = outside.first

    def with_option(header: dict) -> None:
        header["experiment"][outside.second] = 1

    # The name of a file has no slash.
    name = "www.evil.co ![](m@evil.co) $x$ <img src=x>.run"
    for change, message in (
        (with_figure, quoted(outside.first)),
        (with_option, outside.second.partition("material")[0]),
    ):
        _load(train, name, _changed(content, change))
        _assert_message(train.page, message, quoted(name))


def _changed(content: bytes, change: Callable[[dict], None]) -> bytes:
    """A run file with another header, and the checksum of that."""
    header, payload = parts_of(content)
    change(header)
    return joined(header, payload)


def _load(train: TrainPage, name: str, content: bytes) -> None:
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    train.part("run_file").locator("input[type=file]").set_input_files(file)


def test_symbols_of_a_process(open_bare, outside):
    symbols = (
        f"![](http://{outside.host}/x)",
        f"[a](http://{outside.host}/y)",
        f"<img/src=//{outside.host}/z>",
        "www.evil.co",
        "m@evil.co",
        r"$\href{evil}'$:material/home:",
    )
    # Round and round, so that every day that is changed cannot follow the one before.
    size = len(symbols)
    table = tuple(tuple(float(j == (i + 1) % size) for j in range(size)) for i in range(size))
    generator = Custom(symbols=" ".join(symbols), table=table)
    experiment = Experiment(generator=generator, length=6, training=Training(steps=20))
    train = open_bare(**to_query(experiment))
    train.wait_for("idle")
    train.press("start")
    train.wait_for("done")
    train.open_panel("sequences")
    _assert_message(train.page, *symbols)
    go_to(train.page, "Look inside")
    _assert_message(train.page, *(f"{symbol} " for symbol in symbols))
    train.part("edit_day_3").get_by_role("button").click()
    expect(train.message("cannot happen")).to_be_visible()
    _assert_message(train.page, "is never", *(f"{symbol} 0." for symbol in symbols))
    go_to(train.page, "Processes")
    expect(train.part("sample")).to_be_visible()
    train.part("generators_section").get_by_text("Frequencies").click()
    _assert_message(train.page, " ".join(symbols), "The process is stationary")


def test_names_of_runs(open_bare):
    train = open_bare()
    train.wait_for("idle")
    for _ in range(2):
        train.press("step")
        train.wait_for("paused")
        train.press("new_seed")
        train.wait_for("idle")
    train.press("step")
    train.wait_for("paused")
    # To a chart, too, signs can mean more than themselves.
    name = "m@b.co www.b.c :+1:\"\\'"
    train.open_panel("runs")
    for row in range(2):
        train.choose_run(row)
        # By its run: for a moment the field of the one before is there as well.
        field = train.field(f"run_name_{row + 1}")
        expect(field).to_be_visible()
        field.fill(name)
        field.press("Enter")
        train.settle()
    expect(train.film.locator(".legend")).to_contain_text(name)
    expect(train.page.get_by_test_id("stToast")).to_be_visible()
    _assert_message(train.page, f"name is {quoted(name)}")


def test_the_policy_of_a_page_allows_webassembly_and_nothing_of_others(browser, server, outside):
    page = browser.new_page()
    for path in ("generators", ""):
        answer = page.goto(f"{server.url}/{path}")
        assert "default-src 'self'" in answer.headers["content-security-policy"]
    # Later than the script itself, since what a test evaluates is not held to the page's policy.
    page.add_script_tag(
        content="""setTimeout(() => {
            const runs = compile => { try { compile(); return true } catch { return false } }
            const emptyModule = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])
            Object.assign(document.documentElement.dataset, {
                webassembly: runs(() => new WebAssembly.Module(emptyModule)),
                text: runs(() => eval("1")),
            })
        })"""
    )
    expect(page.locator("html")).to_have_attribute("data-webassembly", "true")
    expect(page.locator("html")).to_have_attribute("data-text", "false")
    ask = """host => Promise.allSettled([
        fetch(`http://${host}/fetched`, {mode: 'no-cors'}),
        new Promise((fine, refused) => {
            const image = new Image()
            Object.assign(image, {onload: fine, onerror: refused, src: `http://${host}/image`})
        }),
    ]).then(results => results.map(result => result.status))"""
    assert page.evaluate(ask, outside.host) == ["rejected", "rejected"]
    page.close()
