"""The user's own files that a worker needs: as text and bytes, never as pickled code."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.runner.chains import AppliedPrompts
from simulator.runner.prompt_file import split_variant

# What a bot's folder may hold at most; more is likely not meant to travel.
MOST_FILES, MOST_BYTES = 5_000, 200_000_000
# What lies outside the folder where the user stands is put below this one.
ELSEWHERE = ".elsewhere"
_PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_SECRET = re.compile(r"secret|credential|service[-_. ]?account|id_rsa|\.(pem|key|p12|pfx)$", re.IGNORECASE)
_ONE_FILE = ("outputs", "guidelines", "contacts", "ng_words", "script", "replay")
# Longer values of --set are texts, not names of files.
_LONGEST_NAME = 500


@dataclass
class Shipment:
    """Files by the name they have in the worker's folder, and what was left out as a likely secret."""

    files: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    _size: int = 0
    _folders: dict[Path, str] = field(default_factory=dict)

    def file(self, name: str) -> str:
        """Takes one file along; gives the name by which the worker finds it."""
        path = _absolute(name)
        called = f"{self._called(path.parent)}/{path.name}".removeprefix("./")
        self._add(path, called)
        return called

    def beside(self, name: str) -> str:
        """Takes a file and all that lies in its folder along; gives the file's name there."""
        path = _absolute(name)
        self.folder(path.parent)
        return self.file(name)

    def folder(self, path: Path) -> str:
        """Takes a folder with all below it along; gives its name there."""
        called = self._called(path)
        for each in _below(path):
            if _SECRET.search(each.name) and each.suffix != ".py":
                self.left_out += [each.name] * (each.name not in self.left_out)
            else:
                self._add(each, f"{called}/{each.relative_to(path).as_posix()}".removeprefix("./"))
        return called

    def _called(self, folder: Path) -> str:
        here = Path.cwd()
        if folder.is_relative_to(here):
            return folder.relative_to(here).as_posix()
        # One number for each folder: what lies side by side here does so there.
        return f"{ELSEWHERE}/{self._folders.setdefault(folder, str(len(self._folders)))}"

    def _add(self, path: Path, called: str) -> None:
        if called in self.files:
            return
        try:
            content = path.read_bytes()
        except OSError as error:
            msg = f"{path}: cannot be read for the workers ({error.strerror})."
            raise InputError(msg) from None
        self.files[called] = content
        self._size += len(content)
        if len(self.files) > MOST_FILES or self._size > MOST_BYTES:
            msg = (
                f"{path.parent}: more than {MOST_FILES:,} files or {MOST_BYTES // 10**6} MB would go to each"
                " worker; put the bot into a folder of its own."
            )
            raise InputError(msg)


def pack(settings: Settings) -> tuple[Settings, Shipment]:
    """The settings as a worker has to read them, and the files they name."""
    shipment = Shipment()
    changes: dict[str, object] = {
        "adapter": _code(settings.adapter, shipment),
        "judges": tuple(_judge(name, shipment) for name in settings.judges),
        "set": {key: _value(text, shipment) for key, text in settings.set.items()},
    }
    if settings.prompt:
        changes["prompt"] = _prompt(settings, shipment)
    for name in _ONE_FILE:
        if given := getattr(settings, name):
            changes[name] = shipment.file(given)
    return settings.model_copy(update=changes), shipment


def _prompt(settings: Settings, shipment: Shipment) -> str:
    """The prompt's name for the workers, with every file that it or its chain is made of."""
    found, given = AppliedPrompts(settings), str(settings.prompt)
    for name in found.code:
        _code(name, shipment)
    name, variant = (given, "") if found.chain else split_variant(given)
    inside = all(_absolute(str(path)).is_relative_to(Path.cwd()) for path in found.files)
    for path in found.files:
        _ = shipment.file(str(path)) if inside else shipment.beside(str(path))
    if not name.endswith(".toml"):
        return given  # by its name: of the shelf, or of the folder prompts/, which went along
    called = shipment.file(name)
    return f"{called}:{variant}" if variant else called


def _code(name: str, shipment: Shipment) -> str:
    """`bot.py:answer` with its folder; for `package.module:thing` of the user's, the folder they stand in."""
    module, colon, attribute = name.rpartition(":")
    if not colon:
        return name
    if module.endswith(".py") or "/" in module or "\\" in module:
        return f"{shipment.beside(module)}:{attribute}"
    first = Path(module.partition(".")[0])
    if first.is_dir() or first.with_suffix(".py").is_file():
        shipment.folder(Path.cwd())
    return name


def _judge(name: str, shipment: Shipment) -> str:
    if ":" in name:
        return _code(name, shipment)
    return shipment.file(name) if name.endswith(".toml") or "/" in name else name


def _value(text: str, shipment: Shipment) -> str:
    """A value of --set that names a file (`@file`, too), a folder, or code; any other as it is."""
    mark = "@" if text.startswith("@") else ""
    name = text.removeprefix("@")
    if not name or len(name) > _LONGEST_NAME or "\n" in name or "\0" in name:
        return text
    path = _absolute(name)
    if path.is_file():
        return mark + shipment.file(name)
    if path.is_dir() and (path == Path.cwd() or not Path.cwd().is_relative_to(path)):
        return shipment.folder(path)
    module = name.rpartition(":")[0]
    return _code(name, shipment) if module.endswith(".py") and Path(module).is_file() else text


def _below(folder: Path) -> Iterator[Path]:
    """Every file that is neither hidden nor made by a tool, nor part of a run."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _PASSED_OVER and not _is_run(Path(at, name))
        )
        yield from (Path(at, name) for name in sorted(files) if not name.startswith("."))


def _is_run(folder: Path) -> bool:
    return (folder / "run.sqlite").is_file()


def _absolute(name: str) -> Path:
    return Path(os.path.abspath(name))  # noqa: PTH100 - a link stays what it is called
