"""Writes a report in one of its formats."""

import json
from typing import Literal, TypeAlias, get_args

from surefoot.errors import UsageError
from surefoot.report.build import Source, build_report
from surefoot.report.html import as_html, load_template
from surefoot.report.limits import FILE_BYTES, OPTIONAL_CHARS
from surefoot.report.markdown import as_markdown

Format: TypeAlias = Literal["html", "md", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
CONTENT_TYPES: dict[Format, str] = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
}


def render(source: Source, kind: Format, *, file_bytes: int = FILE_BYTES) -> bytes:
    """Render the report as a file. If it is too large, it is built again with less optional content."""
    template = load_template() if kind == "html" else ""
    room = OPTIONAL_CHARS
    while True:
        report = build_report(source, room)
        match kind:
            case "html":
                text = as_html(report, template)
            case "md":
                text = as_markdown(report)
            case "json":
                text = json.dumps(report, ensure_ascii=False) + "\n"
        data = text.encode("utf-8", "replace")
        if len(data) <= file_bytes or room == 0:
            return data
        room = room // 2 if room > 1_000 else 0


def report_format(name: str) -> Format:
    """The format with this name. Raises UsageError if there is none."""
    chosen = next((kind for kind in FORMATS if kind == name), None)
    if chosen is None:
        raise UsageError(f"a report has no format {name!r}", remedy=f"choose one of {', '.join(FORMATS)}")
    return chosen


def file_name(run_id: str, kind: Format) -> str:
    return f"surefoot-{run_id}.{kind}"
