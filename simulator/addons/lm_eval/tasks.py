"""The bridge to lm-evaluation-harness (lm_eval): any bot as its model, any data set and judges as its task.

This package is the only one that imports lm_eval, which is an extra; nothing here imports torch.
"""

import asyncio
import difflib
import importlib
import json
import os
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import ValidationError

from simulator.core import shelves
from simulator.core.errors import CaseFileError, InputError
from simulator.core.messages import _, encodable, sentences
from simulator.core.roles import endpoints
from simulator.core.settings import Settings, load_settings, stored_settings
from simulator.core.types import (
    SCRIPTED,
    Bot,
    Case,
    Conversation,
    Language,
    Message,
    Query,
    Results,
    traits_of,
)
from simulator.data.datasets import labels_in
from simulator.data.files import language_of
from simulator.grading.panel import Grading
from simulator.models.pricing import Ledger
from simulator.runner.chains import applied_prompts
from simulator.runner.context import RunContext
from simulator.runner.conversation import call_bot
from simulator.runner.masking import masked_case
from simulator.runner.plan import read_plan
from simulator.runner.prompts import PromptRenderer, RenderedPrompt

T = TypeVar("T")
# A document: the task's name, and its number there.
DocumentKey = tuple[str, int]
# For a document without text: lm_eval may ask for the likelihood of anything.
NO_TEXT = "…"
NEEDED = "lm-eval>=0.4.12"
# The name of the filter of a task without others.
PLAIN = "none"
Document = dict[str, Any]
# The settings that a written task contains: those about its rows and their judges.
TASK_SETTINGS = (
    "cases", "columns", "worksheet", "language", "prompt", "shots", "choosing", "labels", "positive",
    "outputs", "scoring", "sample", "strict", "redact", "redact_patterns", "seed", "judges", "judging",
    "votes", "guidelines", "contacts", "ng_words", "rules", "tokenizer",
)  # fmt: skip
YAML = (".yaml", ".yml")
# Builders of `datasets` that read files; every other path is a folder, or the name of a data set on the hub.
_READERS = frozenset({"json", "csv", "parquet", "text", "arrow", "pandas", "xml"})
_PATTERN = frozenset("*?[")


class Session:
    """Made once per process; the bot is connected when it is first asked."""

    def __init__(self, settings: Settings, earlier: Results | None = None) -> None:
        """Raises InputError for invalid settings; `earlier` is the run that is continued."""
        self.settings = settings.model_copy(update={"protocol": "single_turn"})
        self.ledger = Ledger.of(settings, earlier)
        self.context = RunContext(self.settings, endpoints(settings), (shelves.scripted(),), self.ledger)
        self.tasks: Mapping[str, Any] = {}
        # The conversations of each document, one for each time it was asked; and of rows of our own tasks.
        self.conversations: dict[DocumentKey, list[Conversation]] = {}
        self.of_rows: dict[tuple[str, str], Conversation] = {}
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

    def grading(self, settings: Settings) -> Grading:
        """The judges of a task's own settings; models, money and limits are those of the session."""
        own = {name: getattr(settings, name) for name in TASK_SETTINGS}
        return Grading(self.settings.model_copy(update=own), self.context.model_factory)

    def masked(self, text: str, language: Language) -> str:
        """The text, without personal data if --redact is on."""
        redactor = self.context.redactor
        return redactor.redact(text, language).text if redactor else text

    def close(self) -> None:
        """Closes every connection, and the loop."""
        global _session  # noqa: PLW0603
        self.run(self.context.close(self._bot))
        self._runner.close()
        _session = None


_session: Session | None = None


def begin_session(settings: Settings, earlier: Results | None = None) -> Session:
    """Starts the session of this process."""
    global _session  # noqa: PLW0603 - lm_eval calls functions by name, and tells them of no session
    _session = Session(settings, earlier)
    return _session


def current_session() -> Session:
    """The session of this process; started from the environment and rehearsal.toml if there is none."""
    return _session or begin_session(load_settings({}))


def document_key(request: Any) -> DocumentKey:
    """The task and the number of the document that a request is about."""
    return str(request.task_name), int(request.doc_id)


def row_key(doc: Any) -> tuple[str, str] | None:
    """The task and the id of a row of our own tasks; None for a document of any other task."""
    if isinstance(doc, Mapping) and {"task", "id", "case", "text"} <= doc.keys():
        return str(doc["task"]), str(doc["id"])
    return None


