"""Formats numbers, times and costs. Imports nothing, because every short command needs it."""


def count(number: int, noun: str) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """A length of time: 0.4s, 12s, 3m20s, 2h05m."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02}s" if minutes < 120 else f"{minutes // 60}h{minutes % 60:02}m"


def format_cost(dollars: float, unpriced_calls: int = 0) -> str:
    """`$0.0192`, `$1.20` or `cost unknown`; `over $1.20` if the price of some calls is unknown."""
    amount = f"${dollars:.4f}" if 0 < dollars < 0.1 else f"${dollars:.2f}"
    if not unpriced_calls:
        return amount
    return f"over {amount}" if dollars else "cost unknown"
