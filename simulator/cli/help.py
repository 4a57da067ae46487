"""Pages of help, in the reader's language.

    Usage: python run.py fixes [OPTIONS] [RUN]

      Show what to fix first: answers to review grouped by their fix.

    Options:
      --top N  Show only the N best fixes. [default: 10]

Texts stand in English where they are used, and are translated on their way onto the page.
"""

import os
import textwrap
from collections.abc import Iterable, Mapping

from simulator.cli.options import Command, Option
from simulator.core.messages import CHECKOUT, HELP, Message, _, localised, pgettext, verbatim, wrap

# A command with more options than these shows the usual ones first.
_MANY = 40
# Before a paragraph whose lines are not to be wrapped.
_VERBATIM = "\b\n"
# Columns of a page at most and at least, and of the names on it; a longer name stands on a line of its own.
_WIDEST, _NARROWEST, _NAMES = 98, 50, 30
_HELP_OPTION = Option(flags=("-h", "--help"), text="Show this message and exit.")
_VERSION = Option(flags=("--version",), text="Show the version and exit.")
_GROUP = ("[OPTIONS]", "COMMAND", "[ARGS]...")
# What stands on pages beside the texts of commands and options; defaults that are words.
_WORDS = (
    pgettext("help", "[OPTIONS]"),
    pgettext("help", "COMMAND"),
    pgettext("help", "[ARGS]..."),
    pgettext("help", "Arguments"),
    pgettext("help", "Options"),
    pgettext("help", "Commands"),
    pgettext("help", "More"),
    pgettext("help", "Every other option: --help-all"),
    pgettext("help", "COMMAND --help shows what each does, --help-all lists them."),
    pgettext("help", "Show this message and exit."),
    pgettext("help", "Show the version and exit."),
    pgettext("help", "all, mixed"),
    pgettext("help", "those that fit the data"),
)
# Names, each with what it means, in the reader's language.
Rows = Iterable[tuple[str, str]]


def command_page(path: str, command: Command, *, everything: bool) -> str:
    """The page of a command: what it does, its arguments and options; of many, the usual ones first."""
    hides = len(command.options) > _MANY and not everything
    lists: dict[str, list[Option]] = {}
    for option in command.options:
        if not (hides and option.rare):
            lists.setdefault((option.title or "Options") if option.flags else "Arguments", []).append(option)
    lists.setdefault("Options", []).append(_HELP_OPTION)
    page = _HelpPage(path, "[OPTIONS]", *(option.typed for option in lists.get("Arguments", ())))
    page.paragraphs(command.help)
    page.lists({title: _explained(options) for title, options in lists.items()})
    if hides:
        page.lines += ["", said("Every other option: --help-all")]
    return page.text()


def group_page(path: str, about: str, words: Mapping[str, str]) -> str:
    """The page of a command that has commands, each with the first line of its help."""
    page = _HelpPage(path, *_GROUP)
    page.paragraphs(about)
    page.lists({"Options": _explained([_HELP_OPTION]), "Commands": _lines_of(words)})
    return page.text()


def program_page(about: str, words: Mapping[str, str], more: Iterable[str], closing: str) -> str:
    """The page of the program: `words`, each with its first line, the names of `more`, and paragraphs."""
    page = _HelpPage(CHECKOUT, *_GROUP)
    page.paragraphs(about)
    page.lists({"Options": _explained([_VERSION, _HELP_OPTION]), "Commands": _lines_of(words)})
    if names := ", ".join(more):
        page.title("More")
        page.lines += [f"  {line}" for line in _lines(names, page.width - 2)]
        page.paragraphs("COMMAND --help shows what each does, --help-all lists them.")
    page.paragraphs(closing)
    return page.text()


def meaning(option: Option) -> Message:
    """What an option means, with its default."""
    text = verbatim(option.text, HELP)
    if option.is_required:
        return _("{text} [required]", text=text)
    if option.shown:
        return _("{text} [default: {value}]", text=text, value=verbatim(option.shown, HELP))
    return text


def said(english: str) -> str:
    """A text of help in the reader's language; English where there is no translation."""
    return localised(verbatim(english, HELP))


def _lines_of(words: Mapping[str, str]) -> Rows:
    return [(word, said(line)) for word, line in words.items()]


def _explained(options: Iterable[Option]) -> Rows:
    return [(option.typed, localised(meaning(option))) for option in options]


class _HelpPage:
    """A page that is written line by line, for the width of this terminal."""

    def __init__(self, path: str, *words: str) -> None:
        """It begins with how the command is typed."""
        self.width = max(_NARROWEST, min(_columns() - 2, _WIDEST))
        self.lines = [localised(_("Usage: {line}", line=" ".join(map(said, (path, *words)))))]

    def title(self, title: str) -> None:
        """A title, after an empty line."""
        self.lines += ["", localised(_("{title}:", title=verbatim(title, HELP)))]

    def paragraphs(self, text: str) -> None:
        """Paragraphs, each after an empty line."""
        for paragraph in filter(None, (part.strip("\n") for part in text.split("\n\n"))):
            if paragraph.startswith(_VERBATIM):
                lines = list(map(said, paragraph.removeprefix(_VERBATIM).splitlines()))
            else:
                lines = _lines(said(" ".join(paragraph.split())), self.width - 2)
            self.lines += ["", *(f"  {line}" for line in lines)]

    def lists(self, lists: Mapping[str, Rows]) -> None:
        """Lists with their titles; all names stand in one column."""
        column = min(_NAMES, max(len(name) for rows in lists.values() for name, _text in rows))
        margin = " " * (column + 4)
        for title, rows in lists.items():
            self.title(title)
            for name, text in rows:
                lines = [margin + line for line in _lines(text, self.width - len(margin))] or [""]
                if len(name) <= column:
                    lines[0] = f"  {name:{column}}  {lines[0].lstrip()}".rstrip()
                else:
                    lines.insert(0, f"  {name}")
                self.lines += lines

    def text(self) -> str:
        """The whole page."""
        return "\n".join((*self.lines, ""))


def _columns() -> int:
    """The width of the terminal; 80 columns where there is none."""
    try:
        return int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(1).columns
    except (ValueError, OSError):
        return 80


def _lines(text: str, width: int) -> list[str]:
    if text.isascii():  # as English nearly always is, and soon done
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return wrap(text, width, by_phrase=True)
