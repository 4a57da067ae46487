"""A document of a task as a conversation: what is said to the bot, turn by turn, and what is known of it.

A document may say more than the text that lm_eval makes of it: `history` (what was said before), `turns`
(what the customer says, line by line) and `persona` (who goes on from there). Rows of our own tasks also
have `case`, and the parts of their prompt: `user`, `system`, `shots` and `allowed`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from simulator.core import shelves
from simulator.core.replies import encodable
from simulator.core.types import Case, Conversation, Message, Query, traits_of
from simulator.data.files import language_of
from simulator.harness.session import Place, Session
from simulator.runner.conversation import called
from simulator.runner.masking import masked_case

SCRIPTED = "scripted"
_BOT = "assistant"
# A document without a text of its own: lm_eval may ask for the likelihood of anything.
NO_TEXT = "…"


class Sent(NamedTuple):
    """A row's prompt: what is sent in place of its question."""

    question: str
    user: str
    system: str
    shots: tuple[Message, ...]
    choices: tuple[str, ...]


def place_of(request: Any) -> Place:
    """Which document of which task a request is about."""
    return str(request.task_name), int(request.doc_id)


def row_of(doc: Any) -> tuple[str, str] | None:
    """The task and the id of a row of ours; None for a document of any other task."""
    if isinstance(doc, Mapping) and {"task", "id", "case", "text"} <= doc.keys():
        return str(doc["task"]), str(doc["id"])
    return None


def conversation(session: Session, request: Any, number: int, *, question: str | None = None) -> Conversation:
    """The conversation that a request asks for, for the `number`th time (from 1), before anything is said."""
    doc = request.doc
    text = question or str(request.args[0])
    chat = messages_of(text)
    case = _case_of_row(doc) if row_of(doc) else _case(session, request, _parts(chat)[2] if chat else text)
    if session.stage.redactor is not None:
        case = masked_case(case, int(request.doc_id) + 1, session.stage.redactor)
    persona = _persona(session, request)
    if len(session.tasks) > 1 and row_of(doc):
        case = case.model_copy(update={"id": f"{doc['task']}-{case.id}", "tags": (*case.tags, doc["task"])})
    return Conversation(id=f"{persona}/{case.id}#{number}", case=case, persona=persona, repeat=number)


def sent(session: Session, request: Any, case: Case) -> Sent | None:
    """What is sent in place of a conversation's question; None where that is all there is to send.

    That is a row's prompt as its parts, or what lm_eval made of it with examples before; and a chat.
    """
    doc, context = request.doc, str(request.args[0])
    if chat := messages_of(context):
        system, history, user = _parts(chat)
        return _masked(session, Sent(case.question, user, system, history, ()), case)
    if not row_of(doc):
        return None
    if context != doc["text"]:
        return _masked(session, Sent(case.question, context, "", (), ()), case)
    shots = tuple(Message(role=each["role"], content=each["content"]) for each in doc["shots"] or ())
    allowed = tuple(doc["allowed"] or ())
    return _masked(session, Sent(case.question, doc["user"], doc["system"], shots, allowed), case)


def _masked(session: Session, told: Sent, case: Case) -> Sent:
    hide = partial(session.masked, language=case.language)
    shots = tuple(each.model_copy(update={"content": hide(each.content)}) for each in told.shots)
    return told._replace(user=hide(told.user), system=hide(told.system), shots=shots)


def as_chat(messages: Sequence[Mapping[str, str]]) -> str:
    """A chat as the one text that lm_eval hands on."""
    return json.dumps([dict(each) for each in messages], ensure_ascii=False)


def messages_of(text: str) -> list[dict[str, str]]:
    """The messages of such a text; none of any other."""
    found = _listed(text) if text.startswith('[{"role"') else []
    return found if all(isinstance(each, dict) and {*each} == {"role", "content"} for each in found) else []


def plain_text(context: str) -> str:
    """A context for a model that knows no roles."""
    return "\n\n".join(each["content"] for each in messages_of(context)) or context


def _parts(chat: Sequence[Mapping[str, str]]) -> tuple[str, tuple[Message, ...], str]:
    """System text, what was said before, and the last words of the user."""
    system = "\n\n".join(each["content"] for each in chat if each["role"] == "system")
    said = [each for each in chat if each["role"] != "system"]
    last = max((at for at, each in enumerate(said) if each["role"] == "user"), default=-1)
    history = tuple(Message.model_validate(each) for each in said[: max(0, last)])
    return system, history, said[last]["content"] if last >= 0 else NO_TEXT


