"""The program's own sentences: a `Message` is English with named values, translated where it is shown.

    raise CaseFileError(_("{path}, line {line:d}: the file is empty.", path=path, line=line))
    ngettext("{n} row is ignored.", "{n} rows are ignored.", n=ignored)
    pgettext("of a verdict", "Missed")

`str(message)` is English. The handler of the terminal shows it in the terminal's language, a report in its
own, from the compiled catalogues in locale/, which `make messages` makes of the sentences in the source.
What a bot, a model, a file or another program said is a `str`, and stays word for word.

In a template, whole numbers are shown with separators (12,000), but `{line:d}` as they are. Of a value that
is a sentence itself, `{why:clause}` shows no full stop and `{why:sentence}` shows one. Several sentences are
joined by `sentences`, items of a list by giving a tuple (`{parts:clauses}` has semicolons, `{parts:dots}`
has " · ").

    _("{path}, line {line:d}: {n} rows", path="a.csv", line=12000, n=12000)
        -> a.csv, line 12000: 12,000 rows
    _("Because {why:clause}, it stops.", why=_("It failed."))
        -> Because It failed, it stops.
    _("{names}", names=("a", "b"))
        -> a, b             in Japanese a、b

Why not gettext's strings at once: an error is raised in one place and shown in another, perhaps in two
languages (the terminal's and the report's), or stored in a run and shown years later. A str would have been
translated too early. So the type tells our sentences from what others said, which must never be translated.
"""

import gettext
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

LOCALES = Path(__file__).with_name("locale")
DOMAIN = "rehearsal"
# What is typed to run the program in a checkout, where messages say it so; and what it is called here.
CHECKOUT = "python run.py"
# The command by which this process was started: `rehearsal` once installed, `python ../rehearsal/run.py` from
# a folder beside the checkout.
_called = CHECKOUT
# The folder whose pages (docs/personas.md) messages name, once a command has said it.
_pages: Path | None = None
# The contexts of `verbatim`: what --help says, and the first lines of files on the shelves.
HELP, SHELF = "help", "shelf"
# The context of a message that has its own Japanese beside it.
_BOTH = "both languages"

# A page of the documentation, in either language.
_DOCS_PAGE = re.compile(r"\bdocs/(?:lab/)?\w+(?:\.ja)?\.md\b")
# `{name}`, `{line:d}`, `{share:.1%}`, `{why:clause}`, and the doubled braces that stand for themselves.
_PLACE = re.compile(r"\{\{|\}\}|\{(\w+)(?::([+,0]{0,2}(?:\.\d)?[a-z%]*))?\}")
_NAMED_PLACE = re.compile(r"(\{(\w+)[^}]*\})")
_COMMAS, _SEMICOLONS = {"ja": "、", "en": ", "}, {"ja": "／", "en": "; "}
_STOP = {"ja": "。", "en": "."}
_STOPS = (".", "?", "!", "。", "？", "！", "…")
_SENTENCES, _LIST = "{parts:sentences}", "{names}"

