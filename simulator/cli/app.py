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
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError
from typer.completion import get_completion_inspect_parameters
from typer.core import TyperCommand, TyperGroup

from simulator import plugins
from simulator.cli.terminal import ExitCode, discard_output, unread_streams
from simulator.core.errors import InputError, RehearsalError, UnknownName, value_problem
from simulator.core.messages import (
    CHECKOUT,
    HELP,
    Message,
    _,
    as_called,
    call_program,
    language_of,
    localised,
    name_pages_in,
    pgettext,
    sentences,
    shown,
    system_error,
    verbatim,
    wrap,
)
from simulator.core.settings import SETTINGS_FILE
from simulator.core.templates import read_text_file, read_toml
from simulator.core.version import __version__
from simulator.shelves import FOLDER

# The words of the command line, each with the first line of its help. Its module in this package has the
# word's name (`cross-examine` is cross_examine.py) and is imported when the word is asked for: what one
# command needs costs the others nothing.
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
    "sheets": "Connect a Google Sheet, for results to be reviewed there.",
    "init": "Write a folder that runs as it is: rehearsal.toml, a small bot and a question file.",
    "list": "List the customers, judges, adapters, prompts and runs.",
    "doctor": "Check keys, models, bot and folders with one real call each, before money is spent.",
}
# The words that help shows first.
FIRST = ("simulate", "open", "report", "fixes", "diff", "review", "doctor")
# Whether help shows everything: --help-all was asked for.
EVERYTHING = ContextVar("everything", default=False)
# Names a file that is read in place of rehearsal.toml. `-c` sets it, so that whatever reads settings, in this
# process or in one that it starts, reads the same file.
CONFIG = "REHEARSAL_CONFIG"
# Set by shells that ask how a line may go on, and by `source_bash` and its like for the script that asks.
_COMPLETE = "_REHEARSAL_COMPLETE"
# Says what went wrong within this program, and keeps the details.
OUR_ERRORS = "simulator.cli.our_errors"
# These decide nothing: whoever stops reading what they print (`list | head`) has not missed a verdict. All
# others end with 3 then, for a script must not take a verdict that nobody saw for a passed gate.
_WITHOUT_VERDICT = ("list", "history", "open", "fixes", "compare", "--version")
# What the system says where nothing more can be written.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LANGUAGE = "REHEARSAL_LANGUAGE"
# With --help nothing is read but options.
_HELP = frozenset({"--help", "-h", "--help-all"})
_ABOUT = """Rehearses a RAG chatbot: simulated customers talk with it, judges grade every answer.

\b
python run.py --persona angry           the bundled demo bot; no key needed
python run.py --adapter bot.py:answer   your own bot
python run.py --voice-opening           each customer words the first question, too
python run.py simulate --help           the usual options; --help-all has every one
"""
_ABOUT_MORE = "COMMAND --help shows what each does, --help-all lists them."
_EPILOGUE = """Without a command, a rehearsal starts. Every option can also be set in the environment or .env
(REHEARSAL_TURNS=5), or in rehearsal.toml (turns = 5), which -c FILE replaces. The command line overrides the
environment, and the environment overrides the file.

Exit codes: 0 done or passed, 1 failed, undecided or a regression, 2 something for you to fix, 3 incomplete,
4 an error in this program (a run can be continued with --resume).
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code: 0 done, 1 missed, 2 for users to fix, 3 incomplete, 4 ours.

    Without `arguments` it is the installed command, and messages name it so: they are those of the process.
    """
    if arguments is None:
        if os.environ.get(_COMPLETE):
            return _complete()
        arguments = sys.argv[1:]
        call_program("python -m simulator" if sys.argv[0].endswith("__main__.py") else "rehearsal")
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
            return _say_error(error, arguments)
        if not unread() or code not in (ExitCode.DONE, ExitCode.MISSED):
            return code
        if {*words[:1]} & {*_WITHOUT_VERDICT} or {*words} & _HELP:
            return ExitCode.DONE
        message = _("its output was not read to the end, so the result was not shown.")
        return _say(message, ExitCode.INCOMPLETE, arguments)


def _complete() -> int:
    """Prints how the line in the environment may go on, or the script of a shell that asks for it."""
    get_completion_inspect_parameters()  # has Typer know its shells
    try:
        command_tree().main([], "rehearsal", complete_var=_COMPLETE)
    except SystemExit as done:
        return int(done.code or ExitCode.DONE)
    except RehearsalError:  # a word that is no command has nothing after it
        pass
    return ExitCode.DONE


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


# --- Pages of help ---


