"""`make bench-refusals`: answered or declined, on public sets that say which questions can be answered.

The bundled bot answers LIT-RAGBench (Japanese, CC BY-SA 4.0) and mtRAG-un (English, Apache-2.0) from their
own passages, without a model; the sets' own references show how well a refusal is recognised by its wording.
The sets are not part of this program: without them a sentence says where to put them.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from simulator.shelves.rag_adapters.demo import connect

from benchmarks import DATA
from simulator.cases.cases import read_cases
from simulator.cases.files import read_text
from simulator.core.document import Line, Section
from simulator.core.types import (
    TURN,
    Answer,
    Case,
    Conversation,
    GradingContext,
    Language,
    Query,
    RedRules,
    Results,
    Run,
    Score,
    Turn,
)
from simulator.grading.lexical import response_of
from simulator.report.sections import answerable_section
from simulator.results.answerability import turn_outcome
from simulator.results.figures import turn_failure
from simulator.results.turns import run_turns


class LabelSet(NamedTuple):
    """A public set: its questions and its passages."""

    name: str
    language: Language
    questions: str
    passages: str


SETS = (
    LabelSet(
        "litragbench",
        "ja",
        "rag_conversations_litragbench_ja_dev.jsonl",
        "rag_corpus_litragbench_ja.jsonl.gz",
    ),
    LabelSet("mtrag_un", "en", "rag_conversations_mtrag_un_dev.jsonl.gz", "rag_corpus_mtrag_un.jsonl.gz"),
)


def main() -> None:
    """Prints the 2 x 2 table of each set, and how its references are recognised."""
    for each in SETS:
        folder = DATA / each.name
        if not (folder / each.questions).is_file():
            print(f"{each.name}: not there; put its files into {folder} (or set REHEARSAL_BENCH_DATA).")
            continue
        started = time.perf_counter()
        cases = read_cases(folder / each.questions)
        results = answered(cases, folder / each.passages)
        print(f"\n{each.name} ({each.language}), {len(cases)} questions, the bundled bot without a model")
        if section := answerable_section(run_turns(results, RedRules(), TURN)):
            print(table(section))
        print(recognised(cases, labels(folder / each.questions)))
        print(f"{time.perf_counter() - started:.0f} s")


def answered(cases: Sequence[Case], knowledge: Path) -> Results:
    """The bot's answers to these questions, from this knowledge."""
    bot = connect(knowledge=str(knowledge))
    conversations = tuple(_talk(case, asyncio.run(bot(_query(case)))) for case in cases)
    run = Run(id="refusals", created=datetime(2026, 1, 1, tzinfo=UTC), settings={}, status="finished")
    scores = [
        _worded(conversation.case, conversation.turns[0]).model_copy(update={"conversation": conversation.id})
        for conversation in conversations
    ]
    return Results(run=run, planned=len(conversations), conversations=conversations, scores=scores)


def _query(case: Case) -> Query:
    return Query(text=case.question, history=case.history, case=case.id, language=case.language)


def _talk(case: Case, answer: Answer) -> Conversation:
    turn = Turn(index=1, user=case.question, answer=answer)
    return Conversation(id=f"plain/{case.id}#1", case=case, persona="plain", turns=(turn,))


def table(section: Section) -> str:
    """The table as lines of text, and the notes below it."""
    shown = section.tables[0]
    lines = ["".join(str(column).rjust(20) for column in shown.columns)]
    cells = ["".join(str(cell.text).rjust(20) for cell in row) for row in shown.rows]
    lines += [f"{line}  " + str(row[-1].note) for line, row in zip(cells, shown.rows, strict=True)]
    return "\n".join([*lines, *(str(block.text) for block in section.blocks if isinstance(block, Line))])


def labels(path: Path) -> dict[str, str]:
    """What the set itself says of each question."""
    rows = [json.loads(line) for line in read_text(path).splitlines() if line.strip()]
    return {row["id"]: row["answerability"] for row in rows}


def recognised(cases: Sequence[Case], label_of: dict[str, str]) -> str:
    """What the references do by their wording: refuse, ask back or answer, for each label of the set."""
    counts = Counter((label_of[case.id], _outcome(case)) for case in cases if case.references)
    kinds = ("answered", "refused", "asked_back")
    lines = ["references by their wording:"]
    lines += [
        f"  {label:<16}" + ", ".join(f"{kind} {counts[label, kind]}" for kind in kinds)
        for label in dict.fromkeys(label for label, _ in counts)
    ]
    hits = counts["unanswerable", "refused"]
    refused = sum(n for (_, kind), n in counts.items() if kind == "refused")
    unanswerable = sum(n for (label, _), n in counts.items() if label == "unanswerable")
    recall, precision = hits / max(1, unanswerable), hits / max(1, refused)
    return "\n".join([*lines, f"  refusals recognised: recall {recall:.3f}, precision {precision:.3f}"])


def _outcome(case: Case) -> str:
    turn = Turn(index=1, user=case.question, answer=Answer(text=case.references_at(1)[0]))
    worded = _worded(case.model_copy(update={"references": ()}), turn)
    return turn_outcome(turn_failure(turn), worded.response)


def _worded(case: Case, turn: Turn) -> Score:
    """What an answer does by its wording, in a score of the turn judge without a grade."""
    context = GradingContext(conversation="", case=case, persona="plain", turn=turn)
    return Score(judge=TURN, turn=turn.index, state="skipped", response=response_of(context))


if __name__ == "__main__":
    main()
