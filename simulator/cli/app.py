"""The command line: which word does what, and what becomes of errors."""

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
from typing import Any, TextIO, cast

import typer

from simulator import __version__
from simulator.cli.options import CommandGroup, PanelCommand
from simulator.core.errors import InputError, RehearsalError, Unforeseen
from simulator.core.secrets import HIDDEN, addressed, concealed, is_secret, known_secrets
from simulator.core.settings import Settings, load
from simulator.core.translations import TranslatingStream, language_of
from simulator.models.cache import cache_folder, private_file, private_folder


def is_unread(error: BaseException) -> bool:
    """Whether it says that the reader of the output is gone; the painter leaves the program for that."""
    gone = isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    return gone or isinstance(error, BrokenPipeError)


def no_more_output() -> None:
    """Lets everything that is still printed go nowhere, also what is flushed when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def may_stop_reading(said: str = "") -> Iterator[None]:
    """Goes on with the command when what it prints here is not read to its end; `said` is told on stderr."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if not is_unread(error):
            raise
        no_more_output()
        sys.stderr.write(said)


DONE, MISSED, TO_MEND, INCOMPLETE, OUR_MISTAKE = 0, 1, 2, 3, 4
WORDS = (
    "simulate", "evaluate", "grade", "calibrate", "review", "report", "fixes", "diff", "history", "compare",
    "merge", "purge", "cross-examine", "cases", "thresholds", "harness", "cache", "init", "list", "doctor",
)  # fmt: skip
PROGRAM = "python run.py"
# These decide nothing: whoever stops reading what they print has not missed a verdict.
_ONLY_SHOWN = ("list", "history", "fixes", "compare", "--version")
_ABOUT = """Rehearses a RAG chatbot: simulated customers talk with it, judges grade every turn.

\b
python run.py --persona angry           the bundled demo bot; no key needed
python run.py --adapter bot.py:answer   your own bot
python run.py simulate --help           every option of a rehearsal
"""
_EPILOGUE = """Without a command, a rehearsal starts. Every option may also stand in the environment or .env
(REHEARSAL_TURNS=5), or in rehearsal.toml (turns = 5); the command line goes first, the file last.

Exit codes: 0 done or passed, 1 target missed or regression, 2 something to mend, 3 incomplete,
4 a mistake of this program (a run goes on with --resume).
"""


def main(arguments: Sequence[str]) -> int:
    """Runs a command and gives the exit code: 0 done, 1 missed, 2 to mend, 3 incomplete, 4 our mistake."""
    # A run makes many objects and nearly no cycles: looking for these as often as usual costs a tenth of it.
    gc.set_threshold(50_000, 20, 50)
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe of another encoding shows "?" for what it lacks; nothing fails for it.
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            stream.reconfigure(errors="replace")
    with _in_readers_language():
        try:
            code = _run(_with_default(arguments))
            sys.stdout.flush()
            return code
        except BaseException as error:
            return _unread(arguments) if is_unread(error) else _told(error, arguments)


@contextlib.contextmanager
def _in_readers_language() -> Iterator[None]:
    """What is said on the terminal meanwhile is said in Japanese to whoever reads Japanese."""
    if language_of(os.environ) == "en":
        yield
        return
    stdout, stderr = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        cast("TextIO", TranslatingStream(stdout)),
        cast("TextIO", TranslatingStream(stderr)),
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = stdout, stderr


def _told(error: BaseException, arguments: Sequence[str]) -> int:
    """What is expected to go wrong, in one line, and the exit code that says whose turn it is."""
    if isinstance(error, RehearsalError):
        return _say(str(error), TO_MEND if isinstance(error, InputError) else INCOMPLETE)
    if isinstance(error, KeyboardInterrupt):
        return _say("interrupted.", INCOMPLETE)
    if isinstance(error, SystemExit):
        return _say("ended early: the bot's own code left the program.", INCOMPLETE)
    if hasattr(error, "format_message"):
        return _usage(error)
    pass

    return _say(told(error, arguments), OUR_MISTAKE)


def _with_default(arguments: Sequence[str]) -> list[str]:
    """`run.py --persona angry` means `run.py simulate --persona angry`."""
    first = arguments[0] if arguments else ""
    is_option = first.startswith("-") and first not in ("--help", "-h", "--version")
    given = ["simulate", *arguments] if is_option or not arguments else list(arguments)
    if given[0] == "simulate" and "--redact" in given:  # alone it means on
        place = given.index("--redact")
        if given[place + 1 : place + 2] not in (["on"], ["off"], ["auto"]):
            given[place] = "--redact=on"
    return given


def _run(arguments: list[str]) -> int:
    """Without the parser's own treatment of Ctrl-C and closed pipes, which has other exit codes."""
    if not {"--help", "-h", "--version"} & set(arguments):
        _read_env_file()
    command = command_tree()
    try:
        with command.make_context(PROGRAM, arguments) as context:
            return int(command.invoke(context) or DONE)
    except typer.Exit as done:
        return done.exit_code


