"""Python files of the user's own, loaded where they stand."""

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from simulator.errors import InputError


def search_first(folder: Path) -> None:
    """Imports look into `folder` before anywhere else."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def package_at(folder: Path) -> ModuleType:
    """The package in this very folder, by the folder's name: another one of that name makes way."""
    known = sys.modules.get(folder.name)
    if known is not None and folder in (Path(place).resolve() for place in getattr(known, "__path__", ())):
        return known
    for name in [each for each in sys.modules if each.partition(".")[0] == folder.name]:
        del sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        msg = f"{folder}: not a package."
        raise InputError(msg)
    package = importlib.util.module_from_spec(spec)
    sys.modules[folder.name] = package
    spec.loader.exec_module(package)
    return package


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
    # By its whole path: another folder's checks.py is another module.
    place = hashlib.sha256(str(file).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"_user_{file.stem}_{place}", file)
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


def files_beside(module: Path) -> list[Path]:
    """What a module is made of: its file, those near it that it imports, and what begins with `_` and a name.

    The program's own modules are none of it.
    """
    found: dict[Path, None] = {}
    waiting = [module.resolve()]
    while waiting:
        path = waiting.pop(0)
        if path not in found:
            found[path] = None
            waiting += _named_after(path)
            waiting += _imported_nearby(path) if path.suffix == ".py" else ()
    return list(found)


def _named_after(path: Path) -> list[Path]:
    """Of keigo.py: _keigo.toml, _keigo_rules.py and the like."""
    name = path.stem.lstrip("_")
    there = (*path.parent.glob(f"_{name}.*"), *path.parent.glob(f"_{name}_*.*"))
    return sorted(each for each in there if each.suffix in {".py", ".toml"})


def _imported_nearby(path: Path) -> Iterator[Path]:
    """Modules beside it or in folders there; `judges._angle` is one beside judges/cosine.py."""
    names = dict.fromkeys(_imported(ast.parse(path.read_bytes())))
    for name in names:
        if name.partition(".")[0] != "simulator":  # the version stands for the program itself
            for folder in (path.parent, path.parent.parent):
                file = folder.joinpath(*name.split(".")).with_suffix(".py")
                if file.is_file():
                    yield file


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ([node.module] if node.module else ())
            yield from (".".join(filter(None, (node.module, each.name))) for each in node.names)
