"""Every snippet of README.md and of the documentation's pages runs as it stands, in order, in a fresh process."""

import pages
import pytest


@pytest.mark.parametrize("page", [page for page in pages.PAGES if pages.blocks(page)], ids=lambda page: page.stem)
def test_every_snippet_of_a_page_runs_as_it_stands(page, tmp_path):
    done = pages.run(page, tmp_path)
    assert done.returncode == 0, done.stderr


def test_only_what_says_so_is_an_outline(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("In outline:\n\n```python\na\n```\n\n```python\nb  # in outline: yours\n```\n\n```python\nc\n```\n")
    assert pages.blocks(page) == ["c\n"]
