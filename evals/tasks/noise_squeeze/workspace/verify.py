import pathlib
import sys

from unpack import unpack

packed = pathlib.Path("noise.z").read_bytes()
if len(packed) > 100:
    sys.exit(f"noise.z has {len(packed)} bytes, at most 100 are allowed")
if unpack(packed) != pathlib.Path("noise.bin").read_bytes():
    sys.exit("noise.z does not restore noise.bin")
print("ok")
