"""`make bench-responses`: whether the judge of turns says rightly what an answer does.

    python -m benchmarks.responses [--part a|b] [--lang ja|en] [--record FILE] [--small] [--show]

Rows of detector_rows/asked, and ordinary lines of real desks in their dialogues: 100 a language of those that
tests/fixtures/desk_lines_*.jsonl knows to be no refusal, from the data set `humans` (not part of this
program; --lines FOLDER). Each is one real prompt of the judge `turn`. Without an endpoint the verdicts in
benchmarks/response_verdicts.json are counted, which readers gave in the model's place.
"""

import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import DATA
from benchmarks.readings import Failed, Readings
from simulator.core.shelves import JUDGES
from simulator.core.templates import LANGUAGES, fingerprint
from simulator.core.types import (
    TURN,
    Answer,
    Case,
    ChatMessage,
    GradingContext,
    Language,
    Response,
    Turn,
)
from simulator.runner.context import RunContext

HERE = Path(__file__).parent
ROWS, RECORDED = HERE / "detector_rows" / "asked", HERE / "response_verdicts.json"
FIXTURES = HERE.parent / "tests" / "fixtures"
# What is right for the first letter of a row; two where its label leaves it open.
RIGHT: Mapping[str, frozenset[Response]] = {
    "D": frozenset({"declined"}),
    "H": frozenset({"handed_over"}),
    "E": frozenset({"declined", "handed_over"}),
    "B": frozenset({"answered", "partly", "handed_over"}),
    "A": frozenset({"answered"}),
    "C": frozenset({"answered"}),
    "Q": frozenset({"asked_back"}),
    "P": frozenset({"partly"}),
    "N": frozenset({"nothing"}),
}
# Of an ordinary line neither is said.
AMISS: frozenset[Response] = frozenset({"declined", "handed_over"})
# Ordinary lines a language, how many messages are shown before each, and the seed of the draw.
LINES, BEFORE, SEED = 100, 6, 20261129


class Row(NamedTuple):
    """An answer with its question; `kind` is a letter of `RIGHT`, empty of an ordinary line."""

    kind: str
    language: Language
    answer: str
    question: str
    history: tuple[ChatMessage, ...] = ()

    @property
    def name(self) -> str:
        """The name of its verdict."""
        return fingerprint(self.language, self.question, self.answer, *(m.content for m in self.history))

    @property
    def context(self) -> GradingContext:
        """The turn as the judge sees it: without reference and passages."""
        case = Case(id="row", question=self.question, language=self.language, history=self.history)
        answer = Answer(text=self.answer, shows_passages=False)
        turn = Turn(index=1, user=self.question, answer=answer)
        return GradingContext(conversation=f"plain/{self.name}#1", case=case, persona="plain", turn=turn)


