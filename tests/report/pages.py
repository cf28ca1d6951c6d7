"""Reading the pages of reports."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from typing import Any

TEMPLATE = """<!doctype html><html><head><meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<title>Surefoot</title></head><body><noscript><!--surefoot:noscript--></noscript>
<template id="data"><!--surefoot:data--></template></body></html>"""
"""Like the built one, without its script and its style."""
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Elements(HTMLParser):
    """The elements of a page and its text, read as a browser without JavaScript reads them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.comments: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self.text += data


def unpacked(page: str) -> Any:
    found = re.search(r'<template id="data">(.*?)</template>', page, re.DOTALL)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[1])))
