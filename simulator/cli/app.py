"""The command line: which word runs which command, and which line and exit code an error gives.

From words to a command:

    --persona angry          simulate --persona angry      without a command, a rehearsal starts
    -c mine.toml list        list                          with REHEARSAL_CONFIG=mine.toml meanwhile
    --redact --cases x.csv   simulate --redact=on ...      alone, --redact means on

From an error to an exit code, each with one line on stderr:

    0   done, or the target was reached
    1   the target was missed, or `diff` found a regression: said by the command itself, never by an error
    2   InputError, and what the parser does not understand: something for the user to fix
    3   other RehearsalErrors, Ctrl-C, SIGTERM, a full disk, a bot that exits the program, output that
        nobody read to its end: incomplete, and can be continued
    4   anything else is a mistake of ours; error.txt has the traceback, without secrets (cli/our_errors.py)
"""

import errno
import gc
import io
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from simulator import plugins
from simulator.cli.completion import ASKED, LINE, completion
from simulator.cli.help import command_page, group_page, program_page
from simulator.cli.options import Command, as_command
from simulator.cli.parsing import values_of
from simulator.cli.terminal import EndCommand, ExitCode, discard_output, unread_streams
from simulator.core.errors import InputError, RehearsalError, UnknownName
from simulator.core.given_up import leave_behind
from simulator.core.messages import CHECKOUT, Message, _, call_program, localised, name_pages_in, system_error
from simulator.core.settings import SETTINGS_FILE, read_word
from simulator.core.templates import read_text_file, read_toml
from simulator.core.version import __version__
from simulator.plugins import Subcommands
from simulator.shelves import FOLDER

# The words of the command line, each with the first line of its help. Its module in this package has the
# word's name and is imported when the word is asked for: what one command needs costs the others nothing.
COMMANDS = {
    "simulate": "Rehearse the bot: customers talk with it, every answer is graded, a report is written.",
    "evaluate": "Evaluate a data set: each row is asked once, answers are graded, a report is written.",
    "grade": "Grade a finished run with more judges, without any new conversation.",
    "review": "Read the team's reviews, and compare the judge with people's blind grades.",
    "open": "Open runs in the browser, to review answers, compare runs and decide, by mouse or keys.",
    "learn": "Learn unwritten rules of the desk from people's labels, to grade by them.",
    "report": "Write the reports of a run again: report.html, the summary, and what --to names.",
    "fixes": "Show what to fix first: answers to review grouped by their fix, and what each fix would bring.",
    "diff": (
        "Say whether the bot got better from RUN to a later run, and what broke; exit code 1 on a regression."
    ),
    "history": "Show how the runs developed: score, answers to review, verdicts; a decline is pointed out.",
    "purge": "Delete a run: its folder with run file, reports and verdicts.",
    "cases": "Make test questions from your articles, and find what they leave out.",
    "cache": "Show how many answers of models are cached on this machine, or delete them.",
    "init": "Write a folder that runs as it is: rehearsal.toml, a small bot and a question file.",
    "list": "List the customers, judges, adapters, prompts and runs.",
    "doctor": "Check keys, models, bot and folders with one real call each, before money is spent.",
}
# The words that help shows first.
FIRST = ("simulate", "open", "report", "fixes", "diff", "review", "doctor")
# Names a file that is read in place of rehearsal.toml. `-c` sets it, so that whatever reads settings, in this
# process or in one that it starts, reads the same file.
CONFIG = "REHEARSAL_CONFIG"
# These decide nothing: whoever stops reading what they print (`list | head`) has not missed a verdict. All
# others end with 3 then, for a script must not take a verdict that nobody saw for a passed gate.
_WITHOUT_VERDICT = ("list", "history", "open", "fixes", "compare", "--version")
# What the system says where nothing more can be written.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LANGUAGE = "REHEARSAL_LANGUAGE"
# With --help nothing is read but options.
_HELP = frozenset({"--help", "-h", "--help-all"})
ABOUT = """Rehearses a RAG chatbot: simulated customers talk with it, judges grade every answer.

\b
python run.py --persona angry           the bundled demo bot; no key needed
python run.py --adapter bot.py:answer   your own bot
python run.py --voice-opening           each customer words the first question, too
python run.py simulate --help           the usual options; --help-all has every one
"""
CLOSING = """Without a command, a rehearsal starts. Every option can also be set in the environment or .env
(REHEARSAL_TURNS=5), or in rehearsal.toml (turns = 5), which -c FILE replaces. The command line overrides the
environment, and the environment overrides the file.

Exit codes: 0 done or passed, 1 failed, undecided or a regression, 2 something for you to fix, 3 incomplete,
4 an error in this program (a run can be continued with --resume).
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code: 0 done, 1 missed, 2 for users to fix, 3 incomplete, 4 ours.

    Without `arguments` it is the installed command, and messages name it so: they are those of the process.
    """
    if arguments is not None:
        return _run_command(arguments)
    if asked := os.environ.get(ASKED):
        sys.stdout.write(completion(asked, os.environ.get(LINE, ""), all_words(), command_of))
        return ExitCode.DONE
    call_program("python -m simulator" if sys.argv[0].endswith("__main__.py") else "rehearsal")
    gc.freeze()  # modules are no garbage
    code = _run_command(sys.argv[1:])
    leave_behind(code)
    gc.freeze()  # the process ends: no last collection of cycles
    return code


