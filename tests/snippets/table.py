"""Which code of the documentation is run by which test, in which story, and what cannot be run, with the reason."""

from typing import NamedTuple

from surefoot.report.html import TEMPLATE


class Scene(NamedTuple):
    """The story before a block. `each`: it is put back before every line, because these are alternatives."""

    story: str
    each: bool = False
    folder: str = "projects/report"


ANYWHERE = ""

SCENES: dict[str, dict[str, Scene]] = {
    "README.md": {"Surefoot": Scene("new"), "Every day": Scene("new")},
    "concepts/journal.md": {ANYWHERE: Scene("done")},
    "concepts/workspace.md": {ANYWHERE: Scene("new")},
    "configuration.md": {ANYWHERE: Scene("configured")},
    "guides/approvals.md": {ANYWHERE: Scene("new")},
    "guides/local-models.md": {ANYWHERE: Scene("new")},
    "guides/page.md": {ANYWHERE: Scene("done")},
    "guides/project-setup.md": {ANYWHERE: Scene("new", folder="projects")},
    "guides/recovery.md": {"Configure it": Scene("at work", each=True), "Continue": Scene("failed", each=True)},
    "guides/replay.md": {ANYWHERE: Scene("done")},
    "guides/report.md": {ANYWHERE: Scene("done")},
    "guides/statistics.md": {ANYWHERE: Scene("done")},
    "guides/strong-models.md": {ANYWHERE: Scene("new")},
    "guides/teams.md": {ANYWHERE: Scene("new")},
    "guides/undo.md": {
        ANYWHERE: Scene("done"),
        "Undo": Scene("done", each=True),
        "Fork": Scene("done"),
        "Work in a copy": Scene("new"),
    },
    "troubleshooting.md": {ANYWHERE: Scene("done")},
    "cli.md": {
        ANYWHERE: Scene("done", each=True),
        "The command line": Scene("new"),
        "surefoot run": Scene("new", each=True),
        "surefoot plan": Scene("new"),
        "surefoot edit": Scene("planned", each=True),
        "surefoot skip": Scene("at work"),
        "surefoot pause": Scene("at work"),
        "surefoot cancel": Scene("at work"),
        "surefoot answer": Scene("asking", each=True),
        "surefoot retry": Scene("failed", each=True),
        "surefoot resume": Scene("failed", each=True),
        "surefoot trust": Scene("configured"),
        "surefoot config": Scene("configured", each=True),
    },
}
"""Pages whose shell blocks are run by test_shell.py; by title, what comes before a block. ANYWHERE is
for all others: the first block begins with it, the next ones go on."""

BEFORE: dict[str, str] = {
    r"surefoot run --(plan|based-on) 1115": "planned",
    r"surefoot run --continue last .* in README": "done",
    r"surefoot fork .*--question": "asking",
}
"""The story before single lines that need another one than their block."""

CANNOT_RUN: dict[str, str] = {
    r"(pipx|pip|uv) ": "installs the program; tests/repository/test_wheel.py does",
    r"make web": "builds the page with Node; `make web-test` does",
    r".* -m (ollama/|llamacpp|http://)": "needs the server of a model",
    r".* -m local\b": "needs the weights of the embedded model",
    r"surefoot model (pull|serve|test)": "needs the weights, or the server of a model",
    r"surefoot push": "needs a run of a worker; tests/integrations/temporal/test_guide.py pushes one",
    r"surefoot worker": "needs Temporal; tests/integrations/temporal/test_guide.py starts one",
    r"surefoot recover": "needs Redis; tests/integrations/test_guides.py does it",
    r"surefoot demo": "plays a recorded run in the time that it took; tests/cli/demo/test_demo.py does it faster",
    r"ssh ": "needs another machine",
    r"surefoot serve .*--tls-cert": "needs a certificate; tests/server has tests with one",
}
"""Regular expressions for the beginnings of lines that are only parsed, with the reason."""

TYPED: dict[str, dict[str, str]] = {
    r"surefoot( +#.*)?$": {"\x1b[6n": "\x1b[30;1R", "·  ": "\x04"},
    r"surefoot init(?!.*--trust)": {"Trust it": "y\r"},
    r"surefoot run --plan last --review": {"[k,u": "q\r"},
    r"surefoot review(?!.*--)": {"[k,u": "q\r"},
    r"surefoot undo(?!.*--yes)": {"Continue?": "y\r"},
    r"surefoot apply": {"Continue?": "y\r"},
    r"surefoot (config )?edit(?!.*--(print|file))": {},
    r"surefoot answer last": {"y = yes": "y\r"},
    r"surefoot answer$": {"Which values": "the sales\r"},
}
"""What to type on a terminal, by the text that asks for it."""

CODES: dict[str, int] = {
    r"surefoot run .*--approve ask": 4,
    r'surefoot run --continue last "now also document it': 3,
    r"surefoot run --plan last --review": 3,
    r"surefoot report( *#.*|.*\.html.*)?$": 0 if TEMPLATE.exists() else 1,
}
"""Exit codes other than 0, by the beginning of the line."""

OTHER_TESTS: dict[str, dict[str, str]] = {
    "tests/cli/commands/test_database.py": {"guides/postgres.md": "sh python toml"},
    "tests/cli/test_docs.py": {"configuration.md": "toml", "guides/project-setup.md": "toml"},
    "tests/cli/test_tutorial.py": {"tutorial.md": "sh"},
    "tests/integrations/temporal/test_guide.py": {"guides/workers.md": "sh toml"},
    "tests/integrations/test_guides.py": {"guides/redis.md": "sh python toml", "guides/telemetry.md": "sh python toml"},
    "tests/repository/test_docs_guides.py": {
        "guides/library.md": "python",
        "guides/mcp.md": "sh python toml",
        "models.md": "sh json",
    },
    "tests/repository/test_docs_pages.py": {
        "README.md": "python",
        "guides/approvals.md": "python",
        "guides/migrating.md": "python",
        "guides/testing.md": "python",
    },
    "tests/repository/test_git_guide.py": {"guides/git.md": "sh"},
    "tests/repository/test_integration_guides.py": {
        "guides/ci.md": "yaml",
        "guides/editors.md": "json",
        "guides/langgraph.md": "python",
    },
    "tests/server/test_reference.py": {"reference/protocol.md": "json"},
    "tests/tools/test_docs.py": {"tools.md": "python"},
    "tests/snippets/test_transcripts.py": {"guides/project-setup.md": "console"},
    "tests/snippets/test_programs.py": {"guides/replay.md": "python", "guides/mcp.md": "json", "cli.md": "json"},
}
"""Other tests that run blocks of pages, by their languages. test_covered.py wants every block in a table; TOML is read
as settings by tests/repository/test_docs_pages.py, on every page."""

ONLY_PARSED: dict[str, str] = {
    "deploy.md sh": "needs several machines; the parts are tested in tests/integrations/temporal and tests/server",
    "tutorial.md bash": "installs the program and builds the page",
}
"""Blocks that no test runs, as `page language`, with the reason."""
