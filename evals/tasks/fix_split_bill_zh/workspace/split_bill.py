"""把一笔账（单位：分）平均分给几个人。"""


def split(cents, people):
    if people < 1:
        raise ValueError("至少要有一个人")
    share = cents // people
    return [share] * people


def receipt(cents, names):
    """名字和金额，每人一行，例如 小明 3.34"""
    lines = []
    for name, share in zip(names, split(cents, len(names))):
        lines.append(f"{name} {share // 100}.{share % 100}")
    return "\n".join(lines)
