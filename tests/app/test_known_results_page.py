"""The page Known results without a browser."""

from attnlab.known_results import KNOWN_RESULTS
from tests.app.lessons import charts, open_page, texts


def test_every_result_has_a_picture_for_each_claim_and_a_verdict():
    page = open_page("pages/known_results.py")
    checks = [check for known in KNOWN_RESULTS.values() for check in known.checks]
    assert len(charts(page)) == len(checks)
    for known in KNOWN_RESULTS.values():
        assert known.claim in texts(page)
    for check in checks:
        assert check.claim in texts(page)
