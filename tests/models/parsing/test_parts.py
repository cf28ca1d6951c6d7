"""Splitting a free-form answer into files and commands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.models.parsing.parts import Part, parts

ANSWER = """\
I change two files and then build.

`shop/cart.py`
```python
RATE = 1
```

**settings.py**:
```python
# settings.py
TAX = 0.19
```

Then run:
```sh
$ python3 build.py
built
$ ls
```
"""


@pytest.mark.req("X5")
def test_files_and_commands_in_order() -> None:
    assert parts(ANSWER) == [
        Part("shop/cart.py", "RATE = 1\n"),
        Part("settings.py", "# settings.py\nTAX = 0.19\n"),
        Part("", "python3 build.py\nls\n"),
    ]


SEVERAL = """\
`README.md`
```markdown
# Codes

Made from `codes.csv`.
```

# codes.csv
```
code,text
418,teapot
```

**codes.py**:
```
CODES = {418: 'teapot'}
```
"""
NESTED = """\
`README.md`
```markdown
# Codes

Run this, then look at codes.py:
```
make
```
That is all.
```
"""


NAMED_INSIDE = """\
`README.md`
```markdown
# Codes

`one.toml`
```toml
x = 1
```

`two.toml`
```toml
x = 2
```
```
"""


LISTING = """\
`README.md`
```markdown
# Files

```
a.py
b.py
```

Run it with make.
```
"""


@pytest.mark.req("X5")
def test_a_document_ends_where_the_next_file_is_named() -> None:
    """It may contain blocks, but not the files that come after it."""
    assert parts(SEVERAL) == [
        Part("README.md", "# Codes\n\nMade from `codes.csv`.\n"),
        Part("codes.csv", "code,text\n418,teapot\n"),
        Part("codes.py", "CODES = {418: 'teapot'}\n"),
    ]
    for answer in (NESTED, NAMED_INSIDE, NAMED_INSIDE.replace("```toml", "```"), LISTING):
        assert parts(answer) == [Part("README.md", "\n".join(answer.splitlines()[2:-1]) + "\n")]


@pytest.mark.parametrize(
    ("answer", "unnamed", "expected"),
    [
        ("```python\nx = 1\n```", "", []),
        ("```python\nx = 1\n```", "a.py", [Part("a.py", "x = 1\n")]),
        ("`run.sh`\n```sh\nls\n```", "", [Part("run.sh", "ls\n")]),
        ("```bash\nls\n```", "a.py", [Part("", "ls\n")]),
        ("a.py:\n```python\nx = 1", "", [Part("a.py", "x = 1\n")]),
        ("<think>`b.py`\n```\nno\n```</think>`a.py`\n```\nyes\n```", "", [Part("a.py", "yes\n")]),
        ("`path/to/a.py`\n```\nx\n```", "", [Part("a.py", "x\n")]),
        ("nothing to do", "a.py", []),
    ],
)
def test_the_file_of_a_block(answer: str, unnamed: str, expected: list[Part]) -> None:
    assert parts(answer, unnamed) == expected


@given(st.text(alphabet="`~ \n$abc./py", max_size=80))
def test_any_text_can_be_split(text: str) -> None:
    assert all(part.text for part in parts(text, "a.py"))
