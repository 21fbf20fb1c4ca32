"""How Sphinx builds the documentation: `make docs`, into build/docs/html."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT / "python"), str(ROOT / "stress" / "src")]

import fencepost  # noqa: E402 - found by the path above

project = "fencepost"
author = "fencepost contributors"
project_copyright = author
version = release = fencepost.__version__
language = "en"
# Two hyphens are an option, and quotes are of code.
smartquotes = False

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_argparse_cli",
    "sphinx_click",
    "sphinx_copybutton",
    "complete",
    "linked",
    "llms",
]
exclude_patterns = ["_ext", "_static", "plots"]
nitpicky = True
# Python's own documentation is not fetched while building, so its names are no links.
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(builtins|collections|datetime|os|pathlib|typing|random|msgspec|opentelemetry)(\..*)?",
    ),
    (r"py:class", r"(Any|Callable|Self|Literal.*|str|int|bool|Path|optional)"),
    # Private types in signatures; what they hold is said beside them.
    (r"py:class", r"fencepost\.(pages\.Item|requests\.Unset|records\.effects\.Reserved).*"),
    (r"py:class", r"fencepost\.(facet\.Facet|records\.base\.\w+|engine\..*)"),
    (r"py:class", r"fencepost\.observing\.hooks\..*"),
    (r"py:class", r"fencepost_stress\..*"),
    (r"py:obj", r"fencepost\..*(Item|Reserved)"),
]

# Single backticks in docstrings are code, as in the sources of the standard library.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "fully-qualified"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Members of several records have one name; a bare name in a docstring is then no link.
suppress_warnings = ["ref.python"]

highlight_language = "none"
html_theme = "furo"
html_title = f"fencepost {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = True
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