# What a bot says is printed on the user's terminal, so it may not move the cursor, colour or hide anything.
# A whole terminal sequence goes, not only its escape: "\x1b[31m" must not leave "[31m" behind.
# Then controls (but line break and tab), and marks that reverse the direction of what follows.
_SEQUENCES = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
_UNSAFE = re.compile(f"{_SEQUENCES}|{_CONTROLS}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Language = Literal["ja", "en"]


def language_of_most(languages: Iterable[Language]) -> Language:
    """The language that most of them are; Japanese on a tie, and where there are none."""
    counts = Counter(languages)
    return "en" if counts["en"] > counts["ja"] else "ja"


@dataclass(frozen=True, slots=True)
class Message:
    """An English template with its values; `plural` is the template for every `n` but one.

    `context` tells apart what is one word in English and two in another language.
    """

    template: str
    # A value is a str, a number, a Message, or a tuple of these.
    values: tuple[tuple[str, Any], ...] = ()
    plural: str = ""
    n: int = 1
    context: str = ""

    def __str__(self) -> str:
        return shown(self, "en")

    def __format__(self, form: str) -> str:
        """Raises TypeError: an f-string would show English to everybody."""
        raise TypeError(self.template)

    @property
    def english(self) -> str:
        """The English template for this number."""
        return self.plural if self.plural and self.n != 1 else self.template

    def format(self, **values: object) -> "Message":
        """The message of a table with its values, as `str.format` fills a template; `n` makes it plural."""
        # Tables hold messages without values; a count among these decides the plural.
        n = values.get("n")
        return replace(self, values=_kept(values), n=n if isinstance(n, int) else self.n)


def stored(value: Any) -> Any:
    """A message as JSON, from which `restored` makes it again; a text of others as it is.

    A run file keeps template and values, so that its report can be painted in either language later.
    """
    if isinstance(value, tuple):
        return [stored(part) for part in value]
    if not isinstance(value, Message):
        return value
    # Only what is not the default, for a run holds many of them.
    whole: dict[str, Any] = {"template": value.template}
    if value.values:
        whole["values"] = {name: stored(part) for name, part in value.values}
    if value.plural:
        whole |= {"plural": value.plural, "n": value.n}
    return whole | ({"context": value.context} if value.context else {})


def restored(value: Any) -> Any:
    """The message that was stored as this; anything else as it is, a list as a tuple.

    It raises nothing: a run file may be damaged, or of a version with other templates, and is shown all the
    same, in English where the catalogue has no such template any more.
    """
    if isinstance(value, list):
        return tuple(map(restored, value))
    if not isinstance(value, Mapping) or not isinstance(value.get("template"), str):
        return value
    values = value.get("values")
    pairs = values.items() if isinstance(values, Mapping) else ()
    n = value.get("n")
    return Message(
        value["template"],
        tuple((str(name), restored(content)) for name, content in pairs),
        str(value.get("plural") or ""),
        n if isinstance(n, int) else 1,
        str(value.get("context") or ""),
    )


def changed(message: Any, change: Callable[[str], str]) -> Any:
    """A message with every text of others within it changed (masked, shortened), or such a text itself.

    Our own words stay, or a mask that happens to be one of them would break the template.
    """
    if isinstance(message, tuple):
        return tuple(changed(part, change) for part in message)
    if isinstance(message, Message):
        values = tuple((name, changed(value, change)) for name, value in message.values)
        return replace(message, values=values)
    return change(message) if isinstance(message, str) else message


# --- Making them ---


def _(template: str, /, **values: object) -> Message:
    """A message; of an error that carries one, the message is the value."""
    return Message(template, _kept(values))


def ngettext(singular: str, plural: str, /, *, n: int, **values: object) -> Message:
    """A message whose English depends on a number, which it may show as {n}."""
    return Message(singular, _kept({"n": n, **values}), plural, n)


def pgettext(context: str, template: str, /, **values: object) -> Message:
    """A message that says the same in English as another one, and something else in Japanese."""
    return Message(template, _kept(values), context=context)


def verbatim(text: str, context: str) -> Message:
    """A text that stands in the source for another reason (a docstring, the help of an option), as a message.

    Braces in it are no places. `context` is HELP or SHELF, of which the catalogue has every text.
    """
    return Message(text.replace("{", "{{").replace("}", "}}"), context=context)


def both(english: str, japanese: str) -> Message:
    """A text that a file of a shelf has in both languages, as a message; the catalogue has none of it."""
    return Message("{en}", _kept({"en": english, "ja": japanese}), context=_BOTH)


def sentences(*parts: Message | str | None) -> Message:
    """Sentences one after the other, without those that are None or empty."""
    return Message(_SENTENCES, _kept({"parts": tuple(part for part in parts if part)}))


def listed(names: Sequence[Message | str], most: int) -> Message:
    """The first names as a list, with how many more there are."""
    first, more = tuple(names[:most]), len(names) - most
    return (
        _("{names} and {n} more", names=first, n=more)
        if more > 0
        else Message(_LIST, _kept({"names": first}))
    )


def message_of(error: BaseException) -> Message | str:
    """What an error says: a message of ours, or the sentence of whoever raised it."""
    first = error.args[0] if len(error.args) == 1 else None
    return first if isinstance(first, Message) else str(error)


def _kept(values: Mapping[str, object]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _as_value(value)) for name, value in values.items())


