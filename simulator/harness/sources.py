"""Which tasks are meant, and what they need: lm_eval's own collection, a folder of task files, the network.

Read without lm_eval, because whether the network may be used has to be known before it is imported.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from simulator.core.errors import CaseFileError, InputError

YAML = (".yaml", ".yml")
# Builders of `datasets` that read files; every other path is a folder, or the name of a data set on the hub.
_READERS = frozenset({"json", "csv", "parquet", "text", "arrow", "pandas", "xml"})
_PATTERN = frozenset("*?[")


class Sources(NamedTuple):
    """Names, patterns and whole paths; folders of task files.

    `own` is whether lm_eval's own tasks are needed, `online` whether data may have to come from the hub.
    """

    specs: tuple[str, ...]
    include: tuple[Path, ...] = ()
    own: bool = False
    online: bool = False


class _Loader(yaml.SafeLoader):
    """Task files as plain data: functions stay names."""


_Loader.add_constructor("!function", lambda _, node: node.value)


def sources_of(given: Sequence[str], include: Sequence[str] = ()) -> Sources:
    """What `--tasks` and `--include` mean; raises InputError for files and folders that are not there."""
    specs: list[str] = []
    folders = [_folder(each) for each in include]
    local: dict[str, Mapping[str, Any]] = {}
    for folder in folders:
        local |= tasks_of_folder(folder)
    needs: list[tuple[bool, bool]] = []
    for name in given:
        if Path(name).suffix.lower() in YAML:
            path = _file(name)
            config = read_task(path)
            if "group" in config:
                folders.append(path.parent)
                local |= tasks_of_folder(path.parent)
            # lm_eval finds a group only by its name.
            specs.append(str(config.get("group", path)))
            needs.append(_needs(config, local))
        else:
            specs.append(name)
            needs.append(_needs_of_name(name, local))
    own, online = (any(each) for each in zip(*needs, strict=True)) if needs else (False, False)
    return Sources(tuple(specs), tuple(dict.fromkeys(folders)), own, online)


def read_task(path: Path) -> dict[str, Any]:
    """A task file with what it includes, its functions as names."""
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())[:200]
        msg = f"{path}: cannot be read as a task ({why})."
        raise CaseFileError(msg) from None
    if not isinstance(config, dict) or not ({"task", "group", "include"} & config.keys()):
        msg = f"{path}: no task of lm_eval: it names neither a task nor a group."
        raise CaseFileError(msg)
    included = config.pop("include", ())
    merged: dict[str, Any] = {}
    for each in [included] if isinstance(included, str) else included:
        merged |= read_task(path.parent / each)
    return merged | config


def tasks_of_folder(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The tasks and groups of a folder by name, as lm_eval finds them."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        try:
            config = read_task(path)
        except InputError:  # other YAML files may stand among them
            continue
        name = config.get("group", config.get("task"))
        tags = config.get("tag") or ()
        for each in (name, *([tags] if isinstance(tags, str) else tags)):
            if isinstance(each, str):
                found.setdefault(each, config)
    return found


def _needs(config: Mapping[str, Any], local: Mapping[str, Mapping[str, Any]]) -> tuple[bool, bool]:
    """Whether lm_eval's own tasks are needed, and whether the network may be."""
    if "group" in config:
        members = config.get("task") or ()
        listed = [members] if isinstance(members, str) else members
        needs = [_needs_of_member(each, local) for each in listed]
        return any(own for own, _ in needs), any(online for _, online in needs)
    if "class" in config:
        return False, True
    path = str(config.get("dataset_path") or "")
    is_local = "custom_dataset" in config or path in _READERS or (bool(path) and Path(path).exists())
    return False, not is_local


def _needs_of_member(member: Any, local: Mapping[str, Mapping[str, Any]]) -> tuple[bool, bool]:
    if isinstance(member, str):
        return _needs_of_name(member, local)
    name = str(member.get("group", member.get("task")))
    by_name = name not in local and not {"dataset_path", "custom_dataset", "class"} & member.keys()
    if by_name and "group" not in member:
        return _needs_of_name(name, local)
    return _needs({**local.get(name, {}), **member}, local)


def _needs_of_name(name: str, local: Mapping[str, Mapping[str, Any]]) -> tuple[bool, bool]:
    return _needs(local[name], local) if name in local else (True, True)


def _file(name: str) -> Path:
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        msg = f"--tasks {name}: no such task file."
        raise InputError(msg)
    return path


def _folder(name: str) -> Path:
    path = Path(name).expanduser().resolve()
    if not path.is_dir():
        msg = f"--include {name}: no such folder."
        raise InputError(msg)
    return path


def check_known(specs: Iterable[str], known: Sequence[str], matching: Any) -> list[str]:
    """Every task that is meant, patterns as what they match; raises InputError for a name that nothing has.

    `known` are all names there are, and `matching` gives those of them that a pattern matches.
    """
    found: dict[str, None] = {}
    names = frozenset(known)
    for spec in specs:
        if Path(spec).suffix.lower() in YAML or spec in names:
            found[spec] = None
        elif _PATTERN & set(spec) and (matched := matching([spec])):
            found |= dict.fromkeys(matched)
        else:
            near = difflib.get_close_matches(spec, known, n=3, cutoff=0.5)
            meant = f" Did you mean {', '.join(near)}?" if near else ""
            msg = f"unknown task '{spec}'.{meant} All names: lm_eval ls tasks; your own: FILE.yaml."
            raise InputError(msg)
    return list(found)
