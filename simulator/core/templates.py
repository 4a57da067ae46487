"""Prompts and texts are data: TOML with Japanese and English side by side, `string.Template` text.

A prompt file is checked when it is read: both languages have the same keys, use the same variables, and no
variable that the program does not fill. So no mistake shows only in the middle of a paid run.

`string.Template` and not a template language: a prompt has no logic, its author needs to know nothing but
`$name`, and a value that holds "$answer" or "{{" stays text, for it is never looked at again.

What models are shown of other people's words is quoted under a coded tag (`quote`):

    <question 59d68902>
    いくら？
    </question 59d68902>

All tags of a prompt have the same code (`seal_of`), a hash of everything it quotes, which stands in none of
it: so no text can close its quotation and go on as an instruction. Random codes would do as well, but the
same turn has to give the same prompt: by it replies are found in the cache.
"""

import errno
import hashlib
import os
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cached_property, lru_cache
from itertools import chain, count
from pathlib import Path
from string import Template
from typing import Any

from simulator.core.errors import PromptError
from simulator.core.messages import Language, _, encodable, system_error

LANGUAGES: tuple[Language, Language] = ("ja", "en")
# Bytes of a file that somebody wrote by hand (16 MB): beyond it is a mistaken name, such as that of a
# database.
MOST_BYTES = 1 << 24
# What is counted in texts for people: English nouns whose s goes after a one.
_NOUNS = "row|pair|token|call|turn|question|answer|conversation|message|grade|vote|point|case|character"


