"""The command line: which word does what, and what becomes of errors."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import typer

from simulator import __version__
from simulator.errors import InputError, RehearsalError

DONE, MISSED, TO_MEND, INCOMPLETE = 0, 1, 2, 3
WORDS = ("simulate", "report", "init", "list", "doctor")
_EXAMPLES = """Rehearses a RAG chatbot: simulated customers talk with it, judges grade every turn.

\b
python run.py --persona angry           the bundled demo bot; no key needed
python run.py --adapter bot.py:answer   your own bot
python run.py simulate --help           every option of a rehearsal
"""


def main(arguments: Sequence[str]) -> int:
    """Runs a command and gives the exit code: 0 done, 1 gate missed, 2 to mend, 3 incomplete."""
    try:
        return int(_app(arguments)(_with_default(arguments), standalone_mode=False) or DONE)
    except InputError as error:
        return _say(str(error), TO_MEND)
    except RehearsalError as error:
        return _say(str(error), INCOMPLETE)
    except KeyboardInterrupt:
        return _say("interrupted before anything was started", INCOMPLETE)
    except BrokenPipeError:  # `run.py list | head`
        return DONE
    except Exception as error:
        return _usage(error)


def _with_default(arguments: Sequence[str]) -> list[str]:
    """`run.py --persona angry` means `run.py simulate --persona angry`."""
    first = arguments[0] if arguments else ""
    is_option = first.startswith("-") and first not in ("--help", "-h", "--version")
    return ["simulate", *arguments] if is_option or not arguments else list(arguments)


def _app(arguments: Sequence[str]) -> Callable[..., Any]:
    app = typer.Typer(
        help=_EXAMPLES, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )  # fmt: skip

    @app.callback(invoke_without_command=True)
    def about(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
        if version:
            sys.stdout.write(f"{__version__}\n")

    for word in WORDS:
        module = import_module(f"simulator.commands.{word}")
        app.command(word)(module.command)
    return typer.main.get_command(app)


def _usage(error: Exception) -> int:
    """A mistake on the command line in one line; a bug of ours with its traceback."""
    message = getattr(error, "format_message", None)
    if message is None:
        raise error
    return _say(f"{message()} See: python run.py --help", TO_MEND)


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    return code
