"""Plot the chains of the engine benchmark: the total time against the number of steps, on logarithmic axes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt


def plot(
    results: Mapping[str, Mapping[str, Mapping[str, float]]],
    titles: Mapping[str, str],
    chains: Sequence[int],
    target: Path,
) -> None:
    figure, axes = plt.subplots(figsize=(7, 4.5))
    bare = [(row[key]["bare_us"], n) for row in results.values() for n in chains if (key := f"chain {n} normal") in row]
    floor = sum(us for us, _ in bare) / len(bare)
    axes.plot(chains, [floor * n / 1e6 for n in chains], "--", color="grey", label="bare INSERT and commit")
    for name, row in results.items():
        points = [(n, n * row[key]["us"] / 1e6) for n in chains if (key := f"chain {n} normal") in row]
        axes.plot(
            *zip(*points, strict=True), marker="o", linewidth=2.5 if name == "surefoot" else 1.2, label=titles[name]
        )
    axes.set(xscale="log", yscale="log", xlabel="steps in a chain", ylabel="seconds, all steps durable one by one")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize="small")
    figure.tight_layout()
    target.parent.mkdir(parents=True, exist_ok=True)
    plt.rcParams["svg.hashsalt"] = "surefoot"
    figure.savefig(target, metadata={"Date": None})
