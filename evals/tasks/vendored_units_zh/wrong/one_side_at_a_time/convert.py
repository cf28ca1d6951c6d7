from vendor.units import CENTIMETRES


def convert(value, source, target):
    """把长度从一个单位换成另一个单位。"""
    if source == "inch":
        return value * 2.54 / CENTIMETRES[target]
    if target == "inch":
        return value * CENTIMETRES[source] / 2.54
    return value * CENTIMETRES[source] / CENTIMETRES[target]
