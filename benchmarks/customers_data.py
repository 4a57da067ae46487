"""Real customers of public corpora: their own lines, and cases that give a simulated one the same problem.

The corpora are not part of this checkout; the folder is `../shared/data`, or REHEARSAL_BENCH_DATA.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import DATA
from simulator.core.types import Answer, Case, ChatMessage, Facts, Language

Row = dict[str, Any]
# How a scenario says what the customer begins with, and what they are told about themselves.
_BEGINS = re.compile(r"(?:[Ss]tart naturally|[Oo]pening|[Bb]egin(?: by saying)?)\W{1,8}\"([^\"]{20,400})\"")
_SITUATION = re.compile(r"\*\*Your situation:\*\*\s*(.+?)(?=\n\s*\n(?:#|\*\*|\d\.)|\n##|\Z)", re.DOTALL)
# As many turns as every recorded dialogue has answers for.
TURNS = 4
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Corpus(NamedTuple):
    """One corpus: cases to be played, and what the real customers said after their first line, by case."""

    name: str
    language: Language
    adapter: str
    cases: tuple[Case, ...]
    real: dict[str, tuple[str, ...]]
    settings: dict[str, str]


def corpora(limit: int) -> Iterator[Corpus]:
    """The corpora that are there, `limit` cases of each."""
    for name, read in (("asdc", asdc), ("mtrag_un", mtrag), ("tau2_banking", tau2)):
        if (DATA / name).is_dir():
            yield read(limit)


def asdc(limit: int) -> Corpus:
    """Japanese customers who look for a hotel; the desk says what the real one said, line by line."""
    rows = rows_of(DATA / "asdc" / "user_goals_asdc_ja_dev.jsonl.gz")
    rows = _spread([row for row in rows if len(_alternating(row["turns"])) >= TURNS], limit)
    conversations = {row["id"]: _alternating(row["turns"]) for row in rows}
    cases = tuple(
        Case(
            id=row["id"],
            question=conversations[row["id"]][0][0],
            language="ja",
            goal="、".join(row["goal"]["conditions"]),
            facts=Facts(knows=tuple(row["goal"]["conditions"])),
            recorded=tuple(Answer(text=said, shows_passages=False) for _, said in conversations[row["id"]]),
        )
        for row in rows
    )
    real = {key: tuple(asked for asked, _ in conversation[1:]) for key, conversation in conversations.items()}
    return Corpus("asdc", "ja", "recorded", cases, real, {})


def mtrag(limit: int) -> Corpus:
    """English users of a retrieval chat; the bot answers what it answered then, line by line."""
    rows = rows_of(DATA / "mtrag_un" / "rag_conversations_mtrag_un_dev.jsonl.gz")
    longest: dict[str, Row] = {}
    for row in rows:
        if len(row["history"]) > len(longest.get(row["group"], {"history": ()})["history"]):
            longest[row["group"]] = row
    long = [row for row in longest.values() if len(_alternating(row["history"])) >= TURNS]
    chosen = _spread(long, limit)
    conversations = {row["group"]: _alternating(row["history"]) for row in chosen}
    cases = tuple(
        Case(
            id=f"mtrag-un/{row['group']}",
            question=conversations[row["group"]][0][0],
            language="en",
            recorded=tuple(
                Answer(text=said, shows_passages=False) for _, said in conversations[row["group"]]
            ),
        )
        for row in chosen
    )
    real = {
        f"mtrag-un/{row['group']}": (
            *(asked for asked, _ in conversations[row["group"]][1:]),
            row["question"],
        )
        for row in chosen
    }
    return Corpus("mtrag_un", "en", "recorded", cases, real, {})


def tau2(limit: int) -> Corpus:
    """English bank customers whose scenario says how they begin; the demo bot has the bank's texts."""
    folder = DATA / "tau2_banking"
    rows = [row for row in rows_of(folder / "user_goals_tau2_banking_en_dev.jsonl") if _scenario(row)]
    cases = tuple(
        Case(id=row["id"], question=begins, language="en", goal=situation, facts=Facts(knows=tuple(knows)))
        for row in _spread(rows, limit)
        for begins, situation, knows in [_scenario(row) or ("", "", [])]
    )
    knowledge = folder / "rag_corpus_tau2_banking_en.jsonl.gz"
    return Corpus("tau2_banking", "en", "demo", cases, {}, {"knowledge": str(knowledge)})


def _scenario(row: Row) -> tuple[str, str, list[str]] | None:
    """How a customer begins, their situation, and its sentences; None where a scenario does not say."""
    begins, situation = _BEGINS.search(row["goal"]), _SITUATION.search(row["goal"])
    if not begins or not situation:
        return None
    text = " ".join(situation[1].split())
    return begins[1].strip(), text, [_own(sentence) for sentence in _SENTENCE.split(text) if sentence]


def _own(sentence: str) -> str:
    """A sentence of a scenario in the first person: "you are" becomes "I am"."""
    for second_person, first_person in (
        ("you are", "I am"),
        ("you were", "I was"),
        ("you", "I"),
        ("your", "my"),
    ):
        sentence = re.sub(rf"\b{second_person}(?='|\b)", first_person, sentence, flags=re.IGNORECASE)
    return sentence.replace("I're", "I'm")


def _alternating(turns: Iterable[Any]) -> list[tuple[str, str]]:
    """Pairs of the customer's lines and the answers, several lines in a row joined."""
    exchanges: list[list[str]] = []
    for turn in turns:
        line = ChatMessage.model_validate({"role": turn["role"], "content": turn["content"]})
        if line.role == "user":
            if exchanges and not exchanges[-1][1]:
                exchanges[-1][0] += "\n" + line.content
            else:
                exchanges.append([line.content, ""])
        elif exchanges:
            exchanges[-1][1] += ("\n" if exchanges[-1][1] else "") + line.content
    return [(question, answer) for question, answer in exchanges if answer]


def _spread(rows: Sequence[Row], limit: int) -> list[Row]:
    """So many rows from all over the file."""
    step = max(1.0, len(rows) / max(1, limit))
    return [rows[int(at * step)] for at in range(min(limit, len(rows)))]


def rows_of(path: Path) -> list[Row]:
    """The rows of a JSONL file, packed or not."""
    packed = path.read_bytes()
    text = gzip.decompress(packed) if path.suffix == ".gz" else packed
    return [json.loads(line) for line in text.decode("utf-8").splitlines()]
