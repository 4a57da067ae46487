"""`make bench-expectations`: whether the judge says rightly what became of each sentence that is expected.

    python -m benchmarks.expectations [--part a|b] [--lang ja|en] [--record FILE] [--show]

40 dialogues of support desks a language (expectation_rows/), with three sentences each, whose outcome follows
from how the dialogue was written: met, not met, or not come up; of them 18 a language forbid something. Each
dialogue is one real prompt of the judge `expectations`, with `conversation` in the same call, as in a run.
Without an endpoint the verdicts in benchmarks/expectation_verdicts.json are counted, which readers gave in
the model's place.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.readings import Failed, Readings
from simulator.core.templates import LANGUAGES, fingerprint
from simulator.core.types import (
    CONVERSATION,
    EXPECTATIONS,
    Answer,
    Case,
    GradingContext,
    Language,
    Turn,
)
from simulator.results.red import OUTCOMES, verdicts_on
from simulator.runner.context import RunContext

HERE = Path(__file__).parent
ROWS, RECORDED = HERE / "expectation_rows", HERE / "expectation_verdicts.json"
# The first letter of a sentence's line, and what became of it.
STATES: Mapping[str, str] = {"+": "met", "-": "unmet", "?": "open"}
SEED = 20261129
# What a reader says of the sentences of a dialogue, by the sentence.
Verdicts = dict[str, dict[str, dict[str, str]]]


class Sentence(NamedTuple):
    """What is expected, what became of it, and whether it forbids something."""

    text: str
    state: str
    forbids: bool


class Dialogue(NamedTuple):
    """A dialogue in turns of the customer's line and the answer, with what is expected of the desk in it."""

    language: Language
    turns: tuple[tuple[str, str], ...]
    sentences: tuple[Sentence, ...]

    @property
    def name(self) -> str:
        """The name of its verdicts."""
        return fingerprint(self.language, *(text for turn in self.turns for text in turn), *self.expected)

    @property
    def expected(self) -> tuple[str, ...]:
        """What is expected, as a question file says it."""
        return tuple(sentence.text for sentence in self.sentences)

    @property
    def context(self) -> GradingContext:
        """The dialogue as the judge of the whole sees it: without references and passages."""
        case = Case(id="row", question=self.turns[0][0], language=self.language, expect=self.expected)
        *earlier, last = (
            Turn(index=index, user=user, answer=Answer(text=text, shows_passages=False))
            for index, (user, text) in enumerate(self.turns, 1)
        )
        return GradingContext(
            conversation=f"plain/{self.name}#1",
            case=case,
            persona="plain",
            turn=last,
            earlier=tuple(earlier),
            closing="",
        )


def dialogues(language: Language) -> list[Dialogue]:
    """All of a language, in an order drawn by lot, each with its sentences in such an order, too."""
    lot = random.Random(SEED)
    text = (ROWS / f"{language}.txt").read_text(encoding="utf-8")
    read = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        said = [line[2:] for line in lines if line.startswith(("c ", "d "))]
        sentences = [
            Sentence(line[2:].strip(), STATES[line[0]], line[1] == "!") for line in lines if line[0] in STATES
        ]
        turns = tuple(zip(said[::2], said[1::2], strict=True))
        read.append(Dialogue(language, turns, tuple(lot.sample(sentences, len(sentences)))))
    return lot.sample(read, len(read))


async def judge(context: RunContext, dialogue: Dialogue) -> dict[str, dict[str, str]] | Failed:
    """What the judge's model says of each sentence, or why it says nothing."""
    scores = {score.judge: score for score in await context.panel.grade(dialogue.context)}
    score = scores[EXPECTATIONS]
    keys = "state", "quote", "why"
    said = {row["sentence"]: {key: row[key] for key in keys} for row in verdicts_on(score)}
    return said or Failed(f"{score.state}, {score.reason}")


def prompt_hash(context: RunContext) -> str:
    """A hash of the prompt in both languages, so that verdicts of an earlier one are known as such."""
    grading = context.grading
    [rubrics] = grading.conversation_rubrics
    return fingerprint(*(grading.frame.task(language, rubrics, alone=False) for language in LANGUAGES))


def lines(every: Sequence[Dialogue], verdicts: Verdicts) -> Iterator[str]:
    """The figures: the share that was judged rightly by language, by outcome, and of what forbids."""
    head = "".join(f"{state:>10}" for state in OUTCOMES)
    yield f"{'':10}{'sentences':>10}{'right':>7}{head}{'forbids':>10}{'no verdict':>12}"
    for language in dict.fromkeys(dialogue.language for dialogue in every):
        graded = [
            dialogue for dialogue in every if dialogue.language == language and dialogue.name in verdicts
        ]
        pairs = [
            (sentence, verdicts[dialogue.name].get(sentence.text, {}).get("state", ""))
            for dialogue in graded
            for sentence in dialogue.sentences
        ]
        right = [sentence for sentence, state in pairs if state == sentence.state]
        share = len(right) / len(pairs) if pairs else 0.0
        of, got = Counter(s.state for s, _state in pairs), Counter(s.state for s in right)
        by_state = "".join(f"{f'{got[state]}/{of[state]}':>10}" for state in OUTCOMES)
        forbids = f"{sum(s.forbids for s in right)}/{sum(s.forbids for s, _state in pairs)}"
        missing = sum(not state for _sentence, state in pairs)
        yield f"{language:10}{len(pairs):10}{share:7.3f}{by_state}{forbids:>10}{missing:12}"
    yield f"{sum(dialogue.name in verdicts for dialogue in every)} of {len(every)} dialogues graded"


def mistakes(every: Sequence[Dialogue], verdicts: Verdicts) -> Iterator[str]:
    """The sentences of which the judge says another thing, with both and its reason."""
    for dialogue in every:
        for sentence in dialogue.sentences if dialogue.name in verdicts else ():
            said = verdicts[dialogue.name].get(sentence.text, {})
            if said.get("state") != sentence.state:
                state, why = said.get("state", "no verdict"), said.get("why", "")
                yield f"    {sentence.state}, said {state}: {sentence.text} || {why} || {dialogue.turns}"


BENCH = Readings(
    module="expectations",
    title="judge of what is expected",
    recorded=RECORDED,
    judges=[CONVERSATION, EXPECTATIONS],
    name=lambda dialogue: dialogue.name,
    prompt=prompt_hash,
    judge=judge,
    lines=lines,
    mistakes=mistakes,
)


def main(arguments: Sequence[str] = ()) -> None:
    """Asks the model if there is one, else counts the recorded verdicts."""
    options = BENCH.parser().parse_args(arguments)
    every = [
        dialogue
        for language in LANGUAGES
        if options.lang in (None, language)
        for dialogue in dialogues(language)
    ]
    BENCH.run(every, options, BENCH.settings(options))


if __name__ == "__main__":
    main(sys.argv[1:])