def conversation_of(session: Session, request: Any, number: int) -> Conversation:
    """The conversation, still without turns, that a request asks for the `number`th time (from 1)."""
    doc = request.doc
    text = str(request.args[0])
    chat = messages_of(text)
    if row_key(doc):
        case = Case.model_validate_json(doc["case"])
    else:
        case = _case(session, request, _parts(chat)[2] if chat else text)
    if session.context.redactor is not None:
        case = masked_case(case, int(request.doc_id) + 1, session.context.redactor)
    persona = _persona(session, request)
    if len(session.tasks) > 1 and row_key(doc):
        case = case.model_copy(update={"id": f"{doc['task']}-{case.id}", "tags": (*case.tags, doc["task"])})
    return Conversation(id=f"{persona}/{case.id}#{number}", case=case, persona=persona, repeat=number)


def row_prompt(session: Session, request: Any, case: Case) -> RenderedPrompt | None:
    """What is sent instead of a conversation's question; None if the question itself is sent.

    It is a row's prompt in parts, lm_eval's text with examples before the prompt, or a chat.
    """
    doc, context = request.doc, str(request.args[0])
    if chat := messages_of(context):
        system, history, user = _parts(chat)
        prompt = RenderedPrompt(system=system, user=user, history=history)
    elif not row_key(doc):
        return None
    elif context != doc["text"]:
        prompt = RenderedPrompt(system="", user=context)
    else:
        prompt = RenderedPrompt(
            system=doc["system"], user=doc["user"], choices=doc["allowed"] or (), history=doc["shots"] or ()
        )
    hide = partial(session.masked, language=case.language)
    history = tuple(each.model_copy(update={"content": hide(each.content)}) for each in prompt.history)
    masked = {"user": hide(prompt.user), "system": hide(prompt.system), "history": history}
    return prompt.model_copy(update=masked)


def as_chat(messages: Sequence[Mapping[str, str]]) -> str:
    """A chat as one text, as lm_eval passes it on."""
    return json.dumps([dict(each) for each in messages], ensure_ascii=False)


def messages_of(text: str) -> list[dict[str, str]]:
    """The messages of a text made by `as_chat`; none for any other text."""
    items = _listed(text) if text.startswith('[{"role"') else []
    return items if all(isinstance(each, dict) and {*each} == {"role", "content"} for each in items) else []


def plain_text(context: str) -> str:
    """A context for a model without roles: the messages of a chat one below the other."""
    return "\n\n".join(each["content"] for each in messages_of(context)) or context


def _parts(chat: Sequence[Mapping[str, str]]) -> tuple[str, tuple[Message, ...], str]:
    """System text, earlier messages, and the user's last message."""
    system = "\n\n".join(each["content"] for each in chat if each["role"] == "system")
    messages = [each for each in chat if each["role"] != "system"]
    last = max((at for at, each in enumerate(messages) if each["role"] == "user"), default=-1)
    history = tuple(Message.model_validate(each) for each in messages[: max(0, last)])
    return system, history, messages[last]["content"] if last >= 0 else NO_TEXT


class RowPromptedBot:
    """A bot that is sent each row's prompt instead of its question; it has the attributes of the bot."""

    def __init__(self, bot: Any, prompts: Mapping[str, tuple[str, RenderedPrompt]]) -> None:
        """`prompts` have the question and the prompt, by case id."""
        self.bot, self.prompts = bot, prompts

    def __getattr__(self, name: str) -> Any:
        """The bot's own attributes."""
        return getattr(self.bot, name)

    async def __call__(self, query: Query) -> Any:
        """The bot's result; later turns of a row that is a dialogue are sent unchanged."""
        if query.case not in self.prompts:
            return await call_bot(self.bot, query)
        question, prompt = self.prompts[query.case]
        changes: dict[str, Any] = {
            "choices": prompt.choices,
            "history": (*prompt.history, *query.history),
            "text": prompt.user if query.text == question else query.text,
        }
        if "system" in traits_of(self.bot).takes:
            changes["system"] = prompt.system
        elif prompt.system and query.text == question:
            changes["text"] = f"{prompt.system}\n\n{prompt.user}"
        return await call_bot(self.bot, query.model_copy(update=changes))


def _case(session: Session, request: Any, question: str) -> Case:
    doc = request.doc if isinstance(request.doc, Mapping) else {}
    task, number = document_key(request)
    text = str(encodable(question)).strip() or NO_TEXT
    columns = {} if _is_of_lm_eval(session, task) else doc
    turns = _lines(columns.get("turns"))
    own = bool(turns) and text.endswith(turns[0].strip())
    return Case(
        id=f"{task}-{number}",
        question=text,
        language=language_of(text),
        history=_history(columns.get("history")),
        references=_targets(session, request),
        script=tuple(turns[1:] if own else turns),
        tags=(task,),
    )


def _targets(session: Session, request: Any) -> Any:
    """The right answers, if the task has them."""
    task = session.tasks.get(request.task_name)
    if task is None:
        return ()
    target = task.doc_to_target(request.doc)
    if isinstance(target, int) and getattr(task.config, "doc_to_choice", None) is not None:
        choices = task.doc_to_choice(request.doc)
        target = choices[target] if 0 <= target < len(choices) else target
    every = target if isinstance(target, (list, tuple)) else (target,)
    texts = tuple(text for each in every if (text := str(encodable(str(each))).strip()))
    return (texts,) if texts else ()


