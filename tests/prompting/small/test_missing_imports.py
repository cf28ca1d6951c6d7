"""Adding imports that a small model forgot."""

import ast
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.prompting.small.missing_imports import with_missing_imports


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("code", "added"),
    [
        ("rows = list(csv.reader(open('a')))\n", ["import csv"]),
        ("def f(x: List) -> Optional[int]: ...\n", ["from typing import List", "from typing import Optional"]),
        ("print(json.dumps(Counter('ab')), re.sub('a', '', 'b'))\n",
         ["import json", "import re", "from collections import Counter"]),
        ("d = datetime.strptime('1', '%d')\n", ["from datetime import datetime"]),
        ("d = datetime.timedelta(1)\n", ["import datetime"]),
        ("x = collections.abc.Mapping\n", ["import collections.abc"]),
        ("urllib.parse.quote(xml.etree.ElementTree)\n", ["import urllib.parse", "import xml.etree.ElementTree"]),
    ],
)  # fmt: skip
def test_missing_imports_are_added(code: str, added: list[str]) -> None:
    assert with_missing_imports(code) == "".join(f"{line}\n" for line in added) + code


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    "code",
    [
        "import csv\ncsv.reader([])\n",
        "import os.path\nos.path.join('a')\n",
        "import numpy as random\nrandom.rand()\n",
        "from helpers import *\njson.dumps(1)\n",
        "def f(csv):\n    return csv.rows\n",
        "for string in 'ab':\n    string.upper()\n",
        "try:\n    pass\nexcept OSError as signal:\n    signal.args\n",
        "match x:\n    case {'a': 1, **select}:\n        select.keys()\n",
        "with open('a') as code:\n    code.read()\n",
        "class Path:\n    pass\nPath.x\n",
        "frame.group('pandas')\n",
        "if os_name == 'nt':\n    msvcrt.getch()\n",
        "datetime.now() - datetime.timedelta(days=1)\n",
        "def f():\n    global json\n    json.x\n",
        '"""d"""; print(json.dumps(1))',
        "from __future__ import annotations; x = json.dumps(1)\n",
        'x = "\x0c"\nprint(x)\n',
        "print(csv)\n",
        "if True print(csv.reader)\n",
        "",
    ],
)
def test_defined_and_unknown_names_are_left_alone(code: str) -> None:
    assert with_missing_imports(code) == code


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    "head",
    [
        '"""Rows\nof a file."""\nfrom __future__ import annotations\n',
        "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n",
        '# Licence\n"""Rows."""\n',
        '"""Rows."""\r\n',
        "",
    ],
)
def test_header_of_a_file_stays_first(head: str) -> None:
    ending = "\r\n" if "\r" in head else "\n"
    code = f"x = csv.reader([]){ending}"
    assert with_missing_imports(head + code) == f"{head}import csv{ending}{code}"


FRAGMENTS = ['"""d"""', ";", "\n", "\r\n", "json.dumps(1)", "x: List = csv.reader", "#!x", "# c", "\f",
             "def f():\n    ", "from __future__ import annotations", "import csv", "\\\n", "'\u2028'",
             "datetime.now()"]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join))
def test_result_parses_and_differs_only_in_imports(code: str) -> None:
    completed = with_missing_imports(code)
    try:
        before = ast.parse(code)
    except (SyntaxError, ValueError):
        assert completed == code
        return
    added = [node for node in ast.parse(completed).body if ast.dump(node) not in set(map(ast.dump, before.body))]
    assert all(isinstance(node, ast.Import | ast.ImportFrom) for node in added)
    assert ast.get_docstring(ast.parse(completed)) == ast.get_docstring(before)
    assert with_missing_imports(completed) == completed


def test_fragments_make_code_that_lacks_imports() -> None:
    samples = ["".join(pair) for pair in itertools.product(FRAGMENTS, FRAGMENTS)]
    assert sum(with_missing_imports(code) != code for code in samples) > 20
