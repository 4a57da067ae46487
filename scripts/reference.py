"""`python -m scripts.reference`: writes the pages called reference in docs and docs/lab, and docs/schemas."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.schemas import schemas
from simulator import plugins
from simulator.cli.app import COMMANDS, every_command
from simulator.cli.help import meaning
from simulator.core import shelves
from simulator.core.messages import HELP, Language, shown, verbatim
from simulator.core.settings import Settings, added_settings, groups, setting_fields

DOCS = shelves.ROOT / "docs"
PAGES: dict[Language, Path] = {"en": DOCS / "reference.md", "ja": DOCS / "reference.ja.md"}
LAB_PAGES: dict[Language, Path] = {
    "en": DOCS / "lab" / "reference.md",
    "ja": DOCS / "lab" / "reference.ja.md",
}
plugins.offer()
# Settings that have an option, in the groups of help; the others stand in the settings file alone.
OPTIONS = {name: group for group, names in groups().items() for name in names}
COMPLETION = (
    'For the installed `rehearsal`: write `eval "$(_REHEARSAL_COMPLETE=source_bash rehearsal)"` into'
    " `~/.bashrc`. In zsh write `source_zsh` into `~/.zshrc`, after `compinit`; in fish type"
    " `_REHEARSAL_COMPLETE=source_fish rehearsal | source`."
)
WORDS: dict[str, str] = {
    "Reference": "リファレンス",
    "Reference of the lab": "lab のリファレンス",
    "Written by `python -m scripts.reference`; do not edit.": (
        "`python -m scripts.reference` が作るページです。書き換えないでください。"
    ),
    "Settings and commands of optional features. For all others see the [reference](../reference.md).": (
        "追加の機能の設定とコマンドです。ほかは[リファレンス](../reference.ja.md)にあります。"
    ),
    "Settings": "設定",
    "Commands": "コマンド",
    "Judges": "採点役",
    "The command line overrides the environment, which overrides `rehearsal.toml`.": (
        "コマンドライン、環境変数、`rehearsal.toml` の順に優先されます。"
    ),
    "`--max-major` is `max_major` in the file and `REHEARSAL_MAX_MAJOR` in the environment;"
    " any other name in the file follows in brackets.": (
        "`--max-major` は、ファイルでは `max_major`、環境変数では `REHEARSAL_MAX_MAJOR` です。"
        "ファイルでの名前がこれと違えば、括弧に示します。"
    ),
    "Tables in the file alone: {names} ([judges](judges.md)).": (
        "ファイルにだけ書く表：{names}（[採点役](judges.ja.md)）。"
    ),
    "`-c FILE` reads another file.": "`-c FILE` で、ほかのファイルを読みます。",
    'A table `[prices."model"]` holds the [price](models.md#what-it-costs) of a model.': (
        '表 `[prices."モデル"]` には、モデルの[料金](models.ja.md#費用)を書きます。'
    ),
    "Endpoints and keys are set in the environment:"
    " [models](models.md#any-openai-compatible-endpoint), [your bot](bots.md#openai_chat).": (
        "接続先とキーは環境変数で指定します："
        "[モデル](models.ja.md#openai互換の接続先)、[ボット](bots.ja.md#openai_chat)。"
    ),
    "Optional features have more: [reference of the lab](lab/reference.md).": (
        "追加の機能の設定とコマンドは、[lab のリファレンス](lab/reference.ja.md)にあります。"
    ),
    "`COMMAND --help` explains its options, `--help-all` lists the settings that it takes."
    " `RUN` is an id, its beginning, `latest` or a path.": (
        "オプションの説明は `コマンド --help`、使える設定は `--help-all` にあります。"
        "`RUN` は、ID、その先頭、`latest`、またはパスです。"
    ),
    "What they grade: [judges](judges.md), [more judges](lab/judging.md).": (
        "何を採点するかは、[採点役](judges.ja.md)と[ほかの採点役](lab/judging.ja.md)にあります。"
    ),
    "Not among the defaults of `--judges`: {names}.": "`--judges` の既定に含まれないもの：{names}。",
    "Tab completion": "コマンドの補完",
    COMPLETION: (
        "pip で入れた `rehearsal` で使えます。`~/.bashrc` に"
        ' `eval "$(_REHEARSAL_COMPLETE=source_bash rehearsal)"` と書きます。zsh では `source_zsh` として'
        " `~/.zshrc` の `compinit` の後に書き、fish では"
        " `_REHEARSAL_COMPLETE=source_fish rehearsal | source` と打ちます。"
    ),
    "日本語: [reference.ja.md](reference.ja.md)": "English: [reference.md](reference.md)",
}


class Text:
    """What the program says of itself, in one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.all = dict(every_command())
        options = (*self.all["evaluate"].options, *self.all["simulate"].options)
        self.options = {option.name: option for option in options}

    def say(self, english: str) -> str:
        """A sentence of the page."""
        return english if self.language == "en" else WORDS[english]

    def help(self, english: str) -> str:
        """A sentence of --help."""
        return shown(verbatim(english, HELP), self.language)

    def settings(self, *, lab: bool) -> Iterator[str]:
        """A line for each setting, by group; those of the lab or the others."""
        of_lab = {name for model in added_settings() for name in model.model_fields}
        for group, names in groups().items():
            here = [name for name in names if name in self.options and (name in of_lab) is lab]
            if here:
                yield f"\n### {self.help(group)}\n"
            for option in map(self.options.__getitem__, here):
                word = option.flags[-1].removeprefix("--").replace("-", "_")
                other = "" if word == option.name else f" (`{option.name}`)"
                yield f"- `{option.typed}`{other}: {shown(meaning(option), self.language)}"

    def commands(self, *, lab: bool) -> Iterator[str]:
        """What each command does, and the names of its own options; those of the lab or the others."""
        for path, command in self.all.items():
            if (path.split()[0] not in COMMANDS) is lab:
                own = (option for option in command.options if option.name not in command.settings)
                names = " ".join(f"`{option.typed}`" for option in own)
                yield f"- **{path}**: {self.help(_first(command.help))} {names}".rstrip()

    def judges(self) -> str:
        """The names of the judges that are no defaults."""
        rest = [name for name in shelves.judge_names() if name not in Settings().judges]
        return self.say("Not among the defaults of `--judges`: {names}.").format(names=_listed(rest))


