"""Tools that time out, are down, lie, break in odd ways, leave things half done, and checks that flake."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from faults.scenario import Call, Done, Scenario, Wish, call_step, file_step, free_step
from surefoot.core.plan import ExecutionStep


class TimesOutTwice(Scenario):
    story = "a tool times out twice, then works"
    good: ClassVar = {"rates.json": '{"EUR": 1.1}\n'}
    check = "grep -q EUR rates.json"

    def plan(self) -> Sequence[ExecutionStep]:
        return [call_step("rates", "fetch_rates")]

    def tools(self) -> Sequence[Callable[..., Any]]:
        def fetch_rates() -> str:
            """Fetch the exchange rates into rates.json."""
            self.write("rates.json.part", "{")
            if self.fails("fetch", 2):
                raise TimeoutError("no answer in time")
            (self.root / "rates.json.part").rename(self.root / "rates.json")
            self.write("rates.json", self.good["rates.json"])
            return "fetched the rates"

        return [fetch_rates]

    def next(self, prompt: str) -> Call | Done:
        return Done() if "fetched the rates" in prompt else Call("fetch_rates")


class WrongParameter(Scenario):
    story = "a parameter is wrong until it is corrected"
    good: ClassVar = {"receipt.txt": "ds_001\n"}
    check = "grep -q ds_001 receipt.txt"
    litters_under = frozenset({"no reflection"})
    most_extra_calls = 1

    def plan(self) -> Sequence[ExecutionStep]:
        return [call_step("upload", "data_upload", datasource_id="ds_invalid" if self.faulty else "ds_001")]

    def tools(self) -> Sequence[Callable[..., Any]]:
        def data_upload(datasource_id: str) -> str:
            """Upload the data to a data source."""
            if datasource_id != "ds_001":
                self.write("upload.lock", datasource_id)
                raise ValueError(f"数据源不存在: {datasource_id}; known: ds_001")
            self.write("receipt.txt", f"{datasource_id}\n")
            return f"uploaded to {datasource_id}"

        return [data_upload]

    def next(self, prompt: str) -> Call | Done:
        if "uploaded to" in prompt:
            return Done()
        return Call("data_upload", {"datasource_id": "ds_001" if "known: ds_001" in prompt else "ds_invalid"})


class DownWithAlternative(Scenario):
    story = "a tool is always down, and there is another one for the job"
    good: ClassVar = {"result.csv": "3\n"}
    check = "grep -q 3 result.csv"
    litters_under = frozenset({"no reflection"})

    def plan(self) -> Sequence[ExecutionStep]:
        return [call_step("process", "process_data", rows=3)]

    def tools(self) -> Sequence[Callable[..., Any]]:
        def process_data(rows: int) -> str:
            """Process the rows into result.csv."""
            self.write("processing.tmp", "…")
            if self.faulty:
                raise ConnectionError("工具服务连接超时")
            (self.root / "processing.tmp").unlink()
            return alternative_processor(rows)

        def alternative_processor(rows: int) -> str:
            """Process the rows into result.csv without the service."""
            self.write("result.csv", f"{rows}\n")
            return f"processed {rows} rows"

        process_data.alternatives = ("alternative_processor",)  # type: ignore[attr-defined]
        return [process_data, alternative_processor]

    def next(self, prompt: str) -> Call | Done:
        if "processed 3 rows" in prompt:
            return Done()
        return Call("alternative_processor" if "ConnectionError" in prompt else "process_data", {"rows": 3})


class AlwaysDown(Scenario):
    story = "a tool is always down, and there is no other"
    recoverable = False
    good: ClassVar = {"result.csv": "3\n"}
    check = "grep -q 3 result.csv"

    def plan(self) -> Sequence[ExecutionStep]:
        return [call_step("process", "process_data", rows=3)]

    def tools(self) -> Sequence[Callable[..., Any]]:
        def process_data(rows: int) -> str:
            """Process the rows into result.csv."""
            self.write("processing.tmp", "…")
            raise ConnectionError("refused")

        return [process_data]

    def next(self, prompt: str) -> Call | Done:
        return Call("process_data", {"rows": 3})


class NotCriticalAndDown(AlwaysDown):
    story = "a step that may be missing cannot be done, the rest can"
    recoverable = True
    good: ClassVar = {"note.txt": "note\n"}
    check = "grep -q note note.txt"
    most_extra_calls = 1

    def plan(self) -> Sequence[ExecutionStep]:
        optional = call_step("process", "process_data", rows=3).with_(critical=False)
        return [free_step("note", "write note.txt with the word note")] if not self.faulty else [optional, NOTE]

    def next(self, prompt: str) -> Call | Done:
        if "# Failed step\nprocess" in prompt:
            return Call("process_data", {"rows": 3})
        if "# Step\nprocess" in prompt:
            return Done("it is down") if "ConnectionError" in prompt else Call("process_data", {"rows": 3})
        return Done() if "echo note" in prompt else Call("run_command", {"command": "echo note > note.txt"})


NOTE = free_step("note", "write note.txt with the word note")


class MissingUpstream(Scenario):
    story = "what a step needs was never made: the plan lacks a step"
    files: ClassVar = {"raw.csv": "b\na\n"}
    good: ClassVar = {"clean.csv": "a\nb\n", "features.txt": "A\nB\n"}
    check = "grep -q A features.txt"
    never_under = frozenset({"static"})
    most_extra_calls = 5

    def plan(self) -> Sequence[ExecutionStep]:
        features = call_step("features", "compute_features")
        return [features] if self.faulty else [call_step("clean", "make_clean"), features]

    def tools(self) -> Sequence[Callable[..., Any]]:
        def make_clean() -> str:
            """Make clean.csv from raw.csv."""
            lines = sorted((self.root / "raw.csv").read_text().split())
            self.write("clean.csv", "\n".join(lines) + "\n")
            return "cleaned the data"

        def compute_features() -> str:
            """Make features.txt from clean.csv."""
            self.write("features.tmp", "…")
            text = Path(self.root / "clean.csv").read_text() if (self.root / "clean.csv").exists() else ""
            if not text:
                raise FileNotFoundError(2, "No such file or directory", "clean.csv")
            (self.root / "features.tmp").unlink()
            self.write("features.txt", text.upper())
            return "computed the features"

        return [make_clean, compute_features]

    def next(self, prompt: str) -> Call | Done:
        if "# Step\nmake clean.csv" in prompt:
            return Done() if "cleaned the data" in prompt else Call("make_clean")
        if "computed the features" in prompt:
            return Done()
        missing = "No such file or directory: 'clean.csv'" in prompt and "cleaned the data" not in prompt
        return Call("make_clean" if missing else "compute_features")

    def wishes(self, prompt: str) -> Sequence[Wish]:
        if "Plan this one step again" in prompt:
            return [Wish("features", check=self.check)]
        return [Wish("make clean.csv", check="grep -q a clean.csv"), Wish("features", check=self.check)]


class LiesOnce(Scenario):
    story = "a tool says that it worked, and did nothing"
    good: ClassVar = {"report.txt": "the report\n"}
    check = "grep -q report report.txt"
    never_under = frozenset({"static"})
    most_extra_calls = 1
    lies = 1

    def plan(self) -> Sequence[ExecutionStep]:
        return [call_step("report", "save_report")]

    def tools(self) -> Sequence[Callable[..., Any]]:
        def save_report(force: bool = False) -> str:
            """Save the report to report.txt."""
            if not self.fails("save", self.lies):
                self.write("report.txt", self.good["report.txt"])
            return "saved the report"

        return [save_report]

    def next(self, prompt: str) -> Call | Done:
        if any(words in prompt for words in ("checks fail", "the check fails", "exit code 1")):
            return Done() if '"force": true' in prompt else Call("save_report", {"force": True})
        return Done() if "saved the report" in prompt else Call("save_report")


class LiesForEver(LiesOnce):
    story = "a tool says that it worked, each time, and never does anything"
    recoverable = False
    lies = 1_000_000


class KilledHalfWay(Scenario):
    story = "the process is killed when a file is half written"
    files: ClassVar = {"ledger.csv": "one\n"}
    good: ClassVar = {"ledger.csv": "one\ntwo\nthree\n"}
    check = "grep -q three ledger.csv"
    kills = True

    def plan(self) -> Sequence[ExecutionStep]:
        return [call_step("ledger", "append_rows")]

    def tools(self) -> Sequence[Callable[..., Any]]:
        def append_rows() -> str:
            """Append the new rows to ledger.csv."""
            with (self.root / "ledger.csv").open("a") as ledger:
                ledger.write("two\nth")
                ledger.flush()
                if self.fails("append", 1):
                    os.kill(os.getpid(), signal.SIGKILL)
                ledger.write("ree\n")
            return "appended the rows"

        return [append_rows]

    def next(self, prompt: str) -> Call | Done:
        return Done() if "appended the rows" in prompt else Call("append_rows")

    def truth(self) -> bool:
        return (self.root / "ledger.csv").read_text() == self.good["ledger.csv"]


class FlakyCheck(Scenario):
    story = "the user's own test fails the first time, whatever is done"
    good: ClassVar = {"out.txt": "out\n"}
    check = "sh test_out.sh"
    most_extra_calls = 1

    def __init__(self, root: Path, outside: Path, *, faulty: bool = True) -> None:
        counter = outside / "flaky.count"
        flake = f"echo once more >> {counter}; test $(wc -l < {counter}) -gt 1" if faulty else "true"
        self.files = {"test_out.sh": f"grep -q out out.txt || exit 1; {flake}\n"}  # type: ignore[misc]
        super().__init__(root, outside, faulty=faulty)

    def plan(self) -> Sequence[ExecutionStep]:
        return [file_step("out.txt", "write the word out")]

    def next(self, prompt: str) -> Call | Done:
        if "out.txt as it is now" not in prompt and "wrote out.txt" in prompt:
            return Done()
        return Call("write_file", {"path": "out.txt", "content": "out\n"})


# -- exceptions that nobody expects --------------------------------------------------------------------------------


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this works")


class OddException(Scenario):
    story = "a tool breaks in an odd way once, then works"
    good: ClassVar = {"converted.txt": "converted\n"}
    check = "grep -q converted converted.txt"
    most_extra_calls = 1
    odd: ClassVar[Callable[[], BaseException]]

    def plan(self) -> Sequence[ExecutionStep]:
        return [call_step("convert", "convert")]

    def tools(self) -> Sequence[Callable[..., Any]]:
        def convert() -> str:
            """Convert everything into converted.txt."""
            self.write("convert.tmp", "…")
            if self.fails("convert", 1):
                raise type(self).odd()
            (self.root / "convert.tmp").unlink()
            self.write("converted.txt", "converted\n")
            return "converted it"

        return [convert]

    def next(self, prompt: str) -> Call | Done:
        return Done() if "converted it" in prompt else Call("convert")


ODD: dict[str, Callable[[], BaseException]] = {
    "StopIteration": StopIteration,
    "StopAsyncIteration": StopAsyncIteration,
    "SystemExit": lambda: SystemExit(3),
    "ExceptionGroup": lambda: ExceptionGroup("several", [ValueError("a"), OSError("b")]),
    "MemoryError": MemoryError,
    "RecursionError": lambda: RecursionError("too deep"),
    "Unprintable": Unprintable,
    "lone surrogate": lambda: ValueError("\udcff\x00\x1b[2J"),
}


def _odd(name: str, make: Callable[[], BaseException]) -> type[OddException]:
    values = {"odd": staticmethod(make), "story": f"a tool raises {name} once, then works"}
    title = "".join(word[0].upper() + word[1:] for word in name.split())
    return type(f"Odd{title}", (OddException,), values)


ODD_SCENARIOS = [_odd(name, make) for name, make in ODD.items()]
