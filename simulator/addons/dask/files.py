"""The files of the user's own that workers on other machines need.

A bot comes with its folder, judges of one's own with theirs; guidelines, lists, scripts, prompts and what
`--set` names come as they are. Hidden files, runs and what looks like a secret stay here. On a worker the
files stand to one another as they stand here, so every relative name in settings and code stays true.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.runner.chains import AppliedPrompts
from simulator.runner.prompt_file import split_variant

# A bot's folder with more files or bytes is probably not meant to be sent.
MOST_FILES, MOST_BYTES = 5_000, 200_000_000
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_SECRET = re.compile(r"secret|credential|service[-_. ]?account|id_rsa|\.(pem|key|p12|pfx)$", re.IGNORECASE)
_FILE_SETTINGS = ("outputs", "guidelines", "contacts", "ng_words", "script", "replay")
# Longer values of --set are texts, not names of files.
_LONGEST_NAME = 500


class UserFiles:
    """Files that travel, and `settings` that name them without this machine's absolute paths."""

    def __init__(self, settings: Settings) -> None:
        """Looks for them; nothing is read yet."""
        self._paths: dict[Path, None] = {}
        self.left_out: list[str] = []
        changes: dict[str, object] = {
            "adapter": self._code(settings.adapter),
            "judges": tuple(self._judge(name) for name in settings.judges),
            "set": {key: self._value(text) for key, text in settings.set.items()},
        }
        if settings.prompt:
            changes["prompt"] = self._prompt(settings, settings.prompt)
        for name in _FILE_SETTINGS:
            if path := getattr(settings, name):
                changes[name] = self._file(path)
        self.settings = settings.model_copy(update=changes)

    def contents(self) -> tuple[str, dict[str, bytes]]:
        """The working directory and every file, below the folder that holds them all."""
        here = Path.cwd()
        root = Path(os.path.commonpath([here, *(path.parent for path in self._paths)]))
        contents, size = {}, 0
        for path in self._paths:
            try:
                contents[path.relative_to(root).as_posix()] = content = path.read_bytes()
            except OSError as error:
                why = error.strerror
                msg = _("{path}: cannot be read for the workers ({strerror}).", path=path, strerror=why)
                raise InputError(msg) from None
            size += len(content)
            if len(contents) > MOST_FILES or size > MOST_BYTES:
                msg = _(
                    "{folder}: more than {files} files or {size} MB would go to each"
                    " worker; put the bot into a folder of its own.",
                    folder=path.parent,
                    files=MOST_FILES,
                    size=MOST_BYTES // 10**6,
                )
                raise InputError(msg)
        return here.relative_to(root).as_posix(), contents

    def _file(self, name: str) -> str:
        self._paths[_absolute(name)] = None
        return _relative(name)

    def _folder(self, name: str) -> str:
        for path in _below(_absolute(name)):
            if _SECRET.search(path.name) and path.suffix != ".py":
                self.left_out += [path.name] * (path.name not in self.left_out)
            else:
                self._paths[path] = None
        return _relative(name)

    def _code(self, name: str) -> str:
        """The folder of `bot.py:answer`, or the current one for `package.module:thing` of the user's."""
        module, _colon, attribute = name.rpartition(":")
        if module.endswith(".py") or "/" in module or "\\" in module:
            self._folder(os.path.dirname(module) or ".")  # noqa: PTH120 - links must keep their names
            return f"{self._file(module)}:{attribute}"
        first = Path(module.partition(".")[0])
        if module and (first.is_dir() or first.with_suffix(".py").is_file()):
            self._folder(".")
        return name

    def _judge(self, name: str) -> str:
        if ":" in name:
            return self._code(name)
        return self._file(name) if name.endswith(".toml") or "/" in name else name

    def _value(self, text: str) -> str:
        """A value of --set: files (also `@file`), folders and code travel; other values are what they are."""
        mark, name = ("@", text[1:]) if text.startswith("@") else ("", text)
        if not name or len(name) > _LONGEST_NAME or "\n" in name or "\0" in name:
            return text
        path = _absolute(name)
        if path.is_file():
            return mark + self._file(name)
        if path.is_dir() and (path == Path.cwd() or not Path.cwd().is_relative_to(path)):
            return self._folder(name)
        module = name.rpartition(":")[0]
        return self._code(name) if module.endswith(".py") and Path(module).is_file() else text

    def _prompt(self, settings: Settings, option: str) -> str:
        """Every file that the prompt or its chain consists of, and the bots that the chain names."""
        prompts = AppliedPrompts(settings)
        for code in prompts.code:
            self._code(code)
        for path in prompts.files:
            self._file(str(path))
        name, variant = (option, "") if prompts.chain else split_variant(option)
        return ":".join(filter(None, (_relative(name), variant)))


def _below(folder: Path) -> Iterator[Path]:
    """Every file that is not hidden, generated by a tool, or part of a run."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not (
                name.startswith(".") or name in _SKIPPED_FOLDERS or Path(at, name, "run.sqlite").is_file()
            )
        )
        yield from (Path(at, name) for name in sorted(files) if not name.startswith("."))


def _absolute(name: str) -> Path:
    return Path(os.path.abspath(name))  # noqa: PTH100 - links must keep their names


def _relative(name: str) -> str:
    return os.path.relpath(name) if os.path.isabs(name) else name  # noqa: PTH117 - a name, not a path
