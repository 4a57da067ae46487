"""The bridge to lm-evaluation-harness (lm_eval): what its tasks are, and what their documents ask the bot.

This package is the only one that imports lm_eval, which is an extra; nothing here imports torch.

What a request of lm_eval becomes here:

    task "faq", document 3, asked for the first time    the conversation scripted/faq-3#1
    the text of the document                            its question
    the target                                          its reference
    a metric                                            a judge (`metric_name`)

lm_eval runs in this process, and calls the bot through `RehearsalLM` (model.py). It asks for all documents at
once, so that conversations overlap as in any run. One event loop serves the whole evaluation (`Session`),
because connections belong to the loop that opened them.
"""

import asyncio
import os
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import yaml

from simulator.core import shelves
from simulator.core.errors import CaseFileError, InputError, did_you_mean
from simulator.core.messages import _, encodable, sentences
from simulator.core.settings import Settings
from simulator.core.types import (
    SCRIPTED,
    Bot,
    Case,
    Conversation,
    Language,
    Results,
    Value,
)
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.runner.masking import masked_case
from simulator.text.typography import language_of

T = TypeVar("T")
# A document: the task's name, and its number there.
DocumentKey = tuple[str, int]
# For a document without text: lm_eval may ask for the likelihood of anything, and a Case has a question.
NO_TEXT = "…"
NEEDED = "lm-eval>=0.4.12"
# The name of the filter of a task without others.
PLAIN = "none"
YAML = (".yaml", ".yml")


