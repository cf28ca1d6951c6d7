"""Hooks of the documentation's site, called by MkDocs (`make docs`).

links       the pages link to files of the repository; in the site these are pages or files of the site
diagrams    a diagram becomes a table of its edges, so that no script from another server is needed
reference   the pages that `reference.py` makes from the code are added
assets      the built pages load nothing from another server
"""

import html
import posixpath
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import reference  # noqa: E402 - a module beside this one, which is no package

log = get_plugin_logger("surefoot")

PAGES = {
    "README.md": "index.md",
    "README.zh.md": "zh/index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "evals/README.md": "project/evals.md",
    "benchmarks/README.md": "project/measuring.md",
}
"""Pages of the repository outside docs/, and where they are in the site."""
COPIES = "repository"
"""The folder of the site with other files of the repository that pages link to."""

_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))|(?<=\ssrc=\")([^\"]+)(?=\")|(?<=\ssrcset=\")([^\"]+)(?=\")")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_EXTERNAL = re.compile(r"<(?:script|img|iframe|source)[^>]+src(?:set)?=\"?(?:https?:)?//|<link[^>]+stylesheet[^>]+//")


def on_config(config: MkDocsConfig) -> None:
    fence = {"name": "mermaid", "class": "diagram", "format": diagram}
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [fence]}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, uri in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    for uri, text in reference.pages().items():
        files.append(File.generated(config, uri, content=text))
    waiting = list(files.documentation_pages())
    while waiting:
        for path in sorted(_outside(waiting.pop())):
            if not files.get_file_from_path(f"{COPIES}/{path}"):
                source, level = str(ROOT / path), InclusionLevel.NOT_IN_NAV
                copied = File.generated(config, f"{COPIES}/{path}", abs_src_path=source, inclusion=level)
                files.append(copied)
                waiting += [copied] if copied.is_documentation_page() else []
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return _outside_fences(markdown, lambda text: _LINK.sub(lambda found: _rewritten(found[0], page.file), text))


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that would load something from another server."""
    for file in sorted(Path(config.site_dir).rglob("*.html")):
        if found := _EXTERNAL.search(file.read_text("utf-8")):
            raise PluginError(f"{file} loads something from another server: {found[0]}")


def diagram(source: str, language: str, css_class: str, options: Any, md: Any, **_: Any) -> str:
    """The edges of a Mermaid diagram as a table. GitHub draws the diagram."""
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in edges(source))
    if not rows:
        raise PluginError(f"this diagram has no edges that can be read:\n{source}")
    return f"<table><thead><tr><th>from</th><th>to</th><th>when</th></tr></thead><tbody>{rows}</tbody></table>"


def edges(source: str) -> list[tuple[str, str, str]]:
    """Read `a --> b: when` and `a[label] & b --> c`."""
    labels: dict[str, str] = dict(re.findall(r"\b(\w+)[\[(]+([^\])]+)[\])]+", source))
    labels["[*]"] = "●"
    found: list[tuple[str, str, str]] = []
    for line in source.splitlines():
        parts = re.match(r"\s*(.+?) --[>-] ([^:]+?)(?:: (.+))?$", line)
        if parts:
            left, right = (
                [re.sub(r"(?<=\w)[\[(].*", "", name.strip()) for name in side.split(" & ")]
                for side in parts.group(1, 2)
            )
            found += [(labels.get(a, a), labels.get(b, b), parts[3] or "") for a in left for b in right]
    return list(dict.fromkeys(found))


def _origin(file: File) -> str:
    """Where a page is in the repository. Generated pages are as if they were in docs/."""
    if file.src_uri.startswith(f"{COPIES}/"):
        return file.src_uri.removeprefix(f"{COPIES}/")
    return next((path for path, uri in PAGES.items() if uri == file.src_uri), f"docs/{file.src_uri}")


def _outside(file: File) -> set[str]:
    """The files of the repository that a page links to and that are not pages of the site."""
    found: set[str] = set()

    def note(text: str) -> str:
        for link in _LINK.finditer(text):
            path = _path(link[0], file)
            if path and not path.startswith("docs/") and path not in PAGES and (ROOT / path).is_file():
                found.add(path)
        return text

    _outside_fences(file.content_string, note)
    return found


def _path(target: str, file: File) -> str:
    """The path in the repository of what a relative link of a page means."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or not parts.path:
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(_origin(file)), parts.path))


def _rewritten(target: str, file: File) -> str:
    path = _path(target, file)
    if not path or (path.startswith("docs/") and _origin(file).startswith("docs/")):
        return target
    if path.startswith("docs/"):
        uri = path.removeprefix("docs/")
    elif path in PAGES:
        uri = PAGES[path]
    elif (ROOT / path).is_file():
        uri = f"{COPIES}/{path}"
    else:
        log.warning(f"{_origin(file)} links to {target!r}, which is no file of the repository")
        return target
    anchor = urlsplit(target).fragment
    here = posixpath.dirname(file.src_uri) or "."
    return posixpath.relpath(uri, here) + (f"#{anchor}" if anchor else "")


def _outside_fences(text: str, change: Any) -> str:
    """Apply a change to a page, but not to its code blocks."""
    done, last = [], 0
    for fence in _FENCE.finditer(text):
        done += [change(text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*done, change(text[last:])])
