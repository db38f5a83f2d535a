"""Each page of docs/systems computes what it shows: closed forms and published figures beside ours."""

import pages
import pytest


@pytest.mark.parametrize("name", pages.PAGES)
def test_page_prints_what_it_shows(name):
    _, compared = pages.run_page(name)
    assert compared
    for shown, printed in compared:
        assert printed == shown
        assert "False" not in printed