# What the parser itself says, and defaults that are words; everything else on a page stands where it is used.
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
    pgettext("help", "all"),
    pgettext("help", "all, mixed"),
    pgettext("help", "all, each in its own"),
    pgettext("help", "those that fit the data"),
)
# Before a paragraph whose lines are not to be wrapped.
_VERBATIM = "\b\n"
# What the parser adds to the help of an option, `[default: 3]  [1<=x<=10]` or `[required]`. Other brackets at
# the end of a help text are ours, and are translated with it.
REMARKS = re.compile(r"(?:\s*\[(?:default: |required|x>=|[\d.]+<=x)[^]]*\])+$")
# A command with more options than these shows the usual ones first.
_MANY = 40
_Page: Any = TyperCommand.context_class.formatter_class


class JapanesePage(_Page):  # type: ignore[misc]
    """Writes a help page in Japanese; a text without a translation stays English.

    click lays a page out by the width of English, and breaks lines at spaces, of which Japanese has none.
    So texts are translated on their way onto the page, wrapped here, and marked as not to be wrapped again.
    """

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """The line that says how the command is called."""
        super().write_usage(prog, " ".join(map(in_japanese, args.split())), prefix or "使い方：")

    def write_heading(self, heading: str) -> None:
        """The title of a list."""
        self.write(f"{in_japanese(heading)}：\n")

    def write_text(self, text: str) -> None:
        """Paragraphs, below the usage and at the end."""
        width = self.width - self.current_indent
        super().write_text("\n\n".join(_lines(paragraph, width) for paragraph in text.split("\n\n")))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Names, and what each means beside it."""
        names = min(max(len(name) for name, _ in rows), col_max) + col_spacing
        width = self.width - names - self.current_indent
        super().write_dl([(name, _lines(text, width)) for name, text in rows], col_max, col_spacing)


def in_japanese(english: str) -> str:
    """A paragraph, title or help of an option in Japanese, with what the parser added in brackets.

    "Ask about at most N answers. [default: 10]  [x>=1]" -> 調べる回答の数の上限。（既定は 10、1以上）
    """
    remarks = REMARKS.search(english)
    text = english[: remarks.start()] if remarks else english
    japanese = shown(verbatim(text, HELP), "ja")
    return f"{japanese}（{'、'.join(_remarks(remarks[0]))}）" if remarks else japanese


def _remarks(brackets: str) -> Iterator[str]:
    """What stands in these brackets, in Japanese: defaults, ranges, that it is required.

    "[default: 3]  [1<=x<=10]" -> "既定は 3", "1〜10"    "[required]" -> "必須"    "[x>=1]" -> "1以上"
    """
    for remark in re.split(r"\]\s*\[|; ", brackets.strip().removeprefix("[").removesuffix("]")):
        default = remark.removeprefix("default: ")
        if default != remark:
            japanese = shown(verbatim(default, HELP), "ja")
            yield f"既定は {japanese}" if japanese == default else f"既定は{japanese}"
        elif "<=x<=" in remark:
            yield remark.replace("<=x<=", "〜")
        else:
            yield "必須" if remark == "required" else f"{remark.removeprefix('x>=')}以上"


def _lines(paragraph: str, width: int) -> str:
    """The paragraph in lines of this width, marked so that they are not wrapped again."""
    if paragraph.startswith(_VERBATIM):
        lines = [in_japanese(line) for line in paragraph.removeprefix(_VERBATIM).splitlines()]
    else:
        lines = wrap(in_japanese(" ".join(paragraph.split("\n"))), width, by_phrase=True)
    return _VERBATIM + "\n".join(lines)


class CommandGroup(TyperGroup):
    """A command with subcommands, whose help is in the reader's language."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The subcommand that the first word names. Raises UnknownName where there is none."""
        word = args[0]
        if word.startswith("-") or self.get_command(ctx, word):
            return super().resolve_command(ctx, args)
        listed = _("All names: python run.py --help.")
        raise UnknownName(_("command"), word, self.list_commands(ctx), listed=listed)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """How a line may go on."""
        return _for_shell(super().shell_complete(ctx, incomplete))

    def get_help(self, ctx: Any) -> str:
        """The page, as text."""
        return as_called(super().get_help(_for_reader(ctx)))


