"""What the program says itself: in both languages, and never mistaken for what somebody else said."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.core.messages import Message, _, language_of, system_error
from tests.paths import ROOT

# They say something to whoever sits at the terminal.
SAYING = frozenset({"write", "writelines", "print", "say", "echo"})
MAKING = frozenset({"_", "ngettext", "pgettext"})
# What programmers are told: whoever calls a function wrongly, or reads a traceback.
UNTOLD = frozenset({
    "AssertionError", "AttributeError", "KeyError", "NotImplementedError", "TypeError", "UnicodeDecodeError",
})  # fmt: skip
WORD = re.compile(r"(?<!\S)[A-Za-z]{2,}[.,:;]?(?!\S)")


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "ja_JP.UTF-8"}, "ja"), ({"LANG": "en_US.UTF-8"}, "en"), ({}, "en"), ({"LANG": "C"}, "en"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C.UTF-8"}, "en"), ({"LC_MESSAGES": "ja_JP", "LANG": "C"}, "ja"),
        ({"LC_ALL": "", "LANG": "Japanese_Japan.932"}, "ja"),
    ],
)  # fmt: skip
def test_the_terminals_locale_decides(environment: dict[str, str], language: str) -> None:
    """In the order of every other program: LC_ALL, LC_MESSAGES, LANG."""
    assert language_of(environment) == language


def test_every_sentence_that_is_said_is_a_message() -> None:
    """English words that are written, printed, said or raised can be translated: they stand in `_(...)`."""
    files = {*(ROOT / "simulator").rglob("*.py")}  # run.py says one sentence, in both languages
    plain = {
        f"{path.relative_to(ROOT)}:{line}": text
        for path in sorted(files)
        for line, text in _said(ast.parse(path.read_text(encoding="utf-8")))
        if len(WORD.findall(text)) > 1
    }

    assert len(files) > 100
    assert plain == {}


def test_what_a_system_says_of_a_file_is_a_sentence_of_ours() -> None:
    """So it is translated; what no table has stays as it was said."""
    with pytest.raises(OSError, match="No such file") as caught:
        Path("missing").read_text(encoding="utf-8")
    assert system_error(caught.value) == _("No such file or directory")
    assert system_error(OSError(5, "Input/output error")) == "Input/output error"
    assert system_error(ValueError(_("Odd."))) == Message("Odd.")


def _said(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts, and the parts of f-strings, that are said as they stand, with the lines they begin on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in SAYING:
            yield from _texts(*node.args)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            if _name(node.exc.func) not in UNTOLD:
                yield from _texts(*node.exc.args)
        elif isinstance(node, ast.Assign) and any(getattr(to, "id", "") == "msg" for to in node.targets):
            yield from _texts(node.value)


def _texts(*nodes: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Call) and _name(node.func) in MAKING:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        yield from _texts(*ast.iter_child_nodes(node))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
