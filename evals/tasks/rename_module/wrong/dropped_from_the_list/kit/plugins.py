import importlib

MODULES = ["kit.table"]


def load():
    """All modules of the kit by their last name."""
    return {name.rsplit(".", 1)[-1]: importlib.import_module(name) for name in MODULES}
