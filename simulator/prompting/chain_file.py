"""A chain as it is written: a TOML file with [[links]]."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simulator.core.errors import PromptError, UnknownName
from simulator.core.settings import (
    FILES,
    Settings,
    bot_named_in,
    judges_named_in,
    named_in,
    plain,
    prompt_named_in,
)
from simulator.core.templates import read_toml
from simulator.prompting.chain import WHOLE, Chain, Link

LINKS = "links"
_OF_A_LINK = ("name", "prompt", "cases", "adapter", "set")
# At the top of the file these are about the whole chain; a link has its own, or the usual ones.
_OF_THE_WHOLE = frozenset(
    {"cases", "outputs", "judges", "target", "max_major", "labels", "positive", "scoring"}
)
# What the program itself says, or what would be another run.
_NOT_TOLD = frozenset({
    "protocol", "prompt", "resume", "replay", "dry_run", "ask_bot", "json_output", "shard",
})  # fmt: skip


def is_chain(path: Path) -> bool:
    """Whether this is a TOML file with [[links]]."""
    if path.suffix.lower() != ".toml" or not path.is_file():
        return False
    try:
        return isinstance(read_toml(path).get(LINKS), list)
    except PromptError:
        return False  # who reads it for what it is says what is wrong with it


def read_chain(path: Path) -> Chain:
    """The chain of a file. Files that it names are looked up beside it, then where the user stands.

    Raises PromptError, with the file and the link, for what does not hold together.
    """
    told = read_toml(path)
    given = told.pop(LINKS, None)
    if not isinstance(given, list) or not given or not all(isinstance(link, dict) for link in given):
        msg = f"{path}: a chain has [[links]], each with a name and a prompt. See docs/prompts.md."
        raise PromptError(msg)
    title = str(told.pop("title", ""))
    common = dict(_settings(path, "", told, _NOT_TOLD))
    links = tuple(_link(path, number, link) for number, link in enumerate(given, 1))
    names = [link.name for link in links]
    _check_names(path, names)
    return Chain(
        path=str(path),
        title=title,
        settings={key: value for key, value in common.items() if key not in _OF_THE_WHOLE},
        whole={key: value for key, value in common.items() if key in _OF_THE_WHOLE},
        links=links,
    )


def _check_names(path: Path, names: Sequence[str]) -> None:
    """No two names that one variable could mean."""
    for name in names:
        other = next((each for each in names if each.startswith(f"{name}_")), "")
        told = {
            "stands twice": names.count(name) > 1,
            "is what the whole is called": name == WHOLE,
            f"begins the name '{other}', so that ${other} could mean either": bool(other),
        }
        for why in (why for why, wrong in told.items() if wrong):
            msg = f"{path}: the link's name '{name}' {why}: choose another."
            raise PromptError(msg)


def _link(path: Path, number: int, given: Mapping[str, Any]) -> Link:
    where = f"link {given.get('name', number)}: "
    own = {key: value for key, value in given.items() if key in _OF_A_LINK}
    rest = {key: value for key, value in given.items() if key not in _OF_A_LINK}
    if isinstance(own.get("prompt"), str):
        own["prompt"] = prompt_named_in(path, own["prompt"])
    own |= dict(_settings(path, where, {k: own[k] for k in ("cases", "adapter") if k in own}, frozenset()))
    if isinstance(own.get("set"), dict):
        own["set"] = {key: plain(value) for key, value in own["set"].items()}
    try:
        return Link(**own, settings=dict(_settings(path, where, rest, _NOT_TOLD)))
    except ValidationError as error:
        first = error.errors()[0]
        named = ".".join(map(str, first["loc"]))
        why = "letters, digits and _ only, for it is part of $variables" if named == "name" else first["msg"]
        msg = f"{path}: {where}{named}: {why}."
        raise PromptError(msg) from None


def _settings(
    path: Path, where: str, given: Mapping[str, Any], refused: frozenset[str]
) -> Iterator[tuple[str, Any]]:
    """What is told by the names of rehearsal.toml, its files found."""
    for key, value in given.items():
        if key in refused or key not in Settings.model_fields:
            raise UnknownName("setting", key, Settings.model_fields.keys() - refused, f"({where}in {path})")
        if key in FILES and isinstance(value, str):
            yield key, named_in(path, value)
        elif key == "adapter" and isinstance(value, str):
            yield key, bot_named_in(path, value)
        elif key == "judges":
            yield key, judges_named_in(path, value)
        else:
            yield key, value