class HarnessSession:
    """What an evaluation works with; the bot is connected when it is first asked."""

    def __init__(self, settings: Settings, earlier: Results | None = None) -> None:
        """Raises InputError for invalid settings; `earlier` is the run that is continued."""
        self.settings = settings.model_copy(update={"protocol": "single_turn"})
        self.ledger = Ledger.of(settings, earlier)
        self.context = RunContext(self.settings, (shelves.scripted(),), self.ledger)
        self.tasks: Mapping[str, Any] = {}
        # The conversations of each document, one for each time it was asked.
        self.conversations: dict[DocumentKey, list[Conversation]] = {}
        self._runner = asyncio.Runner()
        self._bot: Bot | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of async work; all of it runs on one event loop, to which connections belong."""
        return self._runner.run(work)

    async def bot(self, plan: tuple[Conversation, ...]) -> Bot:
        """The bot, connected when it is first needed."""
        if self._bot is None:
            self._bot = await self.context.bot(plan)
        return self._bot

    def masked(self, text: str, language: Language) -> str:
        """The text, without personal data if --redact is on."""
        redactor = self.context.redactor
        return redactor.redact(text, language).text if redactor else text

    def close(self) -> None:
        """Closes every connection, and the loop."""
        self.run(self.context.close(self._bot))
        self._runner.close()


def document_key(request: Any) -> DocumentKey:
    """The task and the number of the document that a request is about."""
    return str(request.task_name), int(request.doc_id)


def conversation_of(session: HarnessSession, request: Any, number: int) -> Conversation:
    """The conversation, still without turns, that a request asks for the `number`th time (from 1)."""
    case = _case(session, request)
    if session.context.redactor is not None:
        case = masked_case(case, int(request.doc_id) + 1, session.context.redactor)
    return Conversation(id=f"{SCRIPTED}/{case.id}#{number}", case=case, persona=SCRIPTED, repeat=number)


def _case(session: HarnessSession, request: Any) -> Case:
    task, number = document_key(request)
    # The first argument is the prompt in every kind of request; for likelihoods the second is the
    # continuation.
    text = str(encodable(str(request.args[0]))).strip() or NO_TEXT
    return Case(
        id=f"{task}-{number}",
        question=text,
        language=language_of(text),
        references=_targets(session, request),
        tags=(task,),
    )


def _targets(session: HarnessSession, request: Any) -> Any:
    """The right answers, if the task has them."""
    task = session.tasks.get(request.task_name)
    if task is None:
        return ()
    target = task.doc_to_target(request.doc)
    # The number of the right choice, of which people want to read the text.
    if isinstance(target, int) and getattr(task.config, "doc_to_choice", None) is not None:
        choices = task.doc_to_choice(request.doc)
        target = choices[target] if 0 <= target < len(choices) else target
    every = target if isinstance(target, (list, tuple)) else (target,)
    texts = tuple(text for target in every if (text := str(encodable(str(target))).strip()))
    return (texts,) if texts else ()


def check_installed() -> None:
    """Raises InputError if the extra is missing."""
    if find_spec("lm_eval") is None:
        raise InputError(_("harness needs the extra 'lm-eval': pip install '{needed}'.", needed=NEEDED))


def prepare_library(*, own: bool) -> None:
    """Sets what lm_eval and the libraries below it read when they are imported: before `grade` is.

    For tasks of the user's `own` nothing is fetched from the Hugging Face hub, unless HF_HUB_OFFLINE=0 says
    so. Raises InputError for a version of lm_eval that is too old.
    """
    if own:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # Its progress bars would mix with ours, and its bootstrap would use every core for a thousand numbers.
    for name in ("TQDM_DISABLE", "DISABLE_MULTIPROC"):
        os.environ.setdefault(name, "1")
    from lm_eval.tasks import TaskManager

    # By what is there and not by the version, which forks number as they like.
    if not hasattr(TaskManager, "load"):
        msg = _(
            "lm-eval {version} is too old: pip install '{needed}'.",
            version=version("lm_eval"),
            needed=NEEDED,
        )
        raise InputError(msg)


def metric_name(metric: str, filter_name: str) -> str:
    """The name of a metric's scores: with its filter, unless that is the plain one.

    ("acc", "none") -> acc; ("exact_match", "strict-match") -> strict-match.exact_match. What means something
    in names of judges (a slash is a path) becomes an underscore.
    """
    name = metric if filter_name == PLAIN else f"{filter_name}.{metric}"
    return "".join("_" if character in "/\\:, " else character for character in name)


class TaskRequest(Value):
    """Tasks by name or file, and folders of task files, as the run file keeps them.

    `limit` is how many documents of each task, `shots` how many examples lm_eval puts before each.
    """

    tasks: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    limit: int | None = None
    shots: int | None = None

    @classmethod
    def of(cls, tasks: Iterable[str], include: Iterable[str], limit: int | None, shots: int | None) -> Self:
        """A request with whole file names, so that a run can be resumed from any folder."""

        def whole(name: str) -> str:
            """A task of the same name as a folder is a task."""
            is_path = Path(name).suffix or "/" in name or "\\" in name
            return str(Path(name).resolve()) if is_path and Path(name).exists() else name

        return cls(
            tasks=tuple(map(whole, tasks)),
            include=tuple(map(whole, include)),
            limit=limit,
            shots=shots,
        )

    @property
    def title(self) -> str:
        """What is evaluated, in a few words."""
        return ", ".join(Path(name).name for name in self.tasks)


class Sources(NamedTuple):
    """Names, patterns and whole paths of tasks, and folders of task files.

    `own` says that they are all of the user's own: lm_eval's are not looked at, and nothing is fetched.
    """

    specs: tuple[str, ...]
    include: tuple[Path, ...]
    own: bool


class _Loader(yaml.SafeLoader):
    """Task files as plain data: functions stay names."""


_Loader.add_constructor("!function", lambda _, node: node.value)


def sources_of(names: Sequence[str], include: Sequence[str] = ()) -> Sources:
    """The meaning of `--tasks` and `--include`; raises InputError for missing files and folders."""
    specs: list[str] = []
    folders = [Path(name).expanduser().resolve() for name in include]
    for given, folder in zip(include, folders, strict=True):
        if not folder.is_dir():
            raise InputError(_("--include {name}: no such folder.", name=given))
    for name in names:
        # Names, patterns (mmlu_*), groups and tags are lm_eval's to look up.
        if Path(name).suffix.lower() not in YAML:
            specs.append(name)
            continue
        path = Path(name).expanduser().resolve()
        if not path.is_file():
            raise InputError(_("--tasks {name}: no such task file.", name=name))
        config = read_task(path)
        if "group" in config:
            folders.append(path.parent)
        # lm_eval finds a group only by its name.
        specs.append(str(config.get("group", path)))
    # Loading lm_eval's own tasks takes seconds, and its data comes from the Hugging Face hub.
    own = bool(include) or all(Path(name).suffix.lower() in YAML for name in names)
    return Sources(tuple(specs), tuple(dict.fromkeys(folders)), own)


def read_task(path: Path) -> dict[str, Any]:
    """A task file; functions are read as names."""
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())[:200]
        raise CaseFileError(_("{path}: cannot be read as a task ({why}).", path=path, why=why)) from None
    if not isinstance(config, dict) or not ({"task", "group", "include"} & config.keys()):
        msg = _("{path}: not a task of lm_eval: it names neither a task nor a group.", path=path)
        raise CaseFileError(msg)
    return config


def check_known(specs: Iterable[str], known: Sequence[str], matching: Any) -> list[str]:
    """All task names, with patterns replaced by their matches; raises InputError for an unknown name.

    `known` are all names, and `matching` returns those that a pattern matches.
    """
    names: dict[str, None] = {}
    for spec in specs:
        matched = [spec] if Path(spec).suffix.lower() in YAML else matching([spec])
        if not matched:
            raise InputError(
                sentences(
                    _("unknown task '{name}'.", name=spec),
                    did_you_mean(spec, known),
                    _("All names: lm_eval ls tasks; your own: FILE.yaml."),
                )
            )
        names |= dict.fromkeys(matched)
    return list(names)
