"""The shelves: judges, personas, prompts and adapters by name, and what users name of their own instead.

A name of a shelf is a file there; `folder/file.py:thing`, `package.module:thing` and `./file.toml` are the
user's, looked up from the working directory.

    angry                  personas/angry.toml
    turn                   judges/turn.toml
    contains               judges/contains.py, the function `contains` in it
    em                     exact_match: the name that articles use
    ./louder.toml          a persona, judge or prompt of the user's
    bot.py:answer          the object `answer` in the user's bot.py: the bot, or with `:connect` what makes it
    shop.rag:chain.invoke  the same of an importable module; attributes may be nested

Files whose names begin with `_` are parts of others and no names. What is on a shelf is found by reading the
folder: no module registers itself, and of Python files the text is read, so that `list` imports nothing.

Code itself is loaded by core/loading.py.
"""

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from string import Template
from types import ModuleType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from simulator.core.errors import (
    InputError,
    PromptError,
    RehearsalError,
    UnknownName,
    did_you_mean,
    value_problem,
)
from simulator.core.loading import LIBRARIES, describe_error, is_path, shelf_module, source_files, user_object
from simulator.core.messages import SHELF, Message, _, both, safe_text, sentences, verbatim
from simulator.core.templates import LANGUAGES, check_variables, read_toml
from simulator.core.types import SCRIPTED, Bot, Persona
from simulator.shelves import FOLDER

ROOT = FOLDER
PERSONAS = ROOT / "personas"
JUDGES = ROOT / "judges"
ADAPTERS = ROOT / "rag_adapters"
PROMPTS = ROOT / "prompts"
DEMO = ROOT / "demo"
# Where the names on the shelves stand, for those who named one that there is not.
LISTED = _("All names: python run.py list.")
# The situations that a persona has phrases for.
SITUATIONS = (
    "pressing", "refused", "failed", "followup", "telling", "thanks", "at_last", "leaving",
)  # fmt: skip

# What articles call judges, and their names here; both are known wherever judges are named: --judges,
# rehearsal.toml, the files of outputs and their metrics.
ARTICLE_NAMES: Mapping[str, str] = {
    "em": "exact_match",
    "rougeL": "rouge_l",
    "gpt_similarity": "llm_similarity",
    "gpt_correctness": "llm_correctness",
}


Model = TypeVar("Model", bound=BaseModel)


def canonical_judge(name: str) -> str:
    """The judge that an article's name stands for; every other name stands for itself."""
    return ARTICLE_NAMES.get(name, name)


def read_model(path: Path, model: type[Model], guide: Message) -> Model:
    """A TOML file of a shelf, whose `id` is its name unless it says another.

    Raises PromptError, which names the place and ends with `guide`, for what is invalid.
    """
    try:
        return model.model_validate({"id": path.stem, **read_toml(path)})
    except ValidationError as error:
        # A misspelt key comes first: the key that it stands for is reported as missing, too.
        first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
        *tables, key = (str(part) for part in first["loc"] if not isinstance(part, int))
        form = model.model_fields[tables[0]].annotation if len(tables) == 1 else model
        form = next(iter(get_args(form)), form)  # of a list, what is in it
        unknown = first["type"] == "extra_forbidden"
        hint = did_you_mean(key, getattr(form, "model_fields", ())) if unknown else None
        msg = _(
            "{path}: {place}: {problem}. {guide}",
            path=path,
            place=".".join(map(str, first["loc"])),
            problem=value_problem(first),
            guide=sentences(hint, guide),
        )
        raise PromptError(msg) from None


def persona_names() -> list[str]:
    """The personas on the shelf."""
    return _toml_names(PERSONAS)


def customers() -> dict[str, Persona]:
    """The personas on the shelf that ask the questions of a file, by name: all but those with their own."""
    return {name: who for name in persona_names() if not (who := persona(name)).goals}


def persona(name: str) -> Persona:
    """The persona `angry`, or the one in `./mine.toml`."""
    path = _shelf_path(_("customer"), name, PERSONAS, persona_names())
    who = read_model(path, Persona, _("See docs/personas.md."))
    for language in LANGUAGES:
        for situation, lines in who.speaks(language).phrases.items():
            # Phrases under a misspelt situation would never be said, and nobody would notice.
            if situation not in SITUATIONS:
                raise UnknownName(
                    _("key of [{language}.phrases] in {path}", language=language, path=path),
                    situation,
                    SITUATIONS,
                )
            used = {name for line in lines for name in Template(line).get_identifiers()}
            check_variables(path, language, f"phrases.{situation}", used, {"question", "fact"})
    return who


