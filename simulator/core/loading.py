"""Loads code that nobody knows before the program runs: users' own bots and judges, and the shelves'.

    bot.py:answer          the object `answer` in the user's bot.py
    shop.rag:chain.invoke  the same of an importable module; attributes may be nested

Nothing else imports by a name but the commands of cli/app.py. A user's code is imported at most once, and
whatever it raises becomes an InputError of one line with the place in the user's own file. It may be slow,
print, change sys.path or call sys.exit.
"""

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import os
import shlex
import sys
import sysconfig
import traceback
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from simulator import shelves
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import Message, _, sentences

# Frames of tracebacks that are not the user's own: this package, and everything installed.
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
# Where the files of installed packages and of Python itself are.
LIBRARIES = ("<", *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))
# What Python says of a relative import in a file that was loaded by itself.
_NO_PACKAGE = "attempted relative import with no known parent package"


def user_object(name: str, *, is_bot: bool = False) -> Any:
    """`package.module:thing` or `folder/file.py:thing`, looked up from the working directory.

    Raises InputError where it cannot be imported, whatever its code raises (but Ctrl-C), and UnknownName,
    with what can be called there, where it has no such name. Of a bot (`is_bot`) whose packages are missing
    it says how another interpreter answers in its place.
    """
    module_name, _unused, attribute = name.rpartition(":")
    # The working directory may hold a simulator.py of the user's; this package is imported already.
    if module_name == "simulator":
        msg = _(
            "{name} is this program itself. A file of yours: ./simulator.py:{attribute}.",
            name=name,
            attribute=attribute,
        )
        raise InputError(msg)
    prepend_to_path(Path.cwd())
    try:
        module = module_of_file(Path(module_name)) if is_path(module_name) else _imported_module(module_name)
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        why = describe_error(error)
        if is_bot and isinstance(error, ImportError):
            why = sentences(why, other_python(module_name))
        raise InputError(_("{name}: cannot be imported: {error}", name=name, error=why)) from None
    thing: Any = module
    for part in attribute.split("."):
        if not hasattr(thing, part):
            there = getattr(thing, "__dict__", {}).items()
            of_use = {key for key, value in there if callable(value) or hasattr(value, "ainvoke")}
            public = {key for key in of_use if not key.startswith("_")}
            raise UnknownName(_("name in {module}", module=module_name), part, public)
        thing = getattr(thing, part)
    return thing


def module_of_file(path: Path) -> ModuleType:
    """The module of a file, loaded once (that can take gigabytes). What it raises passes through.

    Once also where bot.py and checks.py of the same folder are named, and one of them imports the other. A
    file that imports relatively (`from . import prices`) is loaded as part of its package. The working
    directory stays what it is, wherever the file's code goes.
    """
    file = path.resolve()
    if not file.is_file():
        raise InputError(_("{path}: no such file. Check its name and folder.", path=path))
    # Under whatever name: the user's own code may have imported it before.
    for candidate in list(sys.modules.values()):
        if getattr(candidate, "__dict__", {}).get("__file__") == str(file):
            return candidate
    prepend_to_path(file.parent)
    # By its whole path: another folder's checks.py is another module.
    place = hashlib.sha256(str(file).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"_user_{file.stem}_{place}", file)
    if spec is None or spec.loader is None:
        raise InputError(_("{path}: not a Python file.", path=path))
    module = importlib.util.module_from_spec(spec)
    # Known while it runs, as for any import: dataclasses and pickles look their module up.
    sys.modules[spec.name] = module
    try:
        with contextlib.chdir(Path.cwd()):
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[spec.name]
        if isinstance(error, ImportError) and _NO_PACKAGE in str(error):
            return _module_in_package(file)
        raise
    return module


def _module_in_package(file: Path) -> ModuleType:
    """The module of a file as part of the packages around it: app/bot.py as app.bot.

    The outermost folder with an __init__.py is the package; without any, the folder of the file is.
    """
    top = file.parent
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    prepend_to_path(top.parent)
    return _imported_module(".".join(file.relative_to(top.parent).with_suffix("").parts))


def _imported_module(name: str) -> ModuleType:
    """An importable module; the working directory stays what it is."""
    with contextlib.chdir(Path.cwd()):
        return importlib.import_module(name)


