"""Telemetry of `surefoot run`: switched on by a setting, told in one line when it does not arrive, secrets hidden."""

import sys
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from cli.conftest import surefoot as surefoot
from integrations.otel.conftest import Observed
from integrations.otel.test_quiet import LOOK, closed_port
from support.kit import fenced, understanding
from support.otlp import Receiver
from surefoot.config.extras import install_remedy
from surefoot.errors import ConfigError
from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.ids import trace_id_of
from surefoot.journal.redact import Redactor

pytestmark = pytest.mark.slow

GOOD = "def add(a, b):\n    return a + b\n"


def config(surefoot: Surefoot, text: str) -> None:
    path = surefoot.home / ".config/surefoot/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def command(surefoot: Surefoot) -> list[str]:
    answers = [{**understanding("adder.py"), "understanding": "Write adder.py with add(a, b)"}, fenced(GOOD)]
    return ["run", "Write adder.py with add(a, b)", "-m", surefoot.script(*answers), "--json", "--baseline", "off"]


@pytest.mark.req("X9")
def test_a_run_of_the_command_line_is_sent_when_it_is_switched_on(surefoot: Surefoot, receiver: Receiver) -> None:
    surefoot.environ |= receiver.variables
    off = surefoot(*command(surefoot))
    assert receiver.requests == [], "the variables alone switch nothing on"
    config(surefoot, "[telemetry]\nenabled = true\n")
    on = surefoot(*command(surefoot))
    assert (on.code, on.err) == (off.code, off.err)
    run_id = on.objects[-1]["run_id"]
    (root,) = receiver.spans("invoke_agent")
    assert root.trace == f"{trace_id_of(run_id):032x}"
    assert root.attributes[n.VERDICT] == on.objects[-1]["verdict"]
    assert receiver.points(n.RUN_DURATION)


@pytest.mark.req("X9")
def test_an_undelivered_trace_is_one_line_and_changes_no_exit_code(surefoot: Surefoot) -> None:
    plain = surefoot(*command(surefoot))
    config(surefoot, "[telemetry]\nenabled = true\nflush_seconds = 0.5\n")
    surefoot.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{closed_port()}"
    result = surefoot(*command(surefoot))
    assert result.code == plain.code
    assert [line for line in result.lines if line not in plain.lines] == [
        line for line in result.lines if line.startswith("telemetry was not delivered")
    ]
    assert len([line for line in result.lines if "telemetry" in line]) == 1


@pytest.mark.req("X9")
async def test_missing_packages_are_named_with_the_remedy(observed: Observed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigError, match="packages that are not installed") as error:
        await observed.run("look", [], plan=LOOK)
    assert install_remedy("otel") in str(error.value.remedy)


def test_the_headers_of_the_receiver_are_secret() -> None:
    environ = {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=wombat-991-lemur,Authorization=Bearer%20ibis-4455-heron,a=b"}
    redact = Redactor.from_environment(environ).redact
    assert redact("sent wombat-991-lemur and ibis-4455-heron") == "sent [redacted] and [redacted]"


def test_nothing_of_it_is_imported_while_it_is_off(surefoot: Surefoot) -> None:
    surefoot.forked = False
    folder = Path(surefoot.home) / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "def loaded():\n"
        "    print('LOADED', 'opentelemetry' in sys.modules, 'redis' in sys.modules, file=sys.stderr)\n"
        "atexit.register(loaded)\n"
    )
    surefoot.environ["PYTHONPATH"] = str(folder)
    result = surefoot(*command(surefoot))
    assert "LOADED False False" in result.err