def _run_command(arguments: Sequence[str]) -> int:
    # A run makes many objects and nearly no cycles: looking for these as often as usual costs a tenth of it,
    # and after every 50,000 objects, which as many calls in flight hold at times, still a twentieth.
    gc.set_threshold(200_000, 20, 50)
    # pydantic would look through all installed packages for plug-ins of its own.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    name_pages_in(FOLDER)
    plugins.offer()
    _ready_streams()
    with _environment(arguments) as words, unread_streams() as unread:
        try:
            with _stoppable():
                code = _run(_with_default_command(words))
            sys.stdout.flush()
        except BaseException as error:
            return _say(*_ending(error, arguments), arguments)
        if not unread() or code not in (ExitCode.DONE, ExitCode.MISSED):
            return code
        if {*words[:1]} & {*_WITHOUT_VERDICT} or {*words} & _HELP:
            return ExitCode.DONE
        message = _("its output was not read to the end, so the result was not shown.")
        return _say(message, ExitCode.INCOMPLETE, arguments)


def _ready_streams() -> None:
    """Standard output and error take whatever is printed, whoever started the program."""
    for name in ("stdout", "stderr"):
        # One that was closed before the start; nor may a run file take its number.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - to the end
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe of another encoding shows "?" for what it lacks; nothing fails for it.
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            stream.reconfigure(errors="replace")


@contextmanager
def _stoppable() -> Iterator[None]:
    """Has SIGTERM and SIGHUP, the closing of the terminal, end a command as Ctrl-C does; not under nohup.

    Under nohup SIGHUP is ignored already, and stays so. Afterwards every handler is what it was: the program
    may run within another one.
    """
    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        stop = getattr(signal, name, None)  # Windows lacks one
        if stop and signal.getsignal(stop) is signal.SIG_DFL:
            with suppress(ValueError):  # not on the main thread
                before[stop] = signal.signal(stop, signal.default_int_handler)
    try:
        yield
    finally:
        for stop, handler in before.items():
            signal.signal(stop, handler)


# --- From words to a command ---


def _with_default_command(arguments: Sequence[str]) -> list[str]:
    """`run.py --persona angry` means `run.py simulate --persona angry`."""
    first = arguments[0] if arguments else ""
    is_option = first.startswith("-") and first not in (*_HELP, "--version")
    words = ["simulate", *arguments] if is_option or not arguments else list(arguments)
    if "--redact" in words:  # alone it means on
        place = words.index("--redact")
        if read_word(next(iter(words[place + 1 :]), "")) not in ("on", "off", "auto"):
            words[place] = "--redact=on"
    return words


def _run(typed: list[str]) -> int:
    """Finds the command that was typed, and runs it or shows its page; returns the exit code.

    .env is read before any setting, but not for a page of help: a broken one must not keep people from it.
    """
    asks_help = not _HELP.isdisjoint(typed)
    if not asks_help and typed != ["--version"]:
        _read_env_file()
    _take_language()
    everything = "--help-all" in typed
    if typed[0] in _HELP or typed[0] == "--version":
        sys.stdout.write(_program_page(everything=everything) if asks_help else f"{__version__}\n")
        return ExitCode.DONE
    command, path, rest = find(typed)
    if isinstance(command, Subcommands):
        sys.stdout.write(group_page(path, command.about, _first_lines(command)))
        return ExitCode.DONE
    if asks_help:
        sys.stdout.write(command_page(path, command, everything=everything))
        return ExitCode.DONE
    try:
        return command(values_of(command.options, rest, path)) or ExitCode.DONE
    except EndCommand as end:
        return end.code


@contextmanager
def _environment(arguments: Sequence[str]) -> Iterator[list[str]]:
    """The words without `-c FILE`; it and `--language ja` stand in the environment as long as they run.

    So everything is said in that language, errors in the options included.
    """
    rest, words = list[str](), iter(arguments)
    before = {name: os.environ.get(name) for name in (CONFIG, _LANGUAGE)}
    try:
        for word in words:
            name, equals, value = word.partition("=")
            if name in ("-c", "--config"):
                os.environ[CONFIG] = (value if equals else next(words, "")) or name
                continue
            rest.append(word)
            option, language = (name, value) if equals else (rest[-2:][0], word)
            if option == "--language" and language in ("ja", "en"):
                os.environ[_LANGUAGE] = language
        yield rest
    finally:
        for name, text in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if text is None else {name: text})


