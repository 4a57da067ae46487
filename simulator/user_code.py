"""Python files of the user's own, loaded where they stand."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from simulator.errors import InputError


def search_first(folder: Path) -> None:
    """Imports look into `folder` before anywhere else."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def module_of_file(path: Path) -> ModuleType:
    """The module of a file, loaded once (that can take gigabytes). What it raises passes through."""
    file = path.resolve()
    if not file.is_file():
        msg = f"{path}: there is no such file here."
        raise InputError(msg)
    for known in list(sys.modules.values()):
        if getattr(known, "__dict__", {}).get("__file__") == str(file):
            return known
    search_first(file.parent)
    spec = importlib.util.spec_from_file_location(f"_user_{file.stem}", file)
    if spec is None or spec.loader is None:
        msg = f"{path}: not a Python file."
        raise InputError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module
