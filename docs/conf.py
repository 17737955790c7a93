"""The documentation site: ``make docs`` builds it into docs/_build/html, without a network."""

import sys
from pathlib import Path

from saccade.version import __version__

sys.path[:0] = [
    str(Path(__file__).parent / "extensions"),
    str(Path(__file__).parents[1]),
]  # the latter for reproduction

project = "saccade"
author = "The saccade developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "benchmark_figures",
    "rooms_drawn",
]
exclude_patterns = ["_build"]
nitpicky = True

# Pages are read on GitHub, too: what they link to is named as it is there, by file and by the anchors of headings.
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]

# Types are words in the docstrings, in this project as in scikit-learn.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autosummary_generate = False  # its tables link to pages that are written by hand
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "saccade"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # which is fetched page by page: not possible where pages are opened as files
# Pages without others below them have no list of such.
html_sidebars = {page: [] for page in ("index", "tutorial", "promise", "design", "changelog", "contributing")}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "show_toc_level": 2,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
