"""Names become links: `store.runs.claim_next` in a page, and errors in docstrings.

The pages are plain Markdown that reads well where nobody builds it, so they name things in
code and not in Sphinx's roles.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform

import fencepost

FACETS = {
    name: f"fencepost.{name}.{name.capitalize()}"
    for name in ("resources", "queue", "effects", "requests", "events", "runs", "feed")
}
_CALL = re.compile(r"(?:await )?(store|worker|fencepost)\.([\w.]+)(?:\(.*\))?", re.DOTALL)
_ERROR = re.compile(r"(?<![\w.`])(\w+Error)\b(?!`)")


def object_of(text: str) -> str | None:
    """The full name of what a piece of code speaks of, or None."""
    if text in fencepost.__all__:
        return f"fencepost.{text}"
    if hasattr(fencepost.errors, text):
        return f"fencepost.errors.{text}"
    call = _CALL.fullmatch(text)
    if call is None:
        return None
    root, path = call.groups()
    first, _, rest = path.partition(".")
    if root == "fencepost":
        return f"fencepost.{path}"
    if first in FACETS:
        return f"{FACETS[first]}.{rest}" if rest else FACETS[first]
    return f"fencepost.Store.{path}" if root == "store" else None


class LinkCode(SphinxTransform):
    """Makes a link of each piece of code in a page that names something public."""

    default_priority = 500

    def apply(self, **_options: Any) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, nodes.reference | addnodes.pending_xref):
                continue
            target = object_of(literal.astext())
            if target is None:
                continue
            link = addnodes.pending_xref(
                "",
                literal.deepcopy(),
                refdomain="py",
                reftype="obj",
                reftarget=target,
                refexplicit=True,
                refwarn=False,
                refdoc=self.env.docname,
                fencepost_optional=True,
            )
            literal.replace_self(link)


def _public_names() -> dict[str, str]:
    """The public names of what is defined in private modules."""
    names = {}
    for module in (fencepost, fencepost.observing, fencepost.errors):
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__.startswith("fencepost"):
                names[f"{value.__module__}.{value.__qualname__}"] = f"{module.__name__}.{name}"
                names.setdefault(name, f"{module.__name__}.{name}")
    return names


PUBLIC = _public_names()


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.Node | None:
    """A reference by a private name leads to the public one."""
    target = node.get("reftarget", "")
    if node.get("refdomain") == "py":
        public = PUBLIC.get(target, target)
        if public != target:
            found = env.domains["py"].resolve_xref(
                env, node["refdoc"], app.builder, "obj", public, node, content
            )
            if found is not None:
                return found
    return content if node.get("fencepost_optional") else None


def link_errors(
    _app: Sphinx, _what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Errors that a docstring names become links."""
    lines[:] = [
        _ERROR.sub(
            lambda match: (
                f":py:exc:`~fencepost.errors.{match[1]}`"
                if hasattr(fencepost.errors, match[1])
                else match[0]
            ),
            line,
        )
        for line in lines
    ]


def dashes(_app: Sphinx, tree: nodes.document) -> None:
    """Between an argument and what it is Sphinx puts two hyphens, for smart quotes to find."""
    for text in list(tree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" \N{EN DASH} "))


def titles(app: Sphinx, tree: nodes.document, page: str) -> None:
    """A link that shows the name of a page's file shows its title instead."""
    for link in tree.findall(nodes.reference):
        if link.get("internal") and link.astext().endswith(".md"):
            target = str(PurePosixPath(page).parent / link.astext())
            title = app.env.titles.get(target.removesuffix(".md"))
            if title is not None:
                link.clear()
                link.append(nodes.Text(title.astext()))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(LinkCode)
    app.connect("doctree-read", dashes)
    app.connect("doctree-resolved", titles)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", link_errors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
