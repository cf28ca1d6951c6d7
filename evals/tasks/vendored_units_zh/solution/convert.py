from vendor.units import CENTIMETRES

# vendor 里的英寸写错了（2.45）
SIZES = {**CENTIMETRES, "inch": 2.54}


def convert(value, source, target):
    """把长度从一个单位换成另一个单位。"""
    return value * SIZES[source] / SIZES[target]
