"""Kinds of customers as persona files: TOML that people read and change."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from simulator.core.errors import InputError
from simulator.core.types import Language, Persona
from simulator.making.forms import Speaker

NOTE = "# Made from recorded dialogues: how such customers speak. Read it over before it is used."


def save_personas(
    speakers: Sequence[Speaker], folder: Path, shelf: Mapping[str, Persona], usual: str = "calm"
) -> list[Path]:
    """One file for each, never over another; the nearest persona lends its phrases for offline play."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_save(each, folder, shelf.get(each.like.strip(), shelf[usual])) for each in speakers]
    except OSError as error:
        msg = f"{folder}: personas cannot be written ({error.strerror})."
        raise InputError(msg) from None


def _save(speaker: Speaker, folder: Path, like: Persona) -> Path:
    stem = re.sub(r"[^a-z0-9]+", "-", speaker.id.lower()).strip("-")[:40] or "customer"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    for name in names:
        path = folder / f"{name}.toml"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(toml_of(speaker, like))
        except FileExistsError:
            if path.read_text(encoding="utf-8") == toml_of(speaker, like):
                return path
            continue
        return path
    raise FileExistsError(0, "too many personas of that name", str(folder))


def toml_of(speaker: Speaker, like: Persona) -> str:
    """The persona file's text."""
    lines = [NOTE, f"patience = {speaker.patience}"]
    told: tuple[tuple[Language, str, str], ...] = (
        ("ja", speaker.name_ja, speaker.voice_ja),
        ("en", speaker.name_en, speaker.voice_en),
    )
    for language, name, voice in told:
        own = like.speaks(language)
        lines += ["", f"[{language}]", f"name = {_text(name)}", f"voice = {_text(voice)}"]
        lines += [f"knows = {_list(own.knows)}", f"unknown = {_list(own.unknown)}"]
        lines += ["", f"[{language}.phrases]"]
        lines += [f"{situation} = {_list(said)}" for situation, said in own.phrases.items()]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """A TOML string: JSON's form of it is one, but for DEL."""
    return json.dumps(text.strip() or "-", ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(map(_text, texts)) + "]"
