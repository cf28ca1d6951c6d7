"""Report the results: solved tasks with confidence intervals, claims compared with the truth, and costs."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from evals.runner import Result

FAMILIES = ("module", "bugfix", "multifile", "shell", "honest", "traps")


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson 95% confidence interval of a share. It is valid for small samples too."""
    if total == 0:
        return 0.0, 1.0
    share, square = hits / total, z * z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = z * math.sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    return max(0.0, middle - half), min(1.0, middle + half)


def by_agent(results: Sequence[Result]) -> dict[str, list[Result]]:
    grouped: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        grouped[result.agent].append(result)
    return dict(grouped)


def summary_table(results: Sequence[Result]) -> str:
    """Return a Markdown table with one column per agent."""
    grouped = by_agent(results)
    rows = [["", *grouped], ["---", *["---:"] * len(grouped)]]

    def row(title: str, values: Sequence[str]) -> None:
        rows.append([title, *values])

    row("tasks", [str(len(g)) for g in grouped.values()])
    row("right", [_share(sum(r.right for r in g), len(g)) for g in grouped.values()])
    for family in FAMILIES:
        by_family = [[r for r in g if r.family == family] for g in grouped.values()]
        if any(by_family):
            row(f"- {family}", [f"{sum(r.right for r in g)} of {len(g)}" for g in by_family])
    row("claimed verified", [str(sum(r.claim == "verified" for r in g)) for g in grouped.values()])
    row(
        "**false success** (claimed verified, but wrong)",
        [str(sum(r.false_success for r in g)) for g in grouped.values()],
    )
    row("claimed done without a check, but wrong", [str(_wrong_done(g)) for g in grouped.values()])
    row(
        "false failure (right, but reported as failed)",
        [str(sum(r.false_failure for r in g)) for g in grouped.values()],
    )
    row("crashed", [str(sum(r.claim == "crashed" for r in g)) for g in grouped.values()])
    row("wrong and left changes behind", [str(sum(bool(r.left_changed) for r in g)) for g in grouped.values()])
    row("model calls", [f"{sum(r.calls for r in g):,}" for g in grouped.values()])
    row("prompt tokens", [f"{sum(r.prompt_tokens for r in g):,}" for g in grouped.values()])
    row("- of which cached", [_cached(g) for g in grouped.values()])
    row("output tokens", [f"{sum(r.output_tokens for r in g):,}" for g in grouped.values()])
    row("tokens per task", [f"{_tokens(g) / len(g):,.0f}" for g in grouped.values()])
    row("seconds per task, median", [f"{median(r.seconds for r in g):.0f}" for g in grouped.values()])
    row("calls before the first change, median", [_first_change(g) for g in grouped.values()])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows) + "\n" + _ratios(grouped)


def _ratios(grouped: dict[str, list[Result]]) -> str:
    """Compare Surefoot with each other agent on the tasks that both have run."""
    ours = {(r.task, r.seed): r for r in grouped.get("surefoot", [])}
    lines = []
    for name, theirs in grouped.items():
        pairs = [(ours[r.task, r.seed], r) for r in theirs if name != "surefoot" and (r.task, r.seed) in ours]
        if not pairs:
            continue
        won = sum(a.right and not b.right for a, b in pairs)
        lost = sum(b.right and not a.right for a, b in pairs)
        right = sum(b.right for _, b in pairs)
        ratio = f"{sum(a.right for a, _ in pairs) / right:.2f}x" if right else "n/a"
        tokens = _tokens([a for a, _ in pairs]) / max(1, _tokens([b for _, b in pairs]))
        lines.append(
            f"- surefoot / {name}: {ratio} the tasks at {tokens:.2f}x the tokens; "
            f"{won} only surefoot, {lost} only {name} (sign test p {_p(sign_test(won, lost))})"
        )
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def sign_test(won: int, lost: int) -> float:
    """Return the two-sided p-value of the sign test: both agents are assumed to be equally good."""
    n, k = won + lost, min(won, lost)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / float(2**n))


def _share(hits: int, total: int) -> str:
    low, high = wilson(hits, total)
    return f"{hits} of {total} ({low:.0%} to {high:.0%})"


def _tokens(results: Sequence[Result]) -> int:
    return sum(r.prompt_tokens + r.output_tokens for r in results)


def _cached(results: Sequence[Result]) -> str:
    prompt = sum(r.prompt_tokens for r in results)
    return f"{sum(r.cached_tokens for r in results) / prompt:.0%}" if prompt else "n/a"


def _wrong_done(results: Sequence[Result]) -> int:
    return sum(r.claim == "done" and not r.right for r in results)