def scripted() -> Persona:
    """The persona that asks the rows of a single-turn data set; users cannot choose it."""
    return Persona.model_validate({"id": SCRIPTED, **read_toml(PERSONAS / "_scripted.toml")})


def prompt_names() -> list[str]:
    """The prompts on the shelf, and those in prompts/ of the working directory."""
    return sorted({*_toml_names(PROMPTS), *_toml_names(Path("prompts"))})


def prompt_path(name: str) -> Path:
    """The file of the prompt `choose`: the user's own prompts/choose.toml, else the shelf's."""
    path = Path("prompts") / f"{name}.toml"
    return path if path.is_file() else _shelf_path(_("prompt"), name, PROMPTS, prompt_names())


# Judges that plug-ins have, beside those on the shelf: their names; and the rubric's file or the function of
# one, None where no plug-in has it.
JudgeNames = Callable[[], Iterable[str]]
JudgeSource = Callable[[str], Path | Callable[..., Any] | None]
_FURTHER: list[tuple[JudgeNames, JudgeSource]] = []
# Judges of the lab stand below this, also where the program is installed like a library.
_LAB = str(Path(__file__).parents[1] / "lab")


def offer_judges(names: JudgeNames, source: JudgeSource) -> None:
    """Makes the judges of plug-ins known wherever judges are named; said by whoever starts the program."""
    _FURTHER[:] = [(names, source)]


def _further_source(name: str) -> Path | Callable[..., Any] | None:
    """The rubric's file or the function of a plug-in's judge; None where no plug-in has it."""
    sources = (source(name) for _names, source in _FURTHER)
    return next((source for source in sources if source is not None), None)


def judge_names() -> list[str]:
    """The judges: rubrics of the shelf (turn.toml), functions of its modules (contains.py), plug-ins'."""
    ours = {*_toml_names(JUDGES), *_function_modules(JUDGES)}
    return sorted(ours.union(*(names() for names, _source in _FURTHER)))


def judge_source(name: str) -> Path | Callable[..., Any]:
    """A rubric's file, or the function of that name; `mine.py:strict` and `./mine.toml` are the user's."""
    if ":" in name:
        return _callable(user_object(name), name)
    name = canonical_judge(name)
    # A module of the shelf may only be imported once it is known to be a judge: its name comes from the user.
    if name in _function_modules(JUDGES):
        return _callable(getattr(shelf_module("judges", name), name), name)
    if not (JUDGES / f"{name}.toml").is_file() and (source := _further_source(name)):
        return source
    return _shelf_path(_("judge"), name, JUDGES, judge_names())


def judge_title(name: str) -> Message | None:
    """What people read instead of a rubric's name: `title` of [en] and [ja] in its file.

    None for a function, for a name that is none here, and for a rubric that cannot be read.
    """
    return _file_title(JUDGES, name) if name.isidentifier() else None


def file_titles(shelf: Path, names: Iterable[str]) -> dict[str, Message]:
    """What people read instead of these names of a shelf, of those whose file says it."""
    return {name: title for name in names if (title := _file_title(shelf, name))}


@functools.cache
def _file_title(folder: Path, name: str) -> Message | None:
    paths = [folder / f"{name}.toml", _further_source(name)]
    for path in (path for path in paths if isinstance(path, Path) and path.is_file()):
        # Whoever asks it says what is wrong with it; a report of its grades is written all the same.
        with contextlib.suppress(PromptError, LookupError, TypeError, AttributeError):
            tables = read_toml(path)
            spoken = (tables["en"], tables["ja"])
            return both(*(safe_text(table.get("title") or table["name"]) for table in spoken))
    return None


def form_path(name: str) -> Path:
    """The file that says what a function judge asks a model to fill in: judges/_NAME.toml, or the user's.

    That of a plug-in's judge stands beside its module.
    """
    path = Path(name) if is_path(name) else JUDGES / f"_{name}.toml"
    source = None if path.is_file() or is_path(name) else _further_source(name)
    return Path(inspect.getfile(source)).with_name(path.name) if callable(source) else path


