"""`python -m scripts.reference`: writes docs/reference.md, its twin, and docs/schemas, from the program."""

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from scripts.messages import commands
from scripts.schemas import schemas
from simulator import plugins
from simulator.cli.app import command_tree, help_record, in_japanese
from simulator.cli.list import shelf
from simulator.core import shelves
from simulator.core.messages import CHECKOUT, Language, shown
from simulator.core.settings import PREFIX, Settings, groups, setting_fields

PAGES: dict[Language, Path] = {
    "en": shelves.ROOT / "docs" / "reference.md",
    "ja": shelves.ROOT / "docs" / "reference.ja.md",
}
# Of settings, those that have an option; the others stand in the settings file alone.
plugins.offer()
OPTIONS = {name: title for title, names in groups().items() for name in names}
WORDS: dict[str, str] = {
    "Reference": "リファレンス",
    "Made by `python -m scripts.reference` from the program itself: change nothing here.": (
        "プログラム自身から `python -m scripts.reference` が作るページです。ここは書き換えません。"
    ),
    "Settings": "設定",
    "Only in rehearsal.toml": "rehearsal.toml にだけ書くもの",
    "Commands": "コマンド",
    "Judges": "採点役",
    "Adapters": "アダプター",
    "Personas": "お客様役",
    "settings": "設定",
    "option": "オプション",
    "environment": "環境変数",
    "meaning": "意味",
    "judge": "採点役",
    "what it looks at": "見るもの",
    "grades by default": "既定で採点する",
    "yes": "はい",
    "adapter": "アダプター",
    "what it is": "何か",
    "setting": "設定",
    "default": "既定",
    "required": "必須",
    "persona": "お客様役",
    "name": "名前",
    "The command line overrides the environment, which overrides `rehearsal.toml`.": (
        "コマンドラインは環境変数より、環境変数は `rehearsal.toml` より優先されます。"
    ),
    "In the file a setting has its variable's name in small letters, without the prefix: `turns = 5`.": (
        "ファイルには、環境変数の名前から接頭辞を除き、小文字で書きます（`turns = 5`）。"
    ),
    "What they mean: [bots](bots.md).": "意味は[ボットをつなぐ](bots.ja.md)にあります。",
    "More: [judges](judges.md).": "詳しくは[採点役](judges.ja.md)にあります。",
    "More: [personas](personas.md).": "詳しくは[お客様役](personas.ja.md)にあります。",
    "日本語: [reference.ja.md](reference.ja.md)": "English: [reference.md](reference.md)",
}


def page(language: Language) -> str:
    """The whole page in one language."""

    def say(english: str) -> str:
        return english if language == "en" else WORDS[english]

    def localised(english: str) -> str:
        return english if language == "en" else in_japanese(english)

    def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
        heads = [say(title) for title in titles]
        yield f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}"
        for row in rows:
            yield f"| {' | '.join(' '.join(cell.replace('|', chr(92) + '|').split()) for cell in row)} |"

    def lines() -> Iterator[str]:
        tree = list(commands("", command_tree(), None))
        simulate = next(context for path, _, context in tree if path == "simulate")
        evaluate = next(context for path, _, context in tree if path == "evaluate")
        records = {
            param.name: help_record(param, context)
            for context in (evaluate, simulate)
            for param in context.command.params
        }
        yield f"# {say('Reference')}\n\n{say('日本語: [reference.ja.md](reference.ja.md)')}\n"
        yield say("Made by `python -m scripts.reference` from the program itself: change nothing here.")
        yield f"\n## {say('Settings')}\n"
        yield say("The command line overrides the environment, which overrides `rehearsal.toml`.")
        yield say(
            "In the file a setting has its variable's name in small letters, without the prefix: `turns = 5`."
        )
        for title, names in groups().items():
            yield f"\n### {localised(title)}"
            yield from table(
                ("option", "environment", "meaning"),
                (
                    (
                        f"`{_typed(records[name][0])}`",
                        f"`{PREFIX}{name.upper()}`",
                        localised(records[name][1]),
                    )
                    for name in names
                    if name in records
                ),
            )
        yield f"\n### {say('Only in rehearsal.toml')}\n"
        yield "".join(f"`{name}` " for name in sorted({*setting_fields()} - {*OPTIONS, "protocol"})).strip()
        yield f"\n## {say('Commands')}"
        for path, command, context in tree:
            if path and not isinstance(command, TyperGroup):
                yield f"\n### {path}\n\n{localised(_first(command.help))}"
                yield from _command(context, localised, say, table, f"{CHECKOUT} {path}")
        yield f"\n## {say('Judges')}\n\n{say('More: [judges](judges.md).')}"
        judges = shelf(shelves.JUDGES, shelves.judge_names())
        default = Settings().judges
        yield from table(
            ("judge", "what it looks at", "grades by default"),
            (
                (f"`{name}`", shown(about, language), say("yes") if name in default else "")
                for name, about in judges.items()
            ),
        )
        yield f"\n## {say('Adapters')}\n\n{say('What they mean: [bots](bots.md).')}"
        for name, about in shelf(shelves.ADAPTERS, shelves.adapter_names()).items():
            yield f"\n### {name}\n\n{shown(about, language)}"
            parameters = inspect.signature(shelves.connector(name)).parameters.values()
            yield from table(
                ("setting", "default"),
                (
                    (
                        f"`{parameter.name}`",
                        say("required")
                        if parameter.default is parameter.empty
                        else f"`{parameter.default}`"
                        if parameter.default not in ("", None)
                        else "",
                    )
                    for parameter in parameters
                    if parameter.name not in ("chat", "cases", "choosing")
                ),
            )
        yield f"\n## {say('Personas')}\n\n{say('More: [personas](personas.md).')}"
        personas = {name: shelves.persona(name) for name in shelves.persona_names()}
        yield from table(
            ("persona", "name"),
            ((f"`{name}`", persona.speaks(language).name) for name, persona in personas.items()),
        )

    return "\n".join(lines()) + "\n"


def _command(context: Any, localised: Any, say: Any, table: Any, typed: str) -> Iterator[str]:
    """How a command is called, its own options, and the settings it takes."""
    options, settings = [], []
    for param in context.command.params:
        record = help_record(param, context)
        if param.name in OPTIONS:
            settings.append(f"`{param.opts[-1]}`")
        elif record:
            options.append((f"`{_typed(record[0])}`", localised(record[1])))
    yield f"\n    {typed} {' '.join(context.command.collect_usage_pieces(context))}"
    if options:
        yield from table(("option", "meaning"), options)
    if settings:
        yield f"\n{say('settings')}: {' '.join(settings)}"


def _typed(record: str) -> str:
    return record.removesuffix(" <str>").removesuffix(" <list[str]>")


def _first(text: str) -> str:
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split())


if __name__ == "__main__":
    for language, path in PAGES.items():
        path.write_text(page(language), encoding="utf-8")
    for path, schema in schemas().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(schema, encoding="utf-8")