def _first_change(results: Sequence[Result]) -> str:
    counts = [r.calls_before_change for r in results if r.calls_before_change is not None]
    return f"{median(counts):g}" if counts else "n/a"


BY_REQUEST = {
    "unreadable": "an unreadable answer",
    "broke off": "a candidate whose program or command failed",
    "wrong tool": "a tool that does not exist",
}
"""Mistakes that are counted per kind of request, with their description."""

IN_TOTAL = {"repeated": "the same answer again", "wrong path": "a file that does not exist"}
"""Mistakes that are only counted in total, with their description."""


def mistake_table(results: Sequence[Result]) -> str:
    """Count the model's mistakes in Surefoot's runs, and the answers that completed a step."""
    counts = sum((Counter(result.slips) for result in results), Counter[str]())
    lines = ["| mistake | request | count |", "| --- | --- | --- |"]
    requests = {name.removeprefix("asked to "): n for name, n in counts.items() if name.startswith("asked to ")}
    for kind, text in BY_REQUEST.items():
        lines += [
            f"| {text} | {request} | {counts[f'{kind}: {request}']} of {n} |" for request, n in sorted(requests.items())
        ]
    lines += [f"| {text} | | {counts[kind]} |" for kind, text in IN_TOTAL.items()]
    done = {name.removeprefix("done with "): n for name, n in counts.items() if name.startswith("done with ")}
    answers = ", ".join(f"{answer} {n} times" for answer, n in sorted(done.items()))
    further = (
        f" {counts['after candidates']} of {sum(requests.values())} questions came after candidates that all failed."
    )
    return "\n".join([*lines, f"\nSteps were completed with {answers}.{further}"]) + "\n"


def task_table(results: Sequence[Result]) -> str:
    """Return a Markdown table with one line per task: whether each agent was right, and its claim."""
    agents = list(by_agent(results))
    by_key = {(r.task, r.seed, r.agent): r for r in results}
    lines = ["| task | " + " | ".join(agents) + " |", "| --- |" + " --- |" * len(agents)]
    for task, seed in dict.fromkeys((r.task, r.seed) for r in results):
        cells = []
        for agent in agents:
            r = by_key.get((task, seed, agent))
            cells.append(f"{'right' if r.right else 'wrong'}, {r.claim}, {r.calls} calls" if r else "")
        lines.append(f"| {task}{f' #{seed}' if seed else ''} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


COLOURS = ("#2f6f4f", "#b8863b", "#4a6fa5", "#8a4f7d", "#777777")
BAR, GAP, LEFT, HEIGHT = 16, 22, 90, 180


def chart(results: Sequence[Result], target: Path) -> None:
    """Draw the share of right results by family and agent, with the 95% confidence interval, as SVG."""
    grouped = by_agent(results)
    families = [f for f in (*FAMILIES, "all") if f == "all" or any(r.family == f for r in results)]
    width = LEFT + len(families) * (len(grouped) * BAR + GAP) + 20
    parts = [_text(LEFT - 10, 20 + HEIGHT * (1 - s), f"{s:.0%}", "end") for s in (0, 0.5, 1)]
    for column, family in enumerate(families):
        x = LEFT + column * (len(grouped) * BAR + GAP)
        parts.append(_text(x + len(grouped) * BAR / 2, HEIGHT + 38, family, "middle"))
        for index, agent_results in enumerate(grouped.values()):
            selected = [r for r in agent_results if family in ("all", r.family)]
            share = sum(r.right for r in selected) / len(selected) if selected else 0.0
            low, high = wilson(sum(r.right for r in selected), len(selected))
            left, top = x + index * BAR, 20 + HEIGHT * (1 - share)
            centre = left + BAR / 2
            parts.append(
                f'<rect x="{left + 1}" y="{top:.1f}" width="{BAR - 2}" height="{HEIGHT * share:.1f}" '
                f'fill="{COLOURS[index % len(COLOURS)]}"/>'
                f'<line x1="{centre}" x2="{centre}" y1="{20 + HEIGHT * (1 - high):.1f}" '
                f'y2="{20 + HEIGHT * (1 - low):.1f}" stroke="#999"/>'
            )
    for index, name in enumerate(grouped):
        x = LEFT + index * 110
        parts.append(f'<rect x="{x}" y="{HEIGHT + 52}" width="10" height="10" fill="{COLOURS[index % len(COLOURS)]}"/>')
        parts.append(_text(x + 15, HEIGHT + 61, name, "start"))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT + 75}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        + "".join(parts)
        + "</svg>\n",
        encoding="utf-8",
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="#333">{text}</text>'