def _as_value(value: object) -> Any:
    if isinstance(value, BaseException):
        return message_of(value)
    if isinstance(value, (tuple, list)):
        return tuple(map(_as_value, value))
    if isinstance(value, (Message, float)) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return str(value)


# The commonest that a system says of a file, in the words of Linux and macOS; others stay English.
_SYSTEM = {
    said.template: said
    for said in (
        _("No such file or directory"),
        _("Is a directory"),
        _("Not a directory"),
        _("Permission denied"),
        _("File exists"),
        _("File too large"),
        _("Read-only file system"),
        _("No space left on device"),
    )
}


def printable(text: str) -> str:
    """A text on one line, without control characters."""
    return "".join(character if character.isprintable() else " " for character in text)


def quote(value: object) -> Message | str:
    """A value in quotation marks for an error message: short, on one line, without control characters."""
    if isinstance(value, (list, dict)):
        return _("a list") if isinstance(value, list) else _("an object")
    line = printable(str(value))
    return f"'{line[:40]}…'" if len(line) > 40 else f"'{line}'"


def system_error(error: BaseException | None) -> Message | str:
    """What the system says of a file, without its name; of any other error what it says itself."""
    said = getattr(error, "strerror", None) or ("" if error is None else message_of(error))
    return _SYSTEM.get(said, said) if isinstance(said, str) else said


# --- Showing them ---


def shown(message: Message | str, language: Language, context: str = "") -> str:
    """The message in a language; a text of others as it is.

    In `context` ("rows": of a report on single-turn rows) another wording may stand for it; that of a message
    with a context of its own has both ("rows: who speaks").
    """
    if isinstance(message, str):
        return message
    try:
        return _filled(_translated(message, language, context), message, language, context)
    except KeyError:  # the translation, or a stored template, has a variable that is none
        places = ((name, place) for place, name in _NAMED_PLACE.findall(message.english))
        whole = replace(message, values=(*places, *message.values))
        return _filled(message.english, whole, language, context)


def _translated(message: Message, language: Language, context: str) -> str:
    if message.context == _BOTH:
        return f"{{{language}}}"
    # From the most special wording to the usual one; the first that the catalogue has is taken.
    variant = f"{context}: {message.context}" if message.context else context
    # English has a catalogue as well, but only for the other wording that a context asks for.
    for wording in (variant, message.context) if context else (message.context,):
        if (text := _looked_up(_catalogue(language), message, wording)) != message.english:
            return text
    return message.english


def _looked_up(catalogue: gettext.NullTranslations, message: Message, context: str) -> str:
    """The template in the language of the catalogue; the English where it has none."""
    singular, more, n = message.template, message.plural, message.n
    if more and context:
        return catalogue.npgettext(context, singular, more, n)
    if more:
        return catalogue.ngettext(singular, more, n)
    return catalogue.pgettext(context, singular) if context else catalogue.gettext(singular)


@cache
def _catalogue(language: Language) -> gettext.NullTranslations:
    """The compiled sentences of a language, read when the first is shown."""
    with (LOCALES / language / "LC_MESSAGES" / f"{DOMAIN}.mo").open("rb") as file:
        return gettext.GNUTranslations(file)


def call_program(command: str) -> None:
    """From now on messages name the program by this command."""
    global _called  # noqa: PLW0603 - one name for the whole process, known when it starts
    _called = command