def _lines(value: Any) -> list[str]:
    """The customer's lines; none if they are no texts."""
    lines = _listed(value)
    are_texts = all(isinstance(line, str) and line.strip() for line in lines)
    return [str(encodable(line)) for line in lines] if are_texts else []


def _history(value: Any) -> tuple[Message, ...]:
    try:
        return tuple(Message.model_validate(encodable(dict(each))) for each in _listed(value))
    except (ValidationError, ValueError, TypeError):
        return ()


def _listed(value: Any) -> list[Any]:
    """A list, also one written as JSON; empty for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return list(value) if isinstance(value, (list, tuple)) else []


def _persona(session: Session, request: Any) -> str:
    """The persona that continues after the lines of the document; SCRIPTED if it names none."""
    name = request.doc.get("persona") if isinstance(request.doc, Mapping) else None
    is_name = isinstance(name, str) and len(name.split()) == 1  # several words are another kind of column
    if not is_name or _is_of_lm_eval(session, str(request.task_name)):
        return SCRIPTED
    persona = shelves.persona(str(name))
    session.context.personas[persona.id] = persona
    return persona.id


def _is_of_lm_eval(session: Session, task: str) -> bool:
    """Whether a task is one of lm_eval's own, whose column names mean nothing to this program."""
    loaded = session.tasks.get(task)
    source = str((getattr(getattr(loaded, "config", None), "metadata", None) or {}).get("config_source", ""))
    return "/lm_eval/tasks/" in Path(source).as_posix()


def check_installed() -> None:
    """Raises InputError if the extra is missing."""
    if find_spec("lm_eval") is None:
        raise InputError(_("harness needs the extra 'harness': pip install '{needed}'.", needed=NEEDED))


def evaluation(*, online: bool) -> Any:
    """The module `grade`, and with it lm_eval; raises InputError where that is too old.

    `online` is whether a task's data may come from the Hugging Face hub. lm_eval and the libraries below it
    read such variables when they are imported: no other module imports `grade`.
    """
    if not online:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # Its progress bars would mix with ours, and its bootstrap would use every core for a thousand numbers.
    for name in ("TQDM_DISABLE", "DISABLE_MULTIPROC"):
        os.environ.setdefault(name, "1")
    if not hasattr(importlib.import_module("lm_eval.tasks").TaskManager, "load"):
        msg = _(
            "lm-eval {version} is too old: pip install '{needed}'.",
            version=version("lm_eval"),
            needed=NEEDED,
        )
        raise InputError(msg)
    return importlib.import_module("simulator.addons.lm_eval.grade")


def metric_name(metric: str, filter_name: str) -> str:
    """The name of a metric's scores: with its filter, unless that is the plain one."""
    name = metric if filter_name == PLAIN else f"{filter_name}.{metric}"
    return "".join("_" if each in "/\\:, " else each for each in name)


class TaskRows(NamedTuple):
    """The documents of a task, and its settings with the judges that fit its rows."""

    rows: list[Document]
    settings: Settings
    skipped: int


def documents(task: str, settings: Mapping[str, Any]) -> TaskRows:
    """The rows of a data set; `settings` are those of TASK_SETTINGS that are not the defaults."""
    planned = read_plan(stored_settings({**settings, "protocol": "single_turn"}))
    cases = [conversation.case for conversation in planned.plan]
    prompts, renderer = applied_prompts(planned.settings), None
    if prompts is not None and prompts.chain is not None:
        msg = _(
            "--prompt {prompt}: a chain is several requests, and a task of lm_eval is one.",
            prompt=planned.settings.prompt,
        )
        raise InputError(msg)
    if prompts is not None:
        labels = tuple(planned.settings.labels) or labels_in(cases)
        renderer = PromptRenderer(prompts.prompts[0], labels)
    rows = [_row(task, case, renderer, planned.settings) for case in cases]
    return TaskRows(rows, planned.settings, planned.skipped.count)


def _row(task: str, case: Case, renderer: PromptRenderer | None, settings: Settings) -> Document:
    prompt = (
        renderer(case) if renderer else RenderedPrompt(system="", user=case.question, choices=case.choices)
    )
    text = "\n\n".join(part for part in (prompt.system, prompt.user) if part) or NO_TEXT
    right = (renderer.right(case) if renderer else "") or case.label or ""
    targets = list(case.references_at(1)) or [text for text in (right, case.answer) if text]
    gold = prompt.choices.index(right) if right in prompt.choices else -1
    if settings.choosing == "likelihood" and gold < 0:
        msg = _(
            "{cases}, row {case}: --choosing likelihood needs choices, and a label among them.",
            cases=settings.cases,
            case=case.id,
        )
        raise CaseFileError(msg)
    return {
        "task": task,
        "id": case.id,
        "text": text,
        "target": targets[0] if targets else "",
        "targets": targets,
        "choices": list(prompt.choices),
        "gold": gold,
        "language": case.language,
        "question": case.question,
        "user": prompt.user,
        "system": prompt.system,
        "shots": [message.model_dump() for message in prompt.history],
        "allowed": list(prompt.choices) if renderer else [],
        "case": case.model_dump_json(exclude_defaults=True),
    }