class PanelCommand(TyperCommand):
    """A command whose help shows its options under titles, aligned over the whole page."""

    def get_help(self, ctx: Any) -> str:
        """The page, as text, in the reader's language."""
        return as_called(super().get_help(_for_reader(ctx)))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """How a line may go on, with the options that help shows second."""
        rarer = [param for param in self.params if getattr(param, "hidden", False)]
        for param in rarer:
            vars(param)["hidden"] = False
        items = _for_shell(super().shell_complete(ctx, incomplete))
        for param in rarer:
            vars(param)["hidden"] = True
        return items

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the options by title, in the order in which they are declared."""
        panels: dict[str, list[tuple[str, str]]] = {}
        params: list[Any] = self.get_params(ctx)
        hides = len(params) > _MANY and not EVERYTHING.get()
        for param in params:
            if hides and getattr(param, "hidden", False):
                continue
            if record := help_record(param, ctx):
                kind = "Arguments" if param.param_type_name == "argument" else "Options"
                name = record[0].removesuffix(" <str>").removesuffix(" <list[str]>")
                title = getattr(param, "rich_help_panel", None) or kind
                panels.setdefault(title, []).append((name, record[1]))
        # Beyond the column of names a longer one stands on a line of its own.
        widest = min(30, max(len(name) for records in panels.values() for name, _ in records))
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in records])
        if hides:
            formatter.write_paragraph()
            formatter.write_text("Every other option: --help-all")


def _for_shell(items: list[Any]) -> list[Any]:
    """Completions, with what they mean in the reader's language."""
    for item in items if language_of(os.environ) == "ja" else ():
        item.help = item.help and in_japanese(item.help)
    return items


def help_record(param: Any, ctx: Any) -> Any:
    """Name and help of an option, also of one that help shows second; None where there is none.

    The parser gives no record of a hidden option, so it is shown for as long as it is asked.
    """
    hidden, param.hidden = getattr(param, "hidden", False), False
    try:
        return param.get_help_record(ctx)
    finally:
        param.hidden = hidden


def _for_reader(ctx: Any) -> Any:
    """The context, which writes a Japanese page in a Japanese locale."""
    if language_of(os.environ) == "ja":
        ctx.formatter_class = JapanesePage
    return ctx


# --- From words to a command ---


def _with_default_command(arguments: Sequence[str]) -> list[str]:
    """`run.py --persona angry` means `run.py simulate --persona angry`."""
    first = arguments[0] if arguments else ""
    is_option = first.startswith("-") and first not in (*_HELP, "--version")
    words = ["simulate", *arguments] if is_option or not arguments else list(arguments)
    if "--redact" in words:  # alone it means on
        place = words.index("--redact")
        if words[place + 1 : place + 2] not in (["on"], ["off"], ["auto"]):
            words[place] = "--redact=on"
    return words


def _run(arguments: list[str]) -> int:
    """Without the parser's own treatment of Ctrl-C and closed pipes, which has other exit codes.

    .env is read before any setting, but not for a page of help: a broken one must not keep people from it.
    """
    if not {*_HELP, "--version"} & set(arguments):
        _read_env_file()
    _take_language()
    EVERYTHING.set("--help-all" in arguments)
    arguments = ["--help" if word == "--help-all" else word for word in arguments]
    command = command_tree()
    try:
        with command.make_context(CHECKOUT, arguments) as context:
            return int(command.invoke(context) or ExitCode.DONE)
    except typer.Exit as done:
        return done.exit_code


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