class Sending:
    """A bot that is sent each row's prompt in place of its question; it keeps what else the bot has."""

    def __init__(self, rag: Any, prompts: Mapping[str, Sent]) -> None:
        """`prompts` by case id."""
        self.rag, self.prompts = rag, prompts

    def __getattr__(self, name: str) -> Any:
        """Whatever else the bot has."""
        return getattr(self.rag, name)

    async def __call__(self, query: Query) -> Any:
        """What the bot says; later turns of a row that is a dialogue are sent as they are."""
        prompt = self.prompts.get(query.case)
        if prompt is None:
            return await called(self.rag, query)
        takes = traits_of(self.rag).takes
        changes: dict[str, Any] = {"choices": prompt.choices}
        if query.text == prompt.question:
            apart = "system" in takes or not prompt.system
            changes["text"] = prompt.user if apart else f"{prompt.system}\n\n{prompt.user}"
        if "system" in takes:
            changes["system"] = prompt.system
        changes["history"] = (*prompt.shots, *query.history)
        return await called(self.rag, query.model_copy(update=changes))


def _case_of_row(doc: Mapping[str, Any]) -> Case:
    return Case.model_validate_json(doc["case"])


def _case(session: Session, request: Any, question: str) -> Case:
    doc = request.doc if isinstance(request.doc, Mapping) else {}
    task, number = place_of(request)
    text = str(encodable(question)).strip() or NO_TEXT
    told = {} if _is_of_lm_eval(session, task) else doc
    turns = _lines(told.get("turns"))
    own = bool(turns) and text.endswith(turns[0].strip())
    return Case(
        id=f"{task}-{number}",
        question=text,
        language=language_of(text),
        history=_history(told.get("history")),
        references=_targets(session, request),
        script=tuple(turns[1:] if own else turns),
        tags=(task,),
    )


def _targets(session: Session, request: Any) -> Any:
    """The right answers, where the task tells them."""
    task = session.tasks.get(request.task_name)
    if task is None:
        return ()
    target = task.doc_to_target(request.doc)
    if isinstance(target, int) and getattr(task.config, "doc_to_choice", None) is not None:
        choices = task.doc_to_choice(request.doc)
        target = choices[target] if 0 <= target < len(choices) else target
    every = target if isinstance(target, (list, tuple)) else (target,)
    told = tuple(text for each in every if (text := str(encodable(str(each))).strip()))
    return (told,) if told else ()


def _lines(value: Any) -> list[str]:
    """What the customer says: texts, or the messages of a dialogue, of which the bot's own are left out."""
    said = [each for each in _listed(value) if not (isinstance(each, Mapping) and each.get("role") == _BOT)]
    texts = [each.get("content") if isinstance(each, Mapping) else each for each in said]
    are_lines = all(isinstance(text, str) and text.strip() for text in texts)
    return [str(encodable(text)) for text in texts] if are_lines else []


def _history(value: Any) -> tuple[Message, ...]:
    try:
        return tuple(Message.model_validate(encodable(dict(each))) for each in _listed(value))
    except (ValidationError, ValueError, TypeError):
        return ()


def _listed(value: Any) -> list[Any]:
    """A list, also one that is written as JSON; nothing for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return list(value) if isinstance(value, (list, tuple)) else []


def _persona(session: Session, request: Any) -> str:
    """Who goes on after the lines of the document; a text of several words names nobody."""
    given = request.doc.get("persona") if isinstance(request.doc, Mapping) else None
    is_name = isinstance(given, str) and len(given.split()) == 1
    if not is_name or _is_of_lm_eval(session, str(request.task_name)):
        return SCRIPTED
    persona = shelves.persona(str(given))
    session.playing.personas[persona.id] = persona
    return persona.id


def _is_of_lm_eval(session: Session, task: str) -> bool:
    """Whether a task is one of the library's own: what its columns are called has nothing to do with us."""
    found = session.tasks.get(task)
    source = str((getattr(getattr(found, "config", None), "metadata", None) or {}).get("config_source", ""))
    return "/lm_eval/tasks/" in Path(source).as_posix()
