"""The output of `surefoot stats`: figures, on a terminal with small charts."""

import sys
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.symbols import UNICODE, marks_for
from surefoot.core.transitions import Rung
from surefoot.history.stats.values import Day, Named, Results, Spread, Statistics, Usage
from surefoot.view.figures import format_cost

BAR_CELLS = 24
SHOWN_DAYS = 28
SHOWN_FAILURES = 6
LABELS = {
    "verified": ("A verified", "green"),
    "own_test": ("B own test", "green"),
    "done": ("C done", "yellow"),
    "failed": ("failed", "red"),
    "waiting": ("waiting", "yellow"),
    "undone": ("undone", "yellow"),
    "partly_undone": ("partly undone", "yellow"),
    "cancelled": ("cancelled", "dim"),
    "planned": ("only planned", "dim"),
    "unfinished": ("unfinished", "dim"),
}
"""The results of runs in the order in which they are shown, with their labels and colours."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"


class Chart(NamedTuple):
    """How bars are drawn: not at all in a pipe, in ASCII where the terminal has no Unicode."""

    shown: bool
    unicode: bool

    def bar(self, value: float, most: float, style: str) -> Text:
        if not self.shown or not most:
            return Text()
        eighths = max(round(value / most * BAR_CELLS * 8), 1 if value else 0)
        full, rest = divmod(eighths, 8)
        drawn = "█" * full + (_EIGHTHS[rest] if rest else "") if self.unicode else "#" * max(full, bool(value))
        return Text(f"{set_cell_size(drawn, BAR_CELLS)}  ", style)

    def levels(self, values: Sequence[int]) -> str:
        most = max(values, default=0) or 1
        drawn = _LEVELS if self.unicode else ".:-=+*%#"
        return "".join(drawn[min(value * 8 // most, 7)] if value else " " for value in values)


def chart_for_stdout() -> Chart:
    return Chart(sys.stdout.isatty(), marks_for(sys.stdout.encoding) is UNICODE)


def statistics_lines(statistics: Statistics, chart: Chart | None = None) -> Iterator[Text]:
    chart = chart or chart_for_stdout()
    where = f" in {fmt.folder(statistics.folder)}" if statistics.folder is not None else ""
    since = f" since {fmt.timestamp(statistics.since)}" if statistics.since is not None else ""
    yield Text(f"{fmt.count(statistics.runs, 'run')}{where}{since}", "bold")
    if not statistics.runs:
        return
    yield from _results(statistics, chart)
    yield from _durations(statistics, chart)
    yield from _recovery(statistics, chart)
    yield from _usage(statistics, chart)
    yield from _checks(statistics, chart)
    yield from _failures(statistics, chart)


def _table(title: str, rows: Sequence[Sequence[Text | str]]) -> Iterator[Text]:
    """A table with a title. The first and the last column are aligned left, the others right."""
    if not rows:
        return
    yield Text()
    yield Text(title, "bold")
    columns = max(len(row) for row in rows)
    widths = [max((cell_len(str(row[at])) for row in rows if at < len(row)), default=0) for at in range(columns)]
    for row in rows:
        line = Text("  ")
        for at, cell in enumerate(row):
            text = cell if isinstance(cell, Text) else Text(cell)
            pad = " " * (widths[at] - cell_len(str(text)))
            line.append_text(Text.assemble(text, pad) if at in (0, columns - 1) or not str(text) else Text(pad) + text)
            line.append("  " if at < columns - 1 and widths[at] else "")
        yield line


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _results(statistics: Statistics, chart: Chart) -> Iterator[Text]:
    counts = statistics.results.model_dump()
    most = max(counts.values())
    reasons = ", ".join(f"{item.name} {item.count}" for item in statistics.failed_by)
    rows = []
    for name, (label, style) in LABELS.items():
        if counts[name]:
            note = reasons if name == "failed" and len(statistics.failed_by) > 1 else ""
            bar = chart.bar(counts[name], most, style)
            rows.append((Text(label, style), bar, f"{counts[name]:,}", _share(counts[name], statistics.runs), note))
    yield from _table("Results", rows)
    if chart.shown and len(statistics.days) > 1:
        yield from _day_lines(statistics.days, chart)


def _day_lines(days: Sequence[Day], chart: Chart) -> Iterator[Text]:
    """Charts with a column for each of the last days: runs that succeeded, and runs that failed."""
    last = date.fromisoformat(days[-1].day)
    first = max(date.fromisoformat(days[0].day), last - timedelta(days=SHOWN_DAYS - 1))
    known = {day.day: day.results for day in days}
    range_of_days = [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]
    results = [known.get(day, Results()) for day in range_of_days]
    yield Text()
    yield Text(f"Days, {first} to {last}", "bold")
    rows = [
        ("succeeded", "green", [each.verified + each.own_test + each.done for each in results]),
        ("failed", "red", [each.failed for each in results]),
    ]
    for label, style, values in rows:
        if any(values):
            most = f"at most {max(values)} a day"
            yield Text.assemble("  ", (f"{label:<12}", style), "  ", (chart.levels(values), style), f"  {most}")


def _durations(statistics: Statistics, chart: Chart) -> Iterator[Text]:
    most = max((bucket.runs for bucket in statistics.durations), default=0)
    filled = [at for at, bucket in enumerate(statistics.durations) if bucket.runs]
    rows: list[Sequence[Text | str]] = []
    for bucket in statistics.durations[filled[0] : filled[-1] + 1] if filled else ():
        limit = f"under {_limit(bucket.up_to)}" if bucket.up_to is not None else "longer"
        rows.append((limit, chart.bar(bucket.runs, most, "cyan"), f"{bucket.runs:,}", ""))
    yield from _table(f"Working time: {_spread(statistics.seconds)}", rows)


def _limit(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:g} s"
    return f"{seconds / 60:g} min" if seconds < 3_600 else f"{seconds / 3_600:g} h"


def _spread(spread: Spread) -> str:
    if spread.median is None or spread.p90 is None or spread.longest is None:
        return "none"
    parts = (("median", spread.median), ("p90", spread.p90), ("longest", spread.longest))
    return ", ".join(f"{name} {fmt.duration(seconds)}" for name, seconds in parts)


def _recovery(statistics: Statistics, chart: Chart) -> Iterator[Text]:
    attempts = statistics.attempts
    rows = []
    most = max((use.taken for use in statistics.rungs), default=0)
    for use in statistics.rungs:
        name = fmt.RUNG_LABELS[Rung(use.rung)] if use.rung in set(Rung) else use.rung
        ends = use.rung in (Rung.GIVE_UP, Rung.SKIP_STEP)
        recovered = "" if ends else f"recovered {use.healed:,} ({_share(use.healed, use.taken)})"
        rows.append((name, chart.bar(use.taken, most, "magenta"), f"{use.taken:,}", recovered))
    again = f"{attempts.retries:,} of {fmt.count(attempts.steps, 'attempt')} of steps were retries"
    model = f", {fmt.count(attempts.model_retries, 'model call')} repeated" if attempts.model_retries else ""
    yield from _table("Recovery", rows or [("no step needed one",)])
    yield Text(f"  {again}{model}", "dim")


def _usage(statistics: Statistics, chart: Chart) -> Iterator[Text]:
    rows: list[Sequence[Text | str]] = []
    if len(statistics.models) > 1:
        rows += [(fmt.line(use.model, 40), f"{use.runs:,}", *_usage_cells(use.usage), _proven(use.results))
                 for use in statistics.models]  # fmt: skip
    rows += [("all", f"{statistics.runs:,}", *_usage_cells(statistics.usage), _proven(statistics.results))]
    head: list[Sequence[Text | str]] = [
        [Text(word, "dim") for word in ("model", "runs", "prompt", "cached", "output", "cost", "verified")]
    ]
    yield from _table("Tokens and cost", [*head, *rows])


def _usage_cells(usage: Usage) -> tuple[str, str, str, str]:
    cost = format_cost(usage.cost_usd, usage.unpriced_calls) if usage.calls else ""
    cached = _share(usage.cached_tokens, usage.prompt_tokens) if usage.prompt_tokens else ""
    return f"{usage.prompt_tokens:,}", cached, f"{usage.output_tokens:,}", cost


def _proven(results: Results) -> str:
    succeeded = results.verified + results.own_test + results.done
    ended = succeeded + results.failed + results.undone + results.partly_undone
    return f"{_share(results.verified, ended)} of {ended:,}" if ended else ""


def _checks(statistics: Statistics, chart: Chart) -> Iterator[Text]:
    most = max((use.seconds.median or 0 for use in statistics.checks), default=0)
    rows = []
    for use in statistics.checks:
        bar = chart.bar(use.seconds.median or 0, most, "blue")
        rows.append((fmt.line(use.command, 48), bar, fmt.count(use.times, "time"), _spread(use.seconds)))
    yield from _table("Slowest checks", rows)


def _failures(statistics: Statistics, chart: Chart) -> Iterator[Text]:
    both = (("Failures of steps", statistics.failures.kinds), ("Causes found", statistics.failures.categories))
    for title, items in both:
        yield from _table(title, _counted(items, chart))


def _counted(items: Sequence[Named], chart: Chart) -> list[Sequence[Text | str]]:
    most = max((item.count for item in items), default=0)
    rows: list[Sequence[Text | str]] = [
        (item.name.replace("_", " "), chart.bar(item.count, most, "red"), f"{item.count:,}", "")
        for item in items[:SHOWN_FAILURES]
    ]
    if left := sum(item.count for item in items[SHOWN_FAILURES:]):
        rows.append(("others", Text(), f"{left:,}", ""))
    return rows
