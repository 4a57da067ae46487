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
from simulator.storage.run_file import find_run

# A bot's folder with more files or bytes is probably not meant to be sent.
MOST_FILES, MOST_BYTES = 5_000, 200_000_000
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_SECRET = re.compile(r"secret|credential|service[-_. ]?account|id_rsa|\.(pem|key|p12|pfx)$", re.IGNORECASE)
_FILE_SETTINGS = ("outputs", "guidelines", "contacts", "ng_words", "rules", "script")
# Longer values of --set are texts, not names of files.
_LONGEST_NAME = 500


class UserFiles:
    """Files that travel, and `settings` that name them without this machine's absolute paths."""

    def __init__(self, settings: Settings) -> None:
        """Looks for them; nothing is read yet."""
        self._paths: dict[Path, None] = {}
        self.left_out: list[str] = []
        changes: dict[str, object] = {
            "adapter": self._named(settings.adapter),
            "judges": tuple(map(self._named, settings.judges)),
            "set": {key: self._sent(text) for key, text in settings.set.items()},
        }
        for name in _FILE_SETTINGS:
            if path := getattr(settings, name):
                changes[name] = self._sent(path)
        if settings.replay:
            changes["replay"] = self._sent(str(find_run(settings.replay, Path(settings.runs))))
        if settings.prompt:
            prompts = AppliedPrompts(settings)
            for each in (*prompts.code, *map(str, prompts.files)):
                self._sent(each)
            file, variant = (settings.prompt, "") if prompts.chain else split_variant(settings.prompt)
            changes["prompt"] = ":".join(filter(None, (_relative(file), variant)))
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

    def _named(self, name: str) -> str:
        """An adapter or a judge: what is of the shelves or of an installed package stays."""
        module = name.rpartition(":")[0]
        if module.endswith(".py") or "/" in name or name.endswith(".toml"):
            return self._sent(name)
        package = module.partition(".")[0]
        if package and (Path(package).is_dir() or Path(f"{package}.py").is_file()):
            self._add_folder(Path.cwd())
        return name

    def _sent(self, text: str) -> str:
        """A file (also `@file`), a folder or code that travels, by its relative name; else the text."""
        mark, name = ("@", text[1:]) if text.startswith("@") else ("", text)
        if not name or len(name) > _LONGEST_NAME or "\n" in name or "\0" in name:
            return text
        path, (module, colon, attribute) = _absolute(name), name.rpartition(":")
        if module.endswith(".py") and Path(module).is_file():
            self._add_folder(_absolute(module).parent)
            self._paths[_absolute(module)] = None
            return f"{mark}{_relative(module)}{colon}{attribute}"
        if path.is_file():
            self._paths[path] = None
        elif path.is_dir() and (path == Path.cwd() or not Path.cwd().is_relative_to(path)):
            self._add_folder(path)
        else:
            return text
        return mark + _relative(name)

    def _add_folder(self, folder: Path) -> None:
        """Everything in it, but for what looks like a secret."""
        for path in _below(folder):
            if not _SECRET.search(path.name) or path.suffix == ".py":
                self._paths[path] = None
            elif path.name not in self.left_out:
                self.left_out.append(path.name)


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