@cache
def command_tree() -> Any:
    """Every command with its options and help, as the parser has it; scripts/reference.py reads it, too."""
    plugins.offer()
    app = typer.Typer(
        cls=Program, help=_ABOUT, epilog=_EPILOGUE, add_completion=False, rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )  # fmt: skip

    @app.callback(invoke_without_command=True)
    def about(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
        if version:
            sys.stdout.write(f"{__version__}\n")

    return typer.main.get_command(app)


class Program(CommandGroup):
    """All commands; beyond its name and first line, one is imported when it is asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes the words apart; a line that is completed may begin with an option of a rehearsal."""
        begins = ctx.resilient_parsing and args and args[0].startswith("-")
        return list(super().parse_args(ctx, ["simulate", *args] if begins else args))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The words, or the options of the program and of a rehearsal, which needs no word."""
        items = super().shell_complete(ctx, incomplete)
        return items + (_command("simulate").shell_complete(ctx, incomplete) if incomplete[:1] == "-" else [])

    def list_commands(self, ctx: Any) -> list[str]:
        """The words."""
        return list(_words())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with its options; None where there is no such word."""
        return _command(cmd_name) if cmd_name in COMMANDS or cmd_name in _words() else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the words, each with its first line."""
        words = _words()
        shown = words if EVERYTHING.get() else {word: words[word] for word in FIRST}
        with formatter.section("Commands"):
            formatter.write_dl(list(shown.items()))
        if len(shown) < len(words):
            with formatter.section("More"):
                rest = [word for word in words if word not in FIRST]
                formatter.write_text(", ".join(rest) + "\n\n" + _ABOUT_MORE)


def _words() -> dict[str, str]:
    """The words of this program and those of plug-ins, each with its first line."""
    return {**COMMANDS, **{word: line for word, line in plugins.words().items() if word not in COMMANDS}}


@cache
def _command(word: str) -> Any:
    """A command, or a group of them (`cases make`), as the parser has it."""
    if word not in COMMANDS and (added := plugins.command(word)):
        if isinstance(added, plugins.Subcommands):
            return typer.main.get_command(_group(added.about, added.commands))
        return _alone(word, added)
    module = import_module(f"simulator.cli.{word.replace('-', '_')}")
    if hasattr(module, "SUBCOMMANDS"):
        return typer.main.get_command(_group(module.ABOUT, module.SUBCOMMANDS))
    return _alone(word, module.command)


def _alone(word: str, command: Callable[..., int]) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    _add(app, word, command)
    return typer.main.get_command(app)


def _add(app: typer.Typer, word: str, command: Any) -> None:
    first_line = str(command.__doc__).partition("\n")[0]
    app.command(word, cls=PanelCommand, short_help=first_line)(command)


def _group(page: str, commands: Mapping[str, Callable[..., int]]) -> typer.Typer:
    """A command with subcommands (`cases make`); alone it shows its help."""
    group = typer.Typer(cls=CommandGroup, help=page, rich_markup_mode=None, add_completion=False)

    @group.callback(invoke_without_command=True)
    def about(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            sys.stdout.write(f"{context.get_help()}\n")

    for word, command in commands.items():
        _add(group, word, command)
    return group


# --- From an error to a line and an exit code ---


def _say_error(error: BaseException, arguments: Sequence[str]) -> int:
    """One line on stderr, and the exit code that says whose turn it is."""
    if isinstance(error, RehearsalError):
        return _say(
            error.message,
            ExitCode.TO_FIX if isinstance(error, InputError) else ExitCode.INCOMPLETE,
            arguments,
        )
    if isinstance(error, KeyboardInterrupt):
        return _say(_("interrupted."), ExitCode.INCOMPLETE, arguments)
    if isinstance(error, SystemExit):
        return _say(_("ended early: the bot's own code exited the program."), ExitCode.INCOMPLETE, arguments)
    cause: Any = error.__cause__ or error
    if getattr(cause, "errno", None) in _FULL:
        discard_output()
        why = os.strerror(cause.errno)
        return _say(
            _("the disk is full ({why}); free some space and run it again.", why=why),
            ExitCode.INCOMPLETE,
            arguments,
        )
    if hasattr(error, "format_message"):  # the command line itself is wrong
        context = getattr(error, "ctx", None)
        path = context.command_path if context else CHECKOUT
        return _say(
            sentences(
                _("{message:sentence}", message=_command_line_mistake(error, arguments)),
                _("See: {path} --help", path=as_called(path)),
            ),
            ExitCode.TO_FIX,
            arguments,
        )
    return _say(import_module(OUR_ERRORS).message(error, arguments), ExitCode.OUR_ERROR, arguments)


def _command_line_mistake(error: Any, arguments: Sequence[str]) -> Message | str:
    """What is wrong with the command line, by the class of the parser's exception.

    In words of ours, so that they are translated; what is none of these cases is said in the parser's own.
    """
    kind, option = type(error).__name__, getattr(error, "option_name", "")
    name = error.param.get_error_hint() if getattr(error, "param", None) else ""
    mistake: Message | str = str(error.format_message())
    if kind == "NoSuchOption" and (missing := plugins.missing_setting(option.lstrip("-").replace("-", "_"))):
        mistake = missing.message
    elif kind == "NoSuchOption":
        near = tuple(error.possibilities or ())[:2]  # the nearest first
        did_you_mean = _("Did you mean {names}?", names=near) if near else None
        mistake = sentences(_("No such option: {option}.", option=option), did_you_mean)
    elif kind == "BadOptionUsage" and any(argument.startswith(f"{option}=") for argument in arguments):
        mistake = _("Option '{option}' does not take a value.", option=option)
    elif kind == "BadOptionUsage":
        mistake = _("Option '{option}' requires an argument.", option=option)
    elif kind == "UsageError":  # itself; its subclasses say of what kind they are
        words = str(error.message).partition(" (")[2].removesuffix(")")
        mistake = _("Got unexpected extra argument(s) ({words}).", words=words)
    elif kind == "MissingParameter" and name:
        mistake = _("{name} is missing.", name=name)
    elif kind == "BadParameter" and name:
        cause = error.__cause__
        problem = value_problem(cause.errors()[0]) if isinstance(cause, ValidationError) else error.message
        mistake = _("Invalid value for {name}: {problem}", name=name, problem=problem)
    return mistake


def _say(message: Message | str, code: int, arguments: Sequence[str]) -> int:
    """One line on stderr, without the control characters that a message of others may hold."""
    # A last guard: an error may quote a secret.
    line = localised(_("error: {message}", message=message))
    text: str = import_module(OUR_ERRORS).without_secrets(line, arguments)
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    try:
        sys.stderr.write(f"{' '.join(printable.split())}\n")
    except OSError:  # nobody reads it, or its disk is full: the exit code tells
        discard_output(sys.stderr)
    return code