def read_text_file(path: Path) -> str:
    """The text of a file that somebody wrote. Raises OSError, also for what is no file or far too long."""
    # A device or a named pipe would be read for ever.
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, os.strerror(errno.EISDIR) if path.is_dir() else _("it is not a file"))
    if path.exists() and path.stat().st_size > MOST_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    # With or without a byte order mark, which Windows editors write.
    return path.read_text(encoding="utf-8-sig")


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises PromptError for one that cannot be read, with the line at fault."""
    try:
        return tomllib.loads(read_text_file(path))
    except UnicodeDecodeError as error:
        msg = _("{path}: not UTF-8 (byte {place:d}). Save it as UTF-8.", path=path, place=error.start)
        raise PromptError(msg) from None
    except FileNotFoundError:
        lacks = _("no such file; check the name and the folder")
        raise PromptError(_("{path}: {why}.", path=path, why=lacks)) from None
    except OSError as error:
        msg = _("{path}: cannot be read ({strerror}).", path=path, strerror=system_error(error))
        raise PromptError(msg) from None
    except (ValueError, RecursionError) as error:
        # Brackets a thousand deep end Python's parser, not this program.
        why = _("nested too deeply") if isinstance(error, RecursionError) else error
        msg = _("{path}: not valid TOML ({error}). Quote text; several lines need '''.", path=path, error=why)
        raise PromptError(msg) from None


def check_languages(path: Path, tables: Mapping[str, Any], allowed: Mapping[str, Set[str]]) -> None:
    """Both languages hold the prompts named in `allowed`, each with the same allowed variables."""
    for language in LANGUAGES:
        if not isinstance(tables.get(language), Mapping):
            raise PromptError(_("{path}: the table [{language}] is missing.", path=path, language=language))
    for key, variables in allowed.items():
        used = {language: _variables(path, language, key, tables[language]) for language in LANGUAGES}
        for language in LANGUAGES:
            check_variables(path, language, key, used[language], variables)
        check_same(path, key, used["ja"], used["en"])


def check_variables(path: Path, language: str, key: str, used: Set[str], variables: Set[str]) -> None:
    """Raises PromptError for a variable of a text that the program does not fill."""
    if extra := used - variables:
        msg = _(
            "{path}: [{language}] {key} uses ${variable}, which nothing fills. It may use:"
            " {variables}; a plain dollar is $$.",
            path=path,
            language=language,
            key=key,
            variable=min(extra),
            variables=", ".join(sorted(variables)) or "no variables",
        )
        raise PromptError(msg)


def check_same(path: Path | str, key: str, names: Set[str], other: Set[str]) -> None:
    """Raises PromptError for a variable that only one of two languages uses."""
    if difference := names ^ other:
        only = {"path": path, "key": key, "difference": min(difference)}
        raise PromptError(_("{path}: {key} uses ${difference} in one language only.", **only))


def _variables(path: Path, language: str, key: str, table: Mapping[str, Any]) -> set[str]:
    text = table.get(key)
    if not isinstance(text, str) or not text.strip():
        msg = _("{path}: [{language}] {key} is missing or empty.", path=path, language=language, key=key)
        raise PromptError(msg)
    template = Template(text)
    if not template.is_valid():
        msg = _(
            "{path}: [{language}] {key} has a lone dollar; write $$ for a plain one.",
            path=path,
            language=language,
            key=key,
        )
        raise PromptError(msg)
    return set(template.get_identifiers())


def render(text: str, /, **values: str) -> str:
    """The prompt with its variables filled; values are never searched for variables again."""
    return (_percent(text) % values if "$" in text else text).strip()


@lru_cache(maxsize=1024)
def _percent(text: str) -> str:
    """The prompt with `%(name)s` for each variable, which Python fills in far quicker than a Template."""
    template = Template(text.replace("%", "%%"))
    return template.substitute({name: f"%({name})s" for name in template.get_identifiers()})


def filled(language: Language, text: str, values: Mapping[str, object]) -> str:
    """A text with its variables filled and its spaces kept; whole numbers as people read them.

    English nouns are singular after a one: `$n rows` becomes `1 row`. Unlike `render` it keeps spaces, since
    these are parts of sentences.
    """
    # 12000 becomes 12,000; a text keeps its digits as they are.
    shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
    if language == "en" and (ones := [name for name, value in shown.items() if value == "1"]):
        text = re.sub(rf"(\$(?:{'|'.join(ones)}) (?:{_NOUNS}))s\b", r"\1", text)
    return Template(text).substitute(shown)


class Prompts:
    """The prompts of a TOML file in both languages; checked when they are read."""

    def __init__(self, path: Path, variables: Mapping[str, Set[str]]) -> None:
        """`variables` are those that each prompt may use. Raises PromptError."""
        self.tables = read_toml(path)
        check_languages(path, self.tables, variables)

    def text(self, language: Language, key: str, /, **values: str) -> str:
        """A rendered text."""
        return render(self.tables[language][key], **values)

    def again(self, language: Language) -> Callable[[str], str]:
        """How a model is asked once more, by what was wrong with its reply."""
        return lambda problem: self.text(language, "again", problem=problem)


def request(system: str, user: str) -> list[dict[str, str]]:
    """The messages of one request."""
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


class Texts:
    """The texts of a TOML file in both languages: `texts("ja", "missing", items="9,800円")`."""

    def __init__(self, path: Path) -> None:
        """The file is read when the first text is asked for."""
        self.path = path

    def __call__(self, language: Language, key: str, /, **values: object) -> str:
        """The text of a key, its variables filled."""
        return filled(language, self._tables[language][key], values)

    @cached_property
    def _tables(self) -> dict[str, Any]:
        return read_toml(self.path)


def seal_of(*texts: str) -> str:
    """Eight hexadecimal digits for the tags of a prompt that quotes these texts; they stand in none of them.

    They depend on every text, and whoever wrote one does not know the others. Who did would need some four
    billion hashes to write a text that holds the code of its own prompt; then the next code is taken.
    """
    # However it is written: to a model wide digits and capitals may be the same code.
    quoted = unicodedata.normalize("NFKC", str(encodable("\0".join(texts)))).casefold()
    codes = (fingerprint(*texts, *again)[:8] for again in chain([()], zip(map(str, count()))))
    return next(code for code in codes if code not in quoted)


def quote(tag: str, text: str, seal: str) -> str:
    """`text` as data under a tag that carries the prompt's code (`seal_of`): `<desk-2 59d68902>`."""
    return f"<{tag} {seal}>\n{encodable(text)}\n</{tag} {seal}>"


def quote_lines(lines: Iterable[tuple[str, str]], seal: str) -> str:
    """A dialogue of (tag, text), each line quoted by itself, so that none can forge another."""
    return "\n".join(quote(tag, text, seal) for tag, text in lines)


def fingerprint(*parts: str) -> str:
    """Twelve hexadecimal digits that stand for these texts in scores and reports.

    Each text is followed by a NUL, so that ("ab", "c") and ("a", "bc") differ. 48 bits are plenty to tell the
    prompts of one team apart; nothing relies on them being hard to forge.
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()[:12]


def stable_int(*parts: Any) -> int:
    """A number below 2**31 from these parts: the same in every process, unlike `hash`.

    Seeds of models and of every choice come from here: `stable_int(42, "angry/fees-01#1")` is 236137720. 31
    bits are what endpoints take as a seed.
    """
    text = "\0".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4]) >> 1
