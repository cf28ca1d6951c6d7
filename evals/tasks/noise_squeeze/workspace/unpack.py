"""Restores noise.bin from noise.z."""

import zlib


def unpack(data):
    return zlib.decompress(data)