class Sources(NamedTuple):
    """Names, patterns and whole paths; folders of task files.

    `own` is whether lm_eval's own tasks are needed, `online` whether data may have to come from the hub.
    """

    specs: tuple[str, ...]
    include: tuple[Path, ...] = ()
    own: bool = False
    online: bool = False


class _Loader(yaml.SafeLoader):
    """Task files as plain data: functions stay names."""


_Loader.add_constructor("!function", lambda _, node: node.value)


def sources_of(names: Sequence[str], include: Sequence[str] = ()) -> Sources:
    """The meaning of `--tasks` and `--include`; raises InputError for missing files and folders."""
    specs: list[str] = []
    folders = [_existing("--include", each) for each in include]
    # Tasks and groups, whose members are names, or changes to the task of that name.
    wanted: list[str | Mapping[str, Any]] = []
    for name in names:
        if Path(name).suffix.lower() not in YAML:
            specs.append(name)
            wanted.append(name)
            continue
        path = _existing("--tasks", name)
        config = read_task(path)
        if "group" in config:
            folders.append(path.parent)
        # lm_eval finds a group only by its name.
        specs.append(str(config.get("group", path)))
        wanted.append(config)
    local: dict[str, Mapping[str, Any]] = {}
    for folder in folders:
        local |= tasks_of_folder(folder)
    own = online = False
    while wanted:
        member = wanted.pop()
        changes = {} if isinstance(member, str) else member
        config = {**local.get(str(changes.get("group", changes.get("task", member))), {}), **changes}
        if "group" in config:
            members = config.get("task") or ()
            wanted += [members] if isinstance(members, str) else members
            continue
        data = str(config.get("dataset_path") or "")
        if not ("custom_dataset" in config or data in _READERS or (data and Path(data).exists())):
            own, online = own or not (data or "class" in config), True
    return Sources(tuple(specs), tuple(dict.fromkeys(folders)), own, online)


def read_task(path: Path) -> dict[str, Any]:
    """A task file with the files it includes; functions are read as names."""
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())[:200]
        raise CaseFileError(_("{path}: cannot be read as a task ({why}).", path=path, why=why)) from None
    if not isinstance(config, dict) or not ({"task", "group", "include"} & config.keys()):
        msg = _("{path}: not a task of lm_eval: it names neither a task nor a group.", path=path)
        raise CaseFileError(msg)
    included = config.pop("include", ())
    merged: dict[str, Any] = {}
    for each in [included] if isinstance(included, str) else included:
        merged |= read_task(path.parent / each)
    return merged | config


def tasks_of_folder(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The tasks and groups of a folder by name, as lm_eval finds them."""
    tasks: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        try:
            config = read_task(path)
        except InputError:  # other YAML files may stand among them
            continue
        name = config.get("group", config.get("task"))
        tags = config.get("tag") or ()
        for each in (name, *([tags] if isinstance(tags, str) else tags)):
            if isinstance(each, str):
                tasks.setdefault(each, config)
    return tasks


def _existing(option: str, name: str) -> Path:
    path = Path(name).expanduser().resolve()
    if option == "--tasks" and not path.is_file():
        raise InputError(_("--tasks {name}: no such task file.", name=name))
    if option == "--include" and not path.is_dir():
        raise InputError(_("--include {name}: no such folder.", name=name))
    return path


def check_known(specs: Iterable[str], known: Sequence[str], matching: Any) -> list[str]:
    """All task names, with patterns replaced by their matches; raises InputError for an unknown name.

    `known` are all names, and `matching` returns those that a pattern matches.
    """
    found: dict[str, None] = {}
    names = frozenset(known)
    for spec in specs:
        if Path(spec).suffix.lower() in YAML or spec in names:
            found[spec] = None
        elif _PATTERN & set(spec) and (matched := matching([spec])):
            found |= dict.fromkeys(matched)
        else:
            near = difflib.get_close_matches(spec, known, n=3, cutoff=0.5)
            raise InputError(
                sentences(
                    _("unknown task '{name}'.", name=spec),
                    _("Did you mean {names}?", names=", ".join(near)) if near else None,
                    _("All names: lm_eval ls tasks; your own: FILE.yaml."),
                )
            )
    return list(found)
