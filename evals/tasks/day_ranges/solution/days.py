def merge(spans):
    merged = []
    for first, last in sorted(spans):
        if last < first:
            raise ValueError(f"a span ends before it starts: {first}..{last}")
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