def judge_name(source: str) -> str:
    """The name in scores of `mine.py:strict` or `./strict.toml`; `path.em` is a name already.

    `mine.py:strict` -> strict, `./strict.toml` -> strict, `em` -> exact_match.
    """
    if ":" in source:
        return source.rsplit(":", 1)[-1]
    return canonical_judge(Path(source).stem if is_path(source) or source.endswith(".toml") else source)


def judge_files(function: Callable[..., Any]) -> list[Path]:
    """The files of a function judge: its module, what it imports from the same folder, and their texts.

    Their hash is part of the rubric of its grades, so that grades before and after a change are not mixed.
    Empty for a function of an installed library, and for one that was typed into a session.
    """
    function = inspect.unwrap(function)
    # functools.partial(judge, limit=3) of the user's file is a judge, too.
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    module = sys.modules.get(getattr(function, "__module__", None) or type(function).__module__)
    source = getattr(module, "__file__", None) or "<none>"
    is_library = source.startswith(LIBRARIES) and not source.startswith((str(JUDGES), _LAB))
    is_own = source.endswith(".py") and not is_library
    return source_files(Path(source)) if is_own and Path(source).is_file() else []


def has_form(name: str, judge: Callable[..., Any]) -> bool:
    """Whether a function judge has a model fill in the form of its own name."""
    return "fill" in inspect.signature(judge).parameters and form_path(name).is_file()


def adapter_names() -> list[str]:
    """The adapters on the shelf: modules with a `connect`."""
    return [*_function_modules(ADAPTERS, "def connect(")]


def connector(
    name: str, given: Mapping[str, str] | None = None, bot: object | None = None
) -> Callable[..., Any]:
    """The function that makes a bot out of `--set` values, of which `given` may say where it is imported.

    `bot.py:answer` of the user's own is the bot itself, a function or an object with `invoke`; one called
    `connect` makes it. A `bot` that is there already is only called by the name.
    """
    # Adds --set timeout, concurrency and retries to what the adapter declares itself.
    limited = shelf_module("rag_adapters", "_limits").limited
    if bot is not None:
        connect_bot = _connect_of(bot, name)
    elif "://" in name:
        raise InputError(_("--adapter is an address: write --adapter http --set url=ADDRESS."))
    elif name.endswith(":connect"):
        connect_bot = _callable(user_object(name), name)
    elif ":" in name and "python" in (given or {}):
        connect_bot = functools.partial(_adapter("function").elsewhere, name)
    elif ":" in name:
        connect_bot = _connect_of(user_object(name, is_bot=True), name)
    elif name in adapter_names():
        connect_bot = _callable(_adapter(name).connect, name)
    else:
        raise UnknownName(_("adapter"), name, adapter_names(), _("Your own bot: --adapter bot.py:answer."))
    return limited(connect_bot)  # type: ignore[no-any-return]


def _adapter(name: str) -> ModuleType:
    """The module of an adapter on the shelf. Raises InputError where a package that it needs is missing."""
    try:
        return shelf_module("rag_adapters", name)
    except ImportError as error:
        raise _missing_package(name, error) from None


def _missing_package(name: str, error: ImportError) -> Exception:
    """What to raise where an adapter on the shelf cannot import something; a mistake of ours as it is."""
    if str(error.name).partition(".")[0] == "simulator":
        return error
    msg = _(
        "adapter {name}: a package that it needs cannot be imported ({error}). Install what this program"
        " needs once more.",
        name=name,
        error=" ".join(str(error).split())[:300],
    )
    hint = _("Your own bot: --adapter bot.py:answer.") if name == "demo" else None
    return InputError(sentences(msg, hint))


def _connect_of(bot: object, name: str) -> Callable[..., Any]:
    """What makes a bot of an object of the user's: a function, or a runnable with `invoke`."""
    runs = not callable(bot) and (hasattr(bot, "ainvoke") or hasattr(bot, "invoke"))
    adapter = _adapter("runnable" if runs else "function")
    if not runs:
        adapter.function_of(bot, name)
    return functools.partial(adapter.bot_of, bot, name)


