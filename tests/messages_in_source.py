"""What the program can say in English, found in its source: templates, `{1}` where a value stands."""

import ast
from collections.abc import Iterator
from functools import cache
from itertools import count

from tests.paths import ROOT

SOURCES = ("simulator", "judges", "rag_adapters")
# Functions that say something to whoever sits at the terminal.
SAYING = frozenset({"write", "say", "_say", "print", "say_stopped"})
# What is raised to be told, not to be fixed by a programmer.
_NEVER_TOLD = frozenset({"AssertionError", "NotImplementedError", "TypeError", "AttributeError", "KeyError"})
_WORDS = 2
# Queries, and commands to copy.
_NO_MESSAGES = ("SELECT", "CREATE", "PRAGMA", "python run.py")


@cache
def messages() -> dict[str, str]:
    """Every message by template, and the file it stands in."""
    found: dict[str, str] = {}
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for template in _said_in(ast.parse(path.read_text(encoding="utf-8"))):
                found.setdefault(template, path.relative_to(ROOT).as_posix())
    return found


def _said_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for text in _texts(node):
            template = _template(text)
            if template and _is_english(template):
                yield template.strip().removeprefix("error: ")


def _texts(node: ast.AST) -> Iterator[ast.expr]:
    """The texts of a node that says something: `msg = ...`, `raise Error(...)`, `_say(...)`."""
    if isinstance(node, ast.Assign) and any(
        isinstance(to, ast.Name) and to.id == "msg" for to in node.targets
    ):
        yield from _choices(node.value)
    elif (
        isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and _name(node.exc) not in _NEVER_TOLD
    ):
        for given in node.exc.args:
            yield from _choices(given)
    elif isinstance(node, ast.Call) and _name(node) in SAYING:
        for given in node.args:
            yield from _choices(given)


def _choices(value: ast.expr) -> Iterator[ast.expr]:
    """A text, or both sides of `this if ... else that`."""
    if isinstance(value, ast.IfExp):
        yield from _choices(value.body)
        yield from _choices(value.orelse)
    elif isinstance(value, ast.JoinedStr | ast.Constant):
        yield value


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _template(text: ast.expr) -> str:
    if isinstance(text, ast.Constant):
        return text.value if isinstance(text.value, str) else ""
    places, parts = count(1), getattr(text, "values", [])
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else f"{{{next(places)}}}" for part in parts
    )


def _is_english(template: str) -> bool:
    words = [word for word in template.split() if word.isascii() and sum(map(str.isalpha, word)) > 1]
    return len(words) >= _WORDS and not template.lstrip().startswith(_NO_MESSAGES)


if __name__ == "__main__":
    for template, file in messages().items():
        print(f"{file}\t{template!r}")
