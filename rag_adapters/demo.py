"""The bundled bot: LangChain and FAISS over demo/knowledge or texts of your own."""

import os
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from rag_adapters._limits import limited
from simulator import Answer, Bot, Chat, InputError, Passage, Query, _, read_knowledge

if TYPE_CHECKING:
    from rag_adapters._index import PassageIndex

BUNDLED = Path(__file__).resolve().parent.parent / "demo" / "knowledge"
PROMPT = Path(__file__).with_name("demo_prompt.toml")

# Sentences that repeat less of the question than this share are taken to be about something else.
# Japanese is lower: endings and particles differ between a question and the sentence that answers it.
_LEAST_COVERAGE = {"ja": 0.08, "en": 0.2}

_ENDS = ("。", "！", "？", ".", "!", "?", "：", ":")


@limited
def connect(*, knowledge: str = "", top: int = 4, chat: Chat | None = None) -> Bot:
    """The bot over the texts in `knowledge` (a folder or file; the bundled ones when empty).

    Each answer rests on the `top` nearest passages. Without `chat` it is made of their own sentences.
    """
    if top < 1:
        msg = _("top={top}: at least one passage is needed to answer from.", top=top)
        raise InputError(msg)
    wording = read_wording(PROMPT)
    passages = list(read_knowledge(knowledge or BUNDLED))
    return _bot(passages, top, wording, chat)


def _bot(passages: Sequence[Passage], top: int, wording: dict[str, Any], chat: Chat | None) -> Bot:
    # Imported here because LangChain and FAISS take a second: only runs with this bot wait for them.
    from rag_adapters._chain import grounded_chain
    from rag_adapters._index import open_index

    cache = cache_folder()
    chains = {}
    for language, texts in by_language(passages).items():
        index = open_index(texts, cache)
        answer = _generative(wording, chat) if chat else _extractive(wording, index)
        chains[language] = grounded_chain(index, top, answer)
    fallback = next(iter(chains.values()))

    def answer_offline(query: Query) -> Answer:
        return chains.get(query.language, fallback).invoke(query)

    async def answer_by_model(query: Query) -> Answer:
        return await chains.get(query.language, fallback).ainvoke(query)

    return answer_by_model if chat else answer_offline


def by_language(passages: Sequence[Passage]) -> dict[str, list[Passage]]:
    """The passages per language when every id starts with `ja/` or `en/`, else all of them under ''."""
    groups: dict[str, list[Passage]] = {}
    for passage in passages:
        groups.setdefault(passage.id.partition("/")[0], []).append(passage)
    return groups if set(groups) <= {"ja", "en"} else {"": list(passages)}


def cache_folder() -> Path | None:
    """Where indexes are kept between runs; None when this user has no such place."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "rehearsal" / "faiss"
    except RuntimeError:
        return None


def read_wording(path: Path) -> dict[str, Any]:
    """The texts of a prompt file, per language; raises InputError for one that does not hold together."""
    try:
        wording = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        for language in ("ja", "en"):
            texts = {key: wording[language][key] for key in ("opening", "refusal", "system", "user")}
            Template(texts["system"]).substitute()
            Template(texts["user"]).substitute(passages="", question="")
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = _("{path}: not usable as the demo bot's prompts ({error}).", path=path, error=error)
        raise InputError(msg) from None
    return wording


def _extractive(wording: dict[str, Any], index: "PassageIndex") -> Callable[..., Any]:
    """Answers in the passages' own sentences; thanks the customer once, and knows no other courtesy."""
    from rag_adapters._chain import search_text
    from rag_adapters._extract import extract

    def answer(query: Query, passages: tuple[Passage, ...]) -> Answer:
        texts = wording[query.language]
        found = extract(search_text(query), passages, index.weighed)
        if found.coverage < _LEAST_COVERAGE[query.language]:
            return Answer(text=texts["refusal"], passages=passages)
        opening = () if query.history else (texts["opening"],)
        return Answer(text=_joined((*opening, *found.sentences), query.language), passages=passages)

    return answer


def _joined(sentences: Sequence[str], language: str) -> str:
    stop, joint = ("。", "") if language == "ja" else (".", " ")
    return joint.join(text if text.endswith(_ENDS) else text + stop for text in sentences)


def _generative(wording: dict[str, Any], chat: Chat) -> Callable[..., Any]:
    """Answers by the model, which sees the passages, the dialogue so far and the question."""

    async def answer(query: Query, passages: tuple[Passage, ...]) -> Answer:
        texts = wording[query.language]
        shown = "\n\n".join(f"[{number}]\n{each.text}" for number, each in enumerate(passages, 1))
        asked = Template(texts["user"]).substitute(passages=shown, question=query.text).strip()
        messages = [
            {"role": "system", "content": Template(texts["system"]).substitute().strip()},
            *({"role": line.role, "content": line.content} for line in query.history),
            {"role": "user", "content": asked},
        ]
        text, usage = await chat(messages)
        return Answer(text=text, passages=passages, usage=usage)

    return answer
