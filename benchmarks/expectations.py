"""`make bench-expectations`: whether the judge says rightly what became of each sentence that is expected.

    python -m benchmarks.expectations [--part a|b] [--lang ja|en] [--record FILE] [--show]

40 dialogues of support desks a language (expectation_rows/), with three sentences each, whose outcome follows
from how the dialogue was written: met, not met, or not come up; of them 18 a language forbid something. Each
dialogue is one real prompt of the judge `expectations`, with `conversation` in the same call, as in a run.
Without an endpoint the verdicts in benchmarks/expectation_verdicts.json are counted, which readers gave in
the model's place.
"""

import asyncio
import random
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.records import read_record, write_record
from simulator.core.concurrency import for_each
from simulator.core.roles import endpoints
from simulator.core.settings import Settings, load_settings
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
from simulator.models.pricing import Ledger
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


async def ask(settings: Settings, asked: Sequence[Dialogue], keep: Callable[[str, Any], None]) -> None:
    """Asks the judge's model about each dialogue; `keep` gets the verdicts by name, and failures are told."""
    context = RunContext(settings, endpoints(settings), (), Ledger.of(settings))

    async def grade(dialogue: Dialogue) -> None:
        scores = {score.judge: score for score in await context.panel.grade(dialogue.context)}
        score = scores[EXPECTATIONS]
        keys = "state", "quote", "why"
        said = {row["sentence"]: {key: row[key] for key in keys} for row in verdicts_on(score)}
        if said:
            keep(dialogue.name, said)
        else:
            print(f"{dialogue.name}: {score.state}, {score.reason}", file=sys.stderr)

    try:
        await for_each(asked, grade, settings.calls)
    finally:
        await context.close(None)


def prompt_hash(settings: Settings) -> str:
    """A hash of the prompt in both languages, so that verdicts of an earlier one are known as such."""
    grading = RunContext(settings, endpoints(settings), (), Ledger.of(settings)).grading
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


def main(arguments: Sequence[str] = ()) -> None:
    """Asks the model if there is one, else counts the recorded verdicts."""
    parser = ArgumentParser(prog="python -m benchmarks.expectations")
    parser.add_argument("--judge-model", help="model that grades")
    parser.add_argument("--part", choices=("a", "b"), help="only this half of the dialogues")
    parser.add_argument("--lang", choices=LANGUAGES, help="only this language")
    parser.add_argument("--record", type=Path, help="add the verdicts to this file")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for a reply")
    parser.add_argument("--show", action="store_true", help="print the sentences that went wrong")
    options = parser.parse_args(arguments)
    settings = load_settings(
        {
            "judges": [CONVERSATION, EXPECTATIONS],
            "judge_model": options.judge_model,
            "timeout": options.timeout,
            "cache": "off",
        }
    )
    every = [
        dialogue
        for language in LANGUAGES
        if options.lang in (None, language)
        for dialogue in dialogues(language)
    ]
    asked = every["ab".index(options.part) :: 2] if options.part else every
    digits = prompt_hash(settings)
    if endpoint := endpoints(settings)["judge"]:
        file = read_record(options.record, digits) if options.record else {}
        verdicts: Verdicts = file.get("verdicts", {})

        def keep(name: str, said: Any) -> None:
            verdicts[name] = said
            if options.record:
                body = {"prompt": digits, "judge": endpoint.model, "verdicts": verdicts}
                write_record(options.record, body)

        print(f"judge of what is expected: {endpoint.model}\n")
        asyncio.run(ask(settings, [dialogue for dialogue in asked if dialogue.name not in verdicts], keep))
        _print(asked, verdicts, show=options.show)
        return
    readers = read_record(options.record or RECORDED)
    if not readers:
        print("no verdicts: name an endpoint of a model (OPENAI_BASE_URL, OPENAI_API_KEY)")
    # The file of the readers has the verdicts of each; that of a run, those of one judge.
    for name, file in (
        (readers.get("readers") or {readers.get("judge", "nobody"): readers}).items() if readers else ()
    ):
        note = "" if readers.get("prompt") == digits else ", with an earlier prompt"
        print(f"judge of what is expected: {name}, recorded{note}\n")
        own = [dialogue for dialogue in asked if dialogue.name in file["verdicts"]]
        _print(own, file["verdicts"], show=options.show)


def _print(asked: Sequence[Dialogue], verdicts: Verdicts, *, show: bool) -> None:
    print("\n".join(lines(asked, verdicts)) + "\n")
    if show:
        print("\n".join(mistakes(asked, verdicts)))


if __name__ == "__main__":
    main(sys.argv[1:])