def _read_env_file() -> None:
    """What .env of the folder where the user stands adds to the environment, never overriding it."""
    path = Path(".env")
    if not path.exists() or path.is_dir():
        return
    from dotenv import dotenv_values  # only where there is such a file

    try:
        found = dotenv_values(path, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f".env: cannot be read ({error})."
        raise InputError(msg) from None
    for name, value in found.items():
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
    def about(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
        if version:
            sys.stdout.write(f"{__version__}\n")

    for word in WORDS:
        module = import_module(f"simulator.cli.{word.replace('-', '_')}")
        if hasattr(module, "WORDS"):
            app.add_typer(_group(module), name=word, short_help=module.ABOUT.partition("\n")[0])
        else:
            _add(app, word, module.command)
    return typer.main.get_command(app)


def _add(app: typer.Typer, word: str, command: Any) -> None:
    first_line = str(command.__doc__).partition("\n")[0]
    app.command(word, cls=PanelCommand, short_help=first_line)(command)


def _group(module: Any) -> typer.Typer:
    """A word that has words of its own (`cases make`); alone it says what there is."""
    group = typer.Typer(cls=CommandGroup, help=module.ABOUT, rich_markup_mode=None)

    @group.callback(invoke_without_command=True)
    def about(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            sys.stdout.write(f"{context.get_help()}\n")

    for word, command in module.WORDS.items():
        _add(group, word, command)
    return group


def _usage(error: Any) -> int:
    """A mistake on the command line, in one line."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else PROGRAM
    said = str(error.format_message())
    return _say(f"{said}{'' if said.endswith(('.', '?')) else '.'} See: {path} --help", TO_MEND)


def _unread(arguments: Sequence[str]) -> int:
    """Nobody reads on (`run.py list | head`): nothing more is written, also not at exit."""
    no_more_output()
    if {*arguments[:1]} & {*_ONLY_SHOWN} or {*arguments} & {"--help", "-h"}:
        return DONE
    return _say("its output was not read to the end, so nobody has seen the verdict.", INCOMPLETE)


def _say(message: str, code: int) -> int:
    """One line on stderr, without the control codes that a message of others may hold."""
    told = addressed(concealed(message, known_secrets({})))  # a last guard: whoever raised it may quote one
    shown = "".join(letter if letter.isprintable() else " " for letter in told)
    sys.stderr.write(f"error: {' '.join(shown.split())}\n")
    return code


NAME = "error.txt"


def told(error: BaseException, arguments: Sequence[str]) -> str:
    """The line: what it is, which file says more, and how a run goes on that it ended."""
    run = error.run if isinstance(error, Unforeseen) else None
    cause = (error.__cause__ or error) if run else error
    first = cause
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    said = " ".join(f"{type(first).__name__}: {first}".split())[:200].rstrip(": ")
    what = f"a mistake of this program, not of yours ({said})."
    if place := _written(cause, arguments, (run.parent,) if run else ()):
        what = f"{what} Details: {place}"
    if run is None:
        return what
    folder = run.parent
    name = folder.name if folder == Path(Settings().runs, folder.name) else str(folder)
    return f"{what} The run goes on with: python run.py --resume {shlex.quote(name)}"


def _written(error: BaseException, arguments: Sequence[str], folders: Iterable[Path]) -> Path | None:
    """The file with the traceback, without secrets: with the run, else where anything can be written."""
    text = _without_secrets("".join(traceback.format_exception(error)), arguments)
    about = f"rehearsal {__version__}, Python {platform.python_version()}, {platform.system()}"
    when = f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    command = _without_secrets(shlex.join(_concealed(arguments)), arguments)
    whole = f"{when}, {about}\npython run.py {command}\n\n{text}\n".encode("utf-8", "replace")
    for folder in (*folders, *_elsewhere()):
        with contextlib.suppress(OSError):
            private_folder(folder)
            private_file(folder / NAME)
            with (folder / NAME).open("ab") as file:
                file.write(whole)
            return folder / NAME
    return None


def _elsewhere() -> Iterator[Path]:
    with contextlib.suppress(RuntimeError):  # there is no home folder
        yield cache_folder()
    with contextlib.suppress(OSError):
        yield Path(tempfile.mkdtemp(prefix="rehearsal-"))


def _without_secrets(text: str, arguments: Sequence[str]) -> str:
    given = dict(each.partition("=")[::2] for each in arguments if "=" in each)
    with contextlib.suppress(Exception):  # what is wrong with the settings may be the very mistake
        given |= load({}).set
    return addressed(concealed(text, known_secrets(given)))


def _concealed(arguments: Sequence[str]) -> Iterator[str]:
    """The command line, whose secrets may be too short to be found anywhere."""
    for each in arguments:
        name, equals, _ = each.partition("=")
        yield f"{name}={HIDDEN}" if equals and is_secret(name) else each
