"""Imports that a small model forgot."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.imports import with_missing_imports


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
        ("x = collections.abc.Mapping\n", ["import collections"]),
    ],
)  # fmt: skip
def test_what_is_missing_is_added(code: str, added: list[str]) -> None:
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
        'x = "\x0c"\nprint(x)\n',
        "print(csv)\n",
        "if True print(csv.reader)\n",
        "",
    ],
)
def test_what_has_a_name_or_is_no_module_is_left_alone(code: str) -> None:
    assert with_missing_imports(code) == code


@pytest.mark.req("X5")
def test_the_head_of_a_file_stays_first() -> None:
    code = '"""Rows\nof a file."""\nfrom __future__ import annotations\n\nx = csv.reader([])\n'
    assert with_missing_imports(code) == code.replace("annotations\n", "annotations\nimport csv\n")


@given(st.text(alphabet="csv.json()=\n import*'\"#:", max_size=60))
def test_python_stays_python_and_the_rest_as_it_is(code: str) -> None:
    done = with_missing_imports(code)
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        assert done == code
    else:
        ast.parse(done)
        assert with_missing_imports(done) == done