def labelled_rows(language: Language) -> Iterator[Row]:
    """The rows with labels; none that the prompt quotes."""
    prompt = (JUDGES / "turn.toml").read_text(encoding="utf-8")
    for line in (ROWS / f"acts.{language}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            question, answer = line[2:].split(" || ")
            if answer not in prompt:
                yield Row(line[0], language, answer, question)


def ordinary_rows(language: Language, folder: Path) -> list[Row]:
    """Ordinary lines of desks, each with what was said before it; none where the data is not at hand."""
    text = (FIXTURES / f"desk_lines_{language}.jsonl").read_text(encoding="utf-8")
    known = [json.loads(line) for line in text.splitlines()]
    wanted = {row["source"] for row in known if not row["refusal"]}
    found = list[Row]()
    for path in sorted(folder.glob(f"*_{language}_dev.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for dialogue in map(json.loads, file):
                found += _lines_of(dialogue, language, wanted)
    return random.Random(SEED).sample(found, LINES) if len(found) >= LINES else found


def _lines_of(dialogue: Mapping[str, Any], language: Language, wanted: set[str]) -> Iterator[Row]:
    """The wanted lines of the desk that answer a customer's line."""
    turns = [(turn["role"], turn["text"].strip()) for turn in dialogue["turns"] if turn["text"].strip()]
    for at in range(1, len(turns)):
        source = f"{dialogue['id']}/{at + 1}"
        if source in wanted and (turns[at - 1][0], turns[at][0]) == ("customer", "desk"):
            history = tuple(
                ChatMessage(role="user" if role == "customer" else "assistant", content=text)
                for role, text in turns[max(0, at - 1 - BEFORE) : at - 1]
            )
            yield Row("", language, turns[at][1], turns[at - 1][1], history)


def rows_of(folder: Path) -> list[Row]:
    """All rows, in an order drawn by lot that says nothing of their kind."""
    every = [
        row for language in LANGUAGES for row in (*labelled_rows(language), *ordinary_rows(language, folder))
    ]
    return random.Random(SEED).sample(every, len(every))


def part_of(every: Sequence[Row], part: str) -> list[Row]:
    """Half of the rows, with half of each kind in each language."""
    kinds = dict.fromkeys((row.kind, row.language) for row in every)
    halves = (
        [row for row in every if (row.kind, row.language) == kind]["ab".index(part) :: 2] for kind in kinds
    )
    chosen = {row for half in halves for row in half}
    return [row for row in every if row in chosen]


async def judge(context: RunContext, row: Row) -> Response | Failed:
    """What the judge's model says that an answer does, or why it says nothing."""
    [score] = await context.panel.grade(row.context)
    return score.response or Failed(f"{score.state}, {score.reason}")


def prompt_hash(context: RunContext) -> str:
    """A hash of the rubric in both languages, so that verdicts of an earlier prompt are known as such."""
    grading = context.grading
    return fingerprint(*(grading.frame.task(language, grading.rubrics, alone=True) for language in LANGUAGES))


def lines(every: Sequence[Row], verdicts: Mapping[str, Response]) -> Iterator[str]:
    """The figures: accuracy by language and kind, then what is said of ordinary lines."""
    kinds = list(RIGHT)
    yield f"{'':10}{'rows':>5}{'right':>7}" + "".join(f"{kind:>8}" for kind in kinds)
    for language in LANGUAGES:
        own = [row for row in every if row.language == language and row.kind and row.name in verdicts]
        right = Counter(row.kind for row in own if verdicts[row.name] in RIGHT[row.kind])
        of = Counter(row.kind for row in own)
        share = sum(right.values()) / len(own) if own else 0.0
        yield f"{language:10}{len(own):5}{share:7.3f}" + "".join(f"{right[k]:5}/{of[k]:<2}" for k in kinds)
    for language in LANGUAGES:
        own = [row for row in every if row.language == language and not row.kind and row.name in verdicts]
        said = Counter(verdicts[row.name] for row in own)
        amiss = sum(said[response] for response in AMISS)
        listed = ", ".join(f"{response} {n}" for response, n in said.most_common())
        per = 100 * amiss / len(own) if own else 0.0
        what = f"{amiss} of {len(own)} false refusals and handovers, {per:.1f} in 100"
        yield f"{language} ordinary lines: {what} ({listed})"
    yield f"{sum(row.name in verdicts for row in every)} of {len(every)} rows graded"


def mistakes(every: Sequence[Row], verdicts: Mapping[str, Response]) -> Iterator[str]:
    """The rows of which the judge says another thing, with both."""
    for row in every:
        said = verdicts.get(row.name)
        if said and (said not in RIGHT[row.kind] if row.kind else said in AMISS):
            yield f"    {row.kind or '-'} {said}: {row.question} || {row.answer}"


BENCH = Readings(
    module="responses",
    title="judge of turns",
    recorded=RECORDED,
    judges=[TURN],
    name=lambda row: row.name,
    prompt=prompt_hash,
    judge=judge,
    lines=lines,
    mistakes=mistakes,
    half=part_of,
)


def main(arguments: Sequence[str] = ()) -> None:
    """Asks the model if there is one, else counts the recorded verdicts."""
    parser = BENCH.parser()
    parser.add_argument("--lines", type=Path, default=DATA / "humans", help="folder of the desks' dialogues")
    parser.add_argument("--small", action="store_true", help="with the short prompt for small models")
    options = parser.parse_args(arguments)
    every = rows_of(options.lines)
    if not any(not row.kind for row in every):
        print(f"no dialogues of desks in {options.lines}: their lines are left out (--lines FOLDER)")
    judging = "small" if options.small else "separate"
    every = [row for row in every if options.lang in (None, row.language)]
    BENCH.run(every, options, BENCH.settings(options, judging=judging))


if __name__ == "__main__":
    main(sys.argv[1:])
