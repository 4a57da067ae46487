"""The command line: which word runs which command, and which line and exit code an error gives."""

import contextlib
import gc
import io
import os
import platform
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from simulator import __version__
from simulator.cli.options import CommandGroup, PanelCommand
from simulator.cli.terminal import DONE, INCOMPLETE, OUR_ERROR, TO_FIX
from simulator.core.errors import InputError, RehearsalError, Unforeseen, value_problem
from simulator.core.messages import Message, _, localised, say, sentences
from simulator.core.secrets import MASK, is_secret, known_secrets, mask_secrets, without_url_secrets
from simulator.core.settings import GONE, Settings, gone, load_settings
from simulator.models.cache import cache_folder, private_file, private_folder

COMMANDS = (
    "simulate", "evaluate", "grade", "calibrate", "review", "report", "fixes", "diff", "history", "compare",
    "merge", "purge", "cross-examine", "cases", "thresholds", "harness", "cache", "init", "list", "doctor",
)  # fmt: skip
PROGRAM = "python run.py"
# These decide nothing: whoever stops reading what they print has not missed a verdict.
_WITHOUT_VERDICT = ("list", "history", "fixes", "compare", "--version")
# With --help nothing is read but options.
_HELP = frozenset({"--help", "-h"})
# The traceback of an unforeseen error.
ERROR_FILE = "error.txt"
_ABOUT = """Rehearses a RAG chatbot: simulated customers talk with it, judges grade every turn.

\b
python run.py --persona angry           the bundled demo bot; no key needed
python run.py --adapter bot.py:answer   your own bot
python run.py simulate --help           every option of a rehearsal
"""
_EPILOGUE = """Without a command, a rehearsal starts. Every option can also be set in the environment or .env
(REHEARSAL_TURNS=5), or in rehearsal.toml (turns = 5). The command line overrides the environment, and the
environment overrides the file.

Exit codes: 0 done or passed, 1 target missed or regression, 2 something for you to fix, 3 incomplete,
4 an error in this program (a run can be continued with --resume).
"""


def main(arguments: Sequence[str]) -> int:
    """Runs a command; returns its exit code: 0 done, 1 missed, 2 for users to fix, 3 incomplete, 4 ours."""
    # A run makes many objects and nearly no cycles: looking for these as often as usual costs a tenth of it.
    gc.set_threshold(50_000, 20, 50)
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe of another encoding shows "?" for what it lacks; nothing fails for it.
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            stream.reconfigure(errors="replace")
    try:
        code = _run(_with_default_command(arguments))
        sys.stdout.flush()
        return code
    except BaseException as error:
        return _closed_output(arguments) if is_closed_output(error) else _say_error(error, arguments)


# --- From words to a command ---


def _with_default_command(arguments: Sequence[str]) -> list[str]:
    """`run.py --persona angry` means `run.py simulate --persona angry`."""
    first = arguments[0] if arguments else ""
    is_option = first.startswith("-") and first not in (*_HELP, "--version")
    words = ["simulate", *arguments] if is_option or not arguments else list(arguments)
    if words[0] == "simulate" and "--redact" in words:  # alone it means on
        place = words.index("--redact")
        if words[place + 1 : place + 2] not in (["on"], ["off"], ["auto"]):
            words[place] = "--redact=on"
    return words


def _run(arguments: list[str]) -> int:
    """Without the parser's own treatment of Ctrl-C and closed pipes, which has other exit codes."""
    if not {*_HELP, "--version"} & set(arguments):
        _read_env_file()
    command = command_tree()
    try:
        with command.make_context(PROGRAM, arguments) as context:
            return int(command.invoke(context) or DONE)
    except typer.Exit as done:
        return done.exit_code