def shelf_module(shelf: str, name: str) -> ModuleType:
    """The module of a judge or adapter on the shelves: `shelf_module("judges", "keigo")`.

    They are imported under `simulator.shelves`, wherever the folder is: a user's own judges.py is not in the
    way. The name has to be one of the shelf; it may come from the user.
    """
    return importlib.import_module(f"{shelves.__name__}.{shelf}.{name}")


def prepend_to_path(folder: Path) -> None:
    """Imports look into `folder` before anywhere else."""
    # The user's folder goes first, so that their own helper.py is found, and not an installed one.
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def source_files(module: Path) -> list[Path]:
    """The files a module is made of: its own, those near it that it imports, and `_NAME...` files of each.

    Of judges/keigo.py: keigo.py, _keigo_ja.toml, and what it imports from judges/ in turn. The program's own
    modules are not among them: the version stands for them.
    """
    files: dict[Path, None] = {}
    # Breadth first, and each file once: modules that import each other end, too.
    waiting = [module.resolve()]
    while waiting:
        path = waiting.pop(0)
        if path in files:
            continue
        files[path] = None
        name = path.stem.lstrip("_")  # of keigo.py: _keigo.toml, _keigo_ja.toml and the like
        named = (*path.parent.glob(f"_{name}.*"), *path.parent.glob(f"_{name}_*.*"))
        waiting += sorted(file for file in named if file.suffix in {".py", ".toml"})
        if path.suffix == ".py":
            # Beside it or in folders there; `judges._angle` is one beside judges/cosine.py.
            nearby = [
                folder.joinpath(*imported.split(".")).with_suffix(".py")
                for imported in _imported(path.read_bytes())
                if imported.partition(".")[0] != "simulator"
                for folder in (path.parent, path.parent.parent)
            ]
            waiting += filter(Path.is_file, nearby)
    return list(files)


@lru_cache
def _imported(code: bytes) -> tuple[str, ...]:
    """The names of modules that are imported anywhere, and of what is taken from them."""
    names: dict[str, None] = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None)
            parts = [module, *(".".join(filter(None, (module, alias.name))) for alias in node.names)]
            names |= dict.fromkeys(filter(None, parts))
    return tuple(names)


def other_python(module_name: str) -> Message:
    """What helps a bot whose packages are not installed here: the interpreter of its own environment.

    Named is the one of an environment beside the bot's file or above it, where there is one.
    """
    beside = Path(module_name).resolve().parents if is_path(module_name) else [Path.cwd()]
    names = ("bin/python", "Scripts/python.exe")
    there = [
        python
        for folder in list(beside)[:3]
        for name in names
        for python in (folder / ".venv" / name, folder / "venv" / name)
        if python.is_file() and python.parents[1] != Path(sys.prefix)
    ]
    python = os.path.relpath(there[0]) if there else "../bot/.venv/bin/python"
    return _(
        "If your bot has its own environment, name the Python of that: --set python={python}.",
        python=shlex.quote(Path(python).as_posix()),
    )


def describe_error(error: BaseException) -> Message:
    """One line on an exception from a user's own code, with the file and line of that code where known.

    `KeyError: 'reply' (bot.py, line 12).` The innermost frame of the user's own counts; those of libraries
    below it say less about what to mend.
    """
    text = " ".join(f"{type(error).__name__}: {error}".split())[:300].rstrip(": ")
    if isinstance(error, SyntaxError):
        return _("{error}.", error=text)
    # A syntax error has its place in its own text; others have frames.
    frames = traceback.extract_tb(error.__traceback__)
    frames_of_user = [frame for frame in frames if not frame.filename.startswith((*LIBRARIES, _PACKAGE))]
    if not frames_of_user:
        return _("{error}.", error=text)
    place, file = frames_of_user[-1], Path(frames_of_user[-1].filename)
    if file.is_relative_to(Path.cwd()):
        file = file.relative_to(Path.cwd())
    return _("{error} ({file}, line {line:d}).", error=text, file=file, line=place.lineno)


def is_path(name: str) -> bool:
    """Whether a name is that of a file, not of a module or something on a shelf."""
    return "/" in name or "\\" in name or name.endswith(".py")
