"""`make messages`: brings the catalogues of every language up to date with the source, and compiles them.

A new sentence is added without a translation, one that is said no longer goes. What is missing then is told.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment
from jinja2.ext import extract_from_ast

from simulator import plugins
from simulator.cli.app import ABOUT, CLOSING, all_words, command_of, every_command
from simulator.core import shelves
from simulator.core.messages import CHECKOUT, HELP, SHELF, verbatim

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("simulator", "judges", "rag_adapters")
LOCALES = ROOT / "simulator" / "core" / "locale"
# The context of another wording for reports on single-turn rows; it is only in the catalogues.
ROWS = "rows"
_PLACEHOLDERS = (
    b'"Project-Id-Version: ',
    b'"Report-Msgid-Bugs-To: EMAIL@',
    b'"Last-Translator: FULL NAME',
    b'"Language-Team: ',
)
KEYWORDS = ("_", "ngettext", "pgettext")


def extracted() -> Catalog:
    """Every sentence of the source and its templates, and the files it stands in."""
    catalogue_of_source = Catalog(project="rehearsal", fuzzy=False)
    files = (file for source in SOURCES for file in (ROOT / source).rglob("*"))
    for path in (ROOT / "run.py", *sorted(files)):
        place = path.relative_to(ROOT).as_posix()
        for name, texts in _calls(path):
            context = texts.pop(0) if name == "pgettext" else None
            _add(catalogue_of_source, tuple(texts) if name == "ngettext" else texts[0], place, context)
    for context, sources in ((HELP, help_texts()), (SHELF, shelf_texts())):
        for text, place in sources:
            _add(catalogue_of_source, verbatim(text, context).template, place, context)
    return catalogue_of_source


def _add(into: Catalog, message: str | tuple[str, ...], place: str, context: str | None) -> None:
    # A share such as "{n} % of the rows" is no format of another kind.
    into.add(message, locations=[(place, 0)], context=context).flags.discard("python-format")


def _calls(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The calls that make a sentence, each with its texts.

    Babel's own reader of Python loses the plural of a call that has another one among its values.
    """
    if path.suffix == ".py":
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in KEYWORDS:
                texts = [str(arg.value) for arg in call.args if isinstance(arg, ast.Constant)]
                if texts:
                    yield call.func.id, texts
    elif path.suffix == ".j2":
        template = Environment(autoescape=True).parse(path.read_text(encoding="utf-8"))
        for _line, name, message in extract_from_ast(template, KEYWORDS):
            yield name, [text for text in (message if isinstance(message, tuple) else (message,)) if text]


def shelf_texts() -> Iterator[tuple[str, str]]:
    """What `list` says about each judge and adapter that is a function, and its file."""
    for folder, names in (
        (shelves.JUDGES, shelves.judge_names()),
        (shelves.ADAPTERS, shelves.adapter_names()),
    ):
        for path in (folder / f"{name}.py" for name in names):
            if path.exists():
                yield str(shelves.summary_line(path)), path.relative_to(ROOT).as_posix()
    for name in plugins.judge_names():
        source = plugins.judge_source(name)
        if callable(source):
            path = Path(inspect.getfile(source))
            yield str(shelves.summary_line(path)), path.relative_to(ROOT).as_posix()


def help_texts() -> Iterator[tuple[str, str]]:
    """What --help says, in the pieces in which it is translated, and the file of each."""
    for path, command in every_command():
        place = _place(path.partition(" ")[0])
        yield from ((paragraph, place) for paragraph in (command.first_line, *_paragraphs(command.help)))
        for option in command.options:
            is_setting = option.name in command.settings
            yield option.text, "simulator/core/settings.py" if is_setting else place
            if option.title:
                yield option.title, "simulator/core/settings.py"
    for word, line in all_words().items():
        yield line, _place(word)
        if isinstance(group := command_of(word), plugins.Subcommands):
            yield from ((paragraph, _place(word)) for paragraph in _paragraphs(group.about))
    for text in (ABOUT, CLOSING):
        yield from ((paragraph, "simulator/cli/app.py") for paragraph in _paragraphs(text))


def _place(word: str) -> str:
    """The file of a command."""
    if room := next((name for name, room in plugins.LAB.items() if word in room.commands), ""):
        return f"simulator/lab/{room}/command.py"
    return f"simulator/cli/{word.replace('-', '_')}.py"


def _paragraphs(text: str) -> Iterator[str]:
    """Lines that are kept as they are come one by one, without commands that are only to be typed."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        first, *lines = paragraph.split("\n")
        whole = lines if first == "\b" else [" ".join([first, *lines])]
        yield from (line for line in whole if line and not is_command_line(line))


def is_command_line(text: str) -> bool:
    """Whether it is typed as it stands."""
    return text.startswith(f"{CHECKOUT} ") and "  " not in text


def catalogue(path: Path) -> Catalog:
    """The catalogue in a .po file."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parent.parent.name)


def update(path: Path, source: Catalog) -> Catalog:
    """The catalogue with the sentences of the source: written, compiled and returned."""
    translations = catalogue(path)
    source = with_variants(source, translations)
    source.creation_date = translations.creation_date
    translations.update(source, no_fuzzy_matching=True, update_creation_date=False)
    for message in translations:
        message.flags.discard("python-format")
    file = BytesIO()
    write_po(file, translations, width=110, include_lineno=False, ignore_obsolete=True, sort_by_file=True)
    # The header has nobody to write to, and Babel's words for nobody are no help.
    lines = file.getvalue().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if not line.startswith(_PLACEHOLDERS)))
    path.with_suffix(".mo").write_bytes(compiled(catalogue(path)))
    return translations


def with_variants(source: Catalog, translations: Catalog) -> Catalog:
    """What the catalogue is for: the sentences that have another wording in reports on rows, too.

    An English catalogue holds nothing else.
    """
    wanted = Catalog(fuzzy=False)
    for message in source:
        if not message.id:
            continue
        if translations.locale_identifier != "en":
            wanted.add(message.id, locations=message.locations, context=message.context)
        singular = message.id[0] if isinstance(message.id, tuple) else message.id
        variant = f"{ROWS}: {message.context}" if message.context else ROWS
        if translations.get(singular, variant) is not None:
            wanted.add(message.id, locations=message.locations, context=variant)
    return wanted


def compiled(translations: Catalog) -> bytes:
    """The catalogue as the program reads it."""
    file = BytesIO()
    write_mo(file, translations)
    return file.getvalue()


def main() -> int:
    """Says how many sentences are without a translation; 1 if there are any."""
    source = extracted()
    missing = 0
    for path in sorted(LOCALES.rglob("*.po")):
        translations = update(path, source)
        without = sum(not all(_strings(message.string)) for message in translations if message.id)
        missing += without
        place = path.relative_to(ROOT)
        sys.stdout.write(f"{place}: {len(translations)} sentences, {without} without a translation\n")
    return 1 if missing else 0


def _strings(string: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return tuple(string) if isinstance(string, (tuple, list)) else (string or "",)


if __name__ == "__main__":
    sys.exit(main())