def as_called(text: str) -> str:
    """A text of ours with the command by which the program was started."""
    return text if _called == CHECKOUT else text.replace(CHECKOUT, _called)


def name_pages_in(folder: Path) -> None:
    """From now on messages name pages (docs/personas.md) by where they lie below this folder."""
    global _pages  # noqa: PLW0603 - as above
    _pages = folder


def called_from_python(folder: Path) -> None:
    """From now on messages name the program of this folder, and its pages, unless a command has said them."""
    if _pages is None:
        program = folder / "run.py"
        call_program(f"python {shlex.quote(program.as_posix())}" if program.is_file() else "rehearsal")
        name_pages_in(folder)


def _page_there(named: re.Match[str]) -> str:
    """The page as it is found from the current folder, which may be the one that holds it."""
    if _pages is None or Path.cwd() == _pages:
        return named[0]
    path = _pages / named[0]
    return str(path) if path.is_file() else named[0]


def _filled(text: str, message: Message, language: Language, context: str) -> str:
    text = as_called(text)
    if "docs/" in text:
        text = _DOCS_PAGE.sub(_page_there, text)
    values = dict(message.values)

    def value(place: re.Match[str]) -> str:
        name, form = place[1], place[2] or ""
        return place[0][0] if name is None else _formatted(values[name], form, language, context)

    return _PLACE.sub(value, text)


def _formatted(value: Any, form: str, language: Language, context: str) -> str:
    if isinstance(value, tuple):
        parts = [_formatted(part, "", language, context) for part in value]
        if form == "sentences":
            return _joined(parts)
        joints = {"clauses": _SEMICOLONS[language], "dots": " · "}
        return joints.get(form, _COMMAS[language]).join(parts)
    if isinstance(value, (str, Message)):
        text = shown(value, language, context)
        if form == "clause":  # a sentence without its full stop
            return text.rstrip(".。")
        return text + _STOP[language] if form == "sentence" and not text.endswith(_STOPS) else text
    try:
        return f"{value:,}" if isinstance(value, int) and not form else format(value, form)
    except ValueError:  # what tells of a mistake must not make another
        return str(value)


def _joined(parts: list[str]) -> str:
    # No space after a Japanese full stop; one after an English sentence in between.
    *others, last = parts
    return "".join(part if part.endswith("。") else f"{part} " for part in others) + last


# --- The terminal ---


def language_of(environment: Mapping[str, str]) -> Language:
    """The language of the terminal: that of the setting `language`, else Japanese in a Japanese locale.

    The first that is set of LC_ALL, LC_MESSAGES and LANG counts: {"LC_ALL": "C", "LANG": "ja_JP"} is English.
    """
    if (named := environment.get("REHEARSAL_LANGUAGE")) in ("ja", "en"):
        return "ja" if named == "ja" else "en"
    locales = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "ja" if (next(filter(None, locales), "")).lower().startswith(("ja", "japanese")) else "en"


def localised(message: Message | str) -> str:
    """The message in the language of this terminal."""
    return shown(message, language_of(os.environ))


def say(message: Message | str) -> None:
    """Writes one line to stderr, with its indent, but no line breaks and controls that its values hold."""
    # One line each, so that a log can be searched for it; a bot's message may hold line breaks.
    text = safe_text(localised(message))
    indent = " " * (len(text) - len(text.lstrip(" ")))
    sys.stderr.write(f"{indent}{' '.join(text.split())}\n")


def safe_text(text: str) -> str:
    r"""The text without control codes; half a surrogate pair becomes the replacement character.

    "a\x1b[31mred\x1b[0m" -> "ared". Line breaks stay, "\r\n" as "\n".
    """
    if text.isprintable():  # most are
        return text
    text = text.replace("\r\n", "\n")
    if _UNSAFE.search(text):
        text = _UNSAFE.sub("", text)
    return _LONE_SURROGATE.sub("\ufffd", text)