def _read_env_file() -> None:
    """Adds what .env of the current folder sets to the environment, and overrides nothing there."""
    path = Path(".env")
    if not path.exists() or path.is_dir():
        return
    from dotenv import dotenv_values  # only where there is such a file

    try:
        values = dotenv_values(path, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = _(".env: cannot be read ({error}).", error=error)
        raise InputError(msg) from None
    for name, value in values.items():
        if value is not None:
            os.environ.setdefault(name, value)


@cache
def command_tree() -> Any:
    """Every command with its options and help, as the parser has it."""
    app = typer.Typer(
        cls=CommandGroup, help=_ABOUT, epilog=_EPILOGUE, add_completion=False, rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )  # fmt: skip

    @app.callback(invoke_without_command=True)
    def about(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
        if version:
            sys.stdout.write(f"{__version__}\n")

    for word in COMMANDS:
        module = import_module(f"simulator.cli.{word.replace('-', '_')}")
        if hasattr(module, "SUBCOMMANDS"):
            app.add_typer(_group(module), name=word, short_help=module.ABOUT.partition("\n")[0])
        else:
            _add(app, word, module.command)
    return typer.main.get_command(app)


def _add(app: typer.Typer, word: str, command: Any) -> None:
    first_line = str(command.__doc__).partition("\n")[0]
    app.command(word, cls=PanelCommand, short_help=first_line)(command)


def _group(module: Any) -> typer.Typer:
    """A command with subcommands (`cases make`); alone it shows its help."""
    group = typer.Typer(cls=CommandGroup, help=module.ABOUT, rich_markup_mode=None)

    @group.callback(invoke_without_command=True)
    def about(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            sys.stdout.write(f"{context.get_help()}\n")

    for word, command in module.SUBCOMMANDS.items():
        _add(group, word, command)
    return group


# --- From an error to a line and an exit code ---


def _say_error(error: BaseException, arguments: Sequence[str]) -> int:
    """One line on stderr, and the exit code that says whose turn it is."""
    if isinstance(error, RehearsalError):
        return _say(error.message, TO_FIX if isinstance(error, InputError) else INCOMPLETE)
    if isinstance(error, KeyboardInterrupt):
        return _say(_("interrupted."), INCOMPLETE)
    if isinstance(error, SystemExit):
        return _say(_("ended early: the bot's own code exited the program."), INCOMPLETE)
    if hasattr(error, "format_message"):  # the command line itself is wrong
        context = getattr(error, "ctx", None)
        path = context.command_path if context else PROGRAM
        return _say(
            sentences(
                _("{message:sentence}", message=_command_line_mistake(error, arguments)),
                _("See: {path} --help", path=path),
            ),
            TO_FIX,
        )
    return _say(our_error_message(error, arguments), OUR_ERROR)


def _command_line_mistake(error: Any, arguments: Sequence[str]) -> Message | str:
    """What is wrong with the command line, by the class of the parser's exception."""
    kind, option, param = (
        type(error).__name__,
        getattr(error, "option_name", ""),
        getattr(error, "param", None),
    )
    mistake: Message | str = str(error.format_message())
    if kind == "NoSuchOption" and (name := option.removeprefix("--").replace("-", "_")) in GONE:
        return gone(option, name)
    if kind == "NoSuchOption":
        mistake = _("No such option: {option}", option=option)
        if near := ", ".join(sorted(error.possibilities or ())):
            mistake = _("No such option: {option} (Possible options: {names})", option=option, names=near)
    elif kind == "BadOptionUsage":
        mistake = _("Option '{option}' requires an argument.", option=option)
        if any(each.startswith(f"{option}=") for each in arguments):
            mistake = _("Option '{option}' does not take a value.", option=option)
    elif kind == "MissingParameter" and param:
        name = param.get_error_hint()
        mistake = _("Missing option {name}.", name=name)
        if param.param_type_name == "argument":
            mistake = _("Missing argument {name}.", name=name)
    elif kind == "BadParameter" and param:
        cause = error.__cause__
        problem = value_problem(cause.errors()[0]) if isinstance(cause, ValidationError) else error.message
        mistake = _("Invalid value for {name}: {problem}", name=param.get_error_hint(), problem=problem)
    return mistake


def _say(message: Message | str, code: int) -> int:
    """One line on stderr, without the control characters that a message of others may hold."""
    # A last guard: an error may quote a secret.
    text = without_url_secrets(
        mask_secrets(localised(_("error: {message}", message=message)), known_secrets({}))
    )
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    sys.stderr.write(f"{' '.join(printable.split())}\n")
    return code


def our_error_message(error: BaseException, arguments: Sequence[str]) -> Message:
    """What went wrong, the file with the details, and how to continue the run that it ended."""
    run = error.run if isinstance(error, Unforeseen) else None
    cause = (error.__cause__ or error) if run else error
    first = cause
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    summary = " ".join(f"{type(first).__name__}: {first}".split())[:200].rstrip(": ")
    message = _("an error in this program, not in your files or options ({summary}).", summary=summary)
    file = _write_traceback(cause, arguments, (run.parent,) if run else ())
    details = _("Details: {file}", file=file) if file else None
    if run is None:
        return sentences(message, details)
    folder = run.parent
    name = folder.name if folder == Path(Settings().runs, folder.name) else str(folder)
    again = _("Continue the run with: python run.py --resume {name}", name=shlex.quote(name))
    return sentences(message, details, again)


def _write_traceback(error: BaseException, arguments: Sequence[str], folders: Iterable[Path]) -> Path | None:
    """The file with the traceback, without secrets: with the run, else where anything can be written."""
    trace = _without_secrets("".join(traceback.format_exception(error)), arguments)
    versions = f"rehearsal {__version__}, Python {platform.python_version()}, {platform.system()}"
    now = f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    command = _without_secrets(shlex.join(_concealed(arguments)), arguments)
    text = f"{now}, {versions}\npython run.py {command}\n\n{trace}\n".encode("utf-8", "replace")
    for folder in (*folders, *_other_folders()):
        with contextlib.suppress(OSError):
            private_folder(folder)
            private_file(folder / ERROR_FILE)
            with (folder / ERROR_FILE).open("ab") as file:
                file.write(text)
            return folder / ERROR_FILE
    return None


def _other_folders() -> Iterator[Path]:
    with contextlib.suppress(RuntimeError):  # there is no home folder
        yield cache_folder()
    with contextlib.suppress(OSError):
        yield Path(tempfile.mkdtemp(prefix="rehearsal-"))


def _without_secrets(text: str, arguments: Sequence[str]) -> str:
    values = dict(argument.partition("=")[::2] for argument in arguments if "=" in argument)
    with contextlib.suppress(Exception):  # what is wrong with the settings may be the very error
        values |= load_settings({}).set
    return without_url_secrets(mask_secrets(text, known_secrets(values)))


def _concealed(arguments: Sequence[str]) -> Iterator[str]:
    """The command line without secrets, even those too short to be searched for in a text."""
    for argument in arguments:
        name, equals, _unused = argument.partition("=")
        yield f"{name}={MASK}" if equals and is_secret(name) else argument


# --- Output that nobody reads to its end ---


def is_closed_output(error: BaseException) -> bool:
    """Whether the reader of the output has gone (`run.py list | head`); rich exits the program for that."""
    by_rich = isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    return by_rich or isinstance(error, BrokenPipeError)


@contextlib.contextmanager
def unread_output_allowed(message: Message | str = "") -> Iterator[None]:
    """Continues the command when what is printed here is not read to its end; stderr gets the message."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if not is_closed_output(error):
            raise
        _discard_output()
        if message:
            say(message)


def _closed_output(arguments: Sequence[str]) -> int:
    """The exit code where nobody reads on."""
    _discard_output()
    if {*arguments[:1]} & {*_WITHOUT_VERDICT} or {*arguments} & _HELP:
        return DONE
    return _say(_("its output was not read to the end, so nobody has seen the verdict."), INCOMPLETE)


def _discard_output() -> None:
    """Lets everything that is still printed go nowhere, also what is flushed when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
