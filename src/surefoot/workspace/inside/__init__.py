"""What runs between Surefoot and a command, in its own small process.

It is started as `python -I -S __main__.py orders -- argv`, inside the sandbox where there is one. It sees no
installed packages, not even Surefoot's own, so its files use the standard library and each other, nothing else.
"""