def encodable(value: Any) -> Any:
    """A text, or the texts within mappings and sequences, with lone surrogates and NULs shown as U+FFFD.

    What a bot or a model says can hold them; no file, request or report can.
    """
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        try:
            value.encode()  # as nearly always it can be
        except UnicodeEncodeError:
            # By way of UTF-16, so that the two halves of one character find each other.
            value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value.replace("\0", "\ufffd")
    if isinstance(value, (dict, Mapping)):  # dict first: the check for Mapping is slow
        return {encodable(key): encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encodable(item) for item in value]
    return value


# Japanese breaks between any two characters, but not before a closing mark or after an opening one (JIS X
# 4051). _WIDE are the characters that take two cells, by Unicode's blocks.
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6"
_OPENING, _ENDING = "（「『【〈《［", "、。，．）」』】〉》］！？：；／・…"
_CLOSING = _ENDING + "ー々"
_UNIT = (
    rf"\s+|[{_OPENING}]*(?:[^\s{_WIDE}]+|[{_WIDE}])[{_CLOSING}]*(?:(?<=[{_WIDE}])[,.:;!?)]+)?|[{_OPENING}]+"
)
# Short texts read better when words stay whole: a phrase is about what ends in hiragana (1ターンの・採点を).
_HONORIFIC = "[おご][一-鿿]"
_PHRASE = (
    rf"\s+|[{_OPENING}]*[^\s{_WIDE}]*[おご]?(?:(?![ぁ-ゟ{_OPENING}{_ENDING}])[{_WIDE}])*"
    rf"(?:(?!{_HONORIFIC})[ぁ-ゟ])*[{_ENDING}]*(?:(?<=[{_WIDE}])[,.:;!?)]+(?!\w))?"
)


# A path or an address; its folders may have any name.
_NAME = rf"[^\s{_OPENING}{_ENDING}/]*"
_PATH = rf"[!-~]*/(?:{_NAME}/)*(?:{_NAME}\.[A-Za-z0-9]+)?[!-~]*[{_CLOSING}]*"
_WORD = re.compile(r"[!-~]{2}")


def wrap(text: str, width: int, *, by_phrase: bool = False) -> list[str]:
    """The text in lines of at most `width` cells; its own line breaks are kept.

    A Japanese character takes two cells. What people copy is on one line however long it is: words of ASCII,
    paths, addresses, and commands of this program. `by_phrase` breaks between phrases, where there is one:

        "1ターンの採点をまとめて行う", 12 -> "1ターンの採" / "点をまとめて" / "行う"
        ... by phrase                     -> "1ターンの" / "採点をまとめ" / "て行う"
    """
    # Not "a rehearsal of ...", where the installed command is a word like any other.
    command = rf"(?<![A-Za-z0-9,.] ){re.escape(as_called(CHECKOUT))}(?: [!-~]+)+[{_CLOSING}]*"
    # Compiled here, as --help does without; without wide characters the words are enough, and soon compiled.
    unit = r"\s+|\S+" if text.isascii() else rf"{_PATH}|{_UNIT}"
    units = re.compile(_PHRASE if by_phrase else rf"{command}|{unit}")
    return [line for paragraph in text.split("\n") for line in _wrapped(paragraph, max(2, width), units)]


def _wrapped(paragraph: str, width: int, units: re.Pattern[str]) -> list[str]:
    """One paragraph in lines; of units that are wider than a line, only those without a word are cut."""
    from rich.cells import cell_len, chop_cells  # --help does without

    lines, free = [""], width
    for unit in (
        part
        for piece in units.findall(paragraph)
        for part in ([piece] if _WORD.search(piece) else chop_cells(piece, width))
    ):
        size = cell_len(unit)
        if size > free and lines != [""]:
            lines.append("")
            free = width
            if unit.isspace():
                continue
        lines[-1] += unit
        free -= size
    return [line.rstrip() for line in lines]