def page(language: Language) -> str:
    """The page of the core in one language."""
    text = Text(language)
    say = text.say
    alone = sorted({*setting_fields()} - {*OPTIONS, "protocol"})
    parts = [
        f"# {say('Reference')}\n",
        f"{say('日本語: [reference.ja.md](reference.ja.md)')}\n",
        f"{say('Written by `python -m scripts.reference`; do not edit.')}\n",
        f"## {say('Settings')}\n",
        say("The command line overrides the environment, which overrides `rehearsal.toml`."),
        say("`-c FILE` reads another file."),
        say(
            "`--max-major` is `max_major` in the file and `REHEARSAL_MAX_MAJOR` in the environment;"
            " any other name in the file follows in brackets."
        ),
        say("Tables in the file alone: {names} ([judges](judges.md)).").format(names=_listed(alone)),
        say('A table `[prices."model"]` holds the [price](models.md#what-it-costs) of a model.'),
        say(
            "Endpoints and keys are set in the environment:"
            " [models](models.md#any-openai-compatible-endpoint), [your bot](bots.md#openai_chat)."
        ),
        say("Optional features have more: [reference of the lab](lab/reference.md)."),
        *text.settings(lab=False),
        f"\n## {say('Commands')}\n",
        say(
            "`COMMAND --help` explains its options, `--help-all` lists the settings that it takes."
            " `RUN` is an id, its beginning, `latest` or a path."
        )
        + "\n",
        *text.commands(lab=False),
        f"\n## {say('Judges')}\n",
        say("What they grade: [judges](judges.md), [more judges](lab/judging.md)."),
        text.judges(),
        f"\n## {say('Tab completion')}\n",
        say(COMPLETION),
    ]
    return "\n".join(parts) + "\n"


def lab_page(language: Language) -> str:
    """The page of the lab in one language."""
    text = Text(language)
    say = text.say
    parts = [
        f"# {say('Reference of the lab')}\n",
        f"{say('日本語: [reference.ja.md](reference.ja.md)')}\n",
        say(
            "Settings and commands of optional features. For all others see the [reference](../reference.md)."
        ),
        f"{say('Written by `python -m scripts.reference`; do not edit.')}\n",
        f"## {say('Settings')}",
        *text.settings(lab=True),
        f"\n## {say('Commands')}\n",
        *text.commands(lab=True),
    ]
    return "\n".join(parts) + "\n"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _first(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


if __name__ == "__main__":
    for language, path in PAGES.items():
        path.write_text(page(language), encoding="utf-8")
        LAB_PAGES[language].write_text(lab_page(language), encoding="utf-8")
    for path, schema in schemas().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(schema, encoding="utf-8")