def _take_language() -> None:
    """Puts the `language` of rehearsal.toml into the environment, where no flag or variable says another."""
    # What is wrong with the file is said by whoever reads its settings.
    with suppress(InputError):
        named = read_toml(Path(os.environ.get(CONFIG) or SETTINGS_FILE)).get("language")
        if named in ("ja", "en"):
            os.environ.setdefault(_LANGUAGE, named)


def _read_env_file() -> None:
    """Adds what .env of the current folder sets to the environment, and overrides nothing there.

    Only that of the current folder: one further up may belong to another project, and hold its keys.
    """
    path = Path(".env")
    if not path.exists() or path.is_dir():
        return
    from dotenv import dotenv_values  # only where there is such a file

    try:
        for name, value in dotenv_values(stream=io.StringIO(read_text_file(path))).items():
            if value is not None:
                os.environ.setdefault(name, value)
    except (OSError, ValueError) as error:
        raise InputError(_(".env: cannot be read ({error}).", error=system_error(error))) from None


def find(words: Sequence[str]) -> tuple[Command | Subcommands, str, Sequence[str]]:
    """The command that these words begin with, how it is typed, and the words behind it.

    Of a group alone (`cases`) it is the group. Raises UnknownName for words that no command has.
    """
    word, *rest = words
    command, path = command_of(word), f"{CHECKOUT} {word}"
    if not isinstance(command, Subcommands) or not rest or rest[0] in _HELP:
        return command, path, rest
    name, *rest = rest
    if name not in command.commands:
        raise _unknown_command(name, command.commands)
    return as_command(command.commands[name]), f"{path} {name}", rest


@cache
def command_of(word: str) -> Command | Subcommands:
    """The command that a word names. Raises UnknownName where none has it."""
    plugins.offer()  # of their settings some are options
    if word not in COMMANDS:
        if (added := plugins.command(word)) is None:
            raise _unknown_command(word, all_words())
        return added if isinstance(added, Subcommands) else as_command(added)
    module = import_module(f"simulator.cli.{word.replace('-', '_')}")
    command: Command | Subcommands = module.command
    return command


def all_words() -> dict[str, str]:
    """The words of this program and those of plug-ins, each with its first line."""
    return COMMANDS | {word: line for word, line in plugins.words().items() if word not in COMMANDS}


def _first_lines(group: Subcommands) -> dict[str, str]:
    return {name: as_command(function).first_line for name, function in group.commands.items()}


def every_command() -> Iterator[tuple[str, Command]]:
    """All commands by what is typed for them: `diff`, `cases make`."""
    for word in all_words():
        command = command_of(word)
        if isinstance(command, Subcommands):
            yield from ((f"{word} {name}", as_command(each)) for name, each in command.commands.items())
        else:
            yield word, command


def _unknown_command(word: str, names: Iterable[str]) -> UnknownName:
    return UnknownName(_("command"), word, names, listed=_("All names: python run.py --help."))


def _program_page(*, everything: bool) -> str:
    """The page of help of the program: the usual words, or all of them."""
    known = all_words()
    shown = known if everything else {word: known[word] for word in FIRST}
    return program_page(ABOUT, shown, [word for word in known if word not in shown], CLOSING)


# --- From an error to a line and an exit code ---


def _ending(error: BaseException, arguments: Sequence[str]) -> tuple[Message | str, ExitCode]:
    """What is said of an error, and the exit code that says whose turn it is."""
    if isinstance(error, RehearsalError):
        return error.message, ExitCode.TO_FIX if isinstance(error, InputError) else ExitCode.INCOMPLETE
    if isinstance(error, KeyboardInterrupt):
        return _("interrupted."), ExitCode.INCOMPLETE
    if isinstance(error, SystemExit):
        return _("ended early: the bot's own code exited the program."), ExitCode.INCOMPLETE
    cause: Any = error.__cause__ or error
    if getattr(cause, "errno", None) in _FULL:
        discard_output()
        why = os.strerror(cause.errno)
        return _("the disk is full ({why}); free some space and run it again.", why=why), ExitCode.INCOMPLETE
    from simulator.cli import our_errors  # reads settings, keys and the cache: only where something is wrong

    return our_errors.message(error, arguments), ExitCode.OUR_ERROR


def _say(message: Message | str, code: int, arguments: Sequence[str]) -> int:
    """One line on stderr, without the control characters that a message of others may hold."""
    from simulator.cli import our_errors  # as above

    # A last guard: an error may quote a secret.
    text = our_errors.without_secrets(localised(_("error: {message}", message=message)), arguments)
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    try:
        sys.stderr.write(f"{' '.join(printable.split())}\n")
    except OSError:  # nobody reads it, or its disk is full: the exit code tells
        discard_output(sys.stderr)
    return code
