"""Writes `llms.txt` (https://llmstxt.org): each page with its address and one line about it;
and `llms-full.txt`: all pages as plain text, the reference included.

The line is the page's first sentence, so a page begins with what it is about.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from docutils.io import StringOutput
from sphinx.application import Sphinx
from sphinx.builders.text import TextBuilder
from sphinx.environment import BuildEnvironment
from sphinx.writers.text import TextWriter

NAME, FULL_NAME = "llms.txt", "llms-full.txt"


def first_sentence(tree: nodes.document) -> str:
    """The first sentence of a page's text, without its title."""
    for paragraph in tree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        return re.split(r"(?<=[.:]) (?=[A-Z`])", text, maxsplit=1)[0].rstrip(":")
    return ""


def chapters(env: BuildEnvironment) -> list[tuple[str, list[str]]]:
    """The parts of the table of contents and their pages, in its order."""
    found = []
    for toctree in env.get_doctree(env.config.root_doc).findall():
        if toctree.tagname == "toctree":
            found.append((toctree.get("caption") or "Pages", list(toctree["includefiles"])))
    return found


def text_of(env: BuildEnvironment) -> str:
    """The whole of `llms.txt`."""
    root = env.config.root_doc
    lines = [
        f"# {env.config.project}",
        "",
        f"> {first_sentence(env.get_doctree(root))}",
        "",
        f"The Markdown of a page PAGE.html is _sources/PAGE.md.txt; all as text: {FULL_NAME}.",
    ]
    for caption, pages in chapters(env):
        lines += ["", f"## {caption}", ""]
        for page in pages:
            title = env.titles[page].astext()
            about = first_sentence(env.get_doctree(page))
            lines.append(f"- [{title}]({page}.html): {about}")
    return "\n".join(lines) + "\n"


def full_text(app: Sphinx) -> str:
    """All pages, in the order of the table of contents."""
    builder = TextBuilder(app, app.env)
    builder.init()
    pages = [app.env.config.root_doc]
    pages += [page for _, chapter in chapters(app.env) for page in chapter]
    texts = []
    for page in pages:
        writer, output = TextWriter(builder), StringOutput(encoding="unicode")
        writer.write(app.env.get_and_resolve_doctree(page, builder), output)
        texts.append(str(output.destination))
    return "\n\n".join(texts)


def write(app: Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        Path(app.outdir, NAME).write_text(text_of(app.env), "utf-8")
        Path(app.outdir, FULL_NAME).write_text(full_text(app), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