def adapter_arguments(
    name: str, connect: Callable[..., Any], given: Mapping[str, str], offered: Mapping[str, Any]
) -> dict[str, Any]:
    """The keyword arguments of `connect`: `--set` values by annotation, and what it declares of `offered`.

    An adapter declares its settings as parameters, `connect(*, knowledge: str = "", top: int = 4,
    chat=None)`, and gets what the program has to offer (chat, cases, choosing, patience) by declaring a
    parameter of that name. Raises InputError for a setting that it does not have, that is missing, or not
    what it is annotated as.
    """
    parameters = inspect.signature(connect).parameters
    # **options of an adapter take nothing from --set: a misspelt setting would vanish in them.
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    settings = {key: p for key, p in parameters.items() if key not in offered and p.kind not in variadic}
    for key in given:
        if key not in settings:
            what = _("--set of adapter {name}", name=name)
            # All are listed where none is like it.
            page = _("All names: docs/bots.md.") if did_you_mean(key, settings) else None
            raise UnknownName(what, key, settings, listed=page)
    for key, parameter in settings.items():
        if parameter.default is parameter.empty and key not in given:
            msg = _(
                "adapter {name} needs --set {key}=...  Its settings: {names}.",
                name=name,
                key=key,
                names=", ".join(settings),
            )
            raise InputError(msg)
    values = {}
    for key, text in given.items():
        annotation = settings[key].annotation if settings[key].annotation is not settings[key].empty else str
        try:
            values[key] = TypeAdapter(annotation).validate_python(text)
        except ValidationError as error:
            msg = _(
                "adapter {name}: --set {setting}={value}: {problem}.",
                name=name,
                setting=key,
                value=text[:60],
                problem=value_problem(error.errors()[0]),
            )
            raise InputError(msg) from None
    return values | {key: value for key, value in offered.items() if key in parameters}


async def connect(
    name: str, given: Mapping[str, str], offered: Mapping[str, Any], bot: object | None = None
) -> Bot:
    """The bot that an adapter connects to, or one that is there already under its name.

    Raises InputError where the user's own code fails.
    """
    make = connector(name, given, bot)
    settings = adapter_arguments(name, make, given, offered)
    try:
        result = make(**settings)
        # `connect` may be async: opening a session often is.
        connected = await result if inspect.isawaitable(result) else result
    except RehearsalError:
        raise
    except Exception as error:
        if ":" not in name and isinstance(error, ImportError):
            raise _missing_package(name, error) from None
        # An adapter of ours that fails in another way is a bug, and surfaces as one.
        if ":" not in name:
            raise
        msg = _("adapter {name}: it cannot connect: {error}", name=name, error=describe_error(error))
        raise InputError(msg) from None
    if "patience" in offered and hasattr(connected, "patience"):  # it may ask again
        connected.patience = offered["patience"]
    return _callable(connected, _("what adapter {name} connects to", name=name))


def summary_line(path: Path) -> Message:
    """The first line of the docstring of a module of a shelf."""
    text = path.read_text(encoding="utf-8")
    docstring = text.split('"""', 2)[1].strip() if text.startswith('"""') else ""
    return verbatim(docstring.partition("\n")[0], SHELF)


def _shelf_path(kind: Message, name: str, shelf: Path, names: Iterable[str]) -> Path:
    if is_path(name) or name.endswith(".toml"):
        return Path(name)
    if name not in names:
        raise UnknownName(kind, name, names, listed=LISTED, titles=file_titles(shelf, names))
    return shelf / f"{name}.toml"


def _toml_names(shelf: Path) -> list[str]:
    return sorted(path.stem for path in shelf.glob("*.toml") if not path.stem.startswith("_"))


@functools.cache
def _function_modules(shelf: Path, mark: str = "") -> tuple[str, ...]:
    """Modules with a top-level function named like them, or with `mark`; read once, not imported.

    `contains.py` is a judge because it holds "def contains(". Importing all would take seconds for `list`.
    """
    names = []
    for path in sorted(shelf.glob("*.py")):
        wanted = mark or f"def {path.stem}("
        if not path.stem.startswith("_") and wanted in path.read_text(encoding="utf-8"):
            names.append(path.stem)
    return tuple(names)


def _callable(value: Any, name: Message | str) -> Callable[..., Any]:
    if not callable(value):
        msg = _("{name} is {type}, not something that can be called.", name=name, type=type(value).__name__)
        raise InputError(msg)
    return value  # type: ignore[no-any-return]
