"""The supervisor: a small process between Surefoot and a command.

It is started as `python -I -S __main__.py OPTIONS -- ARGV`, inside the sandbox if there is one. It sees no installed
packages, not even Surefoot's own, so its files import only the standard library and each other.
"""
