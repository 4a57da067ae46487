"""What a run will take, estimated from the real prompts and questions before anything is paid."""

import math
import re
from collections.abc import Sequence

from simulator.rubrics import Rubric
from simulator.spending import cost_usd
from simulator.stage import Stage
from simulator.types import Answer, Conversation, Exhibit, Passage, Role, Spending, Turn, Usage

# What has not been said yet is taken to be this long: (Japanese, English) characters.
ANSWER = {"ja": 160, "en": 420}
PASSAGE = {"ja": 300, "en": 700}
PASSAGES = 4
LINE = {"ja": 40, "en": 80}
# Tokens a filled-in form takes, beside the words of the customer.
GRADES, GRADE, LEAVING = 420, 90, 40

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]")


def tokens(text: str) -> int:
    """A rough count without a tokenizer: 1.1 characters a token in Japanese, 4 in English."""
    cjk = len(_CJK.findall(text))
    return math.ceil(cjk / 1.1 + (len(text) - cjk) / 4)


def forecast(stage: Stage, plan: Sequence[Conversation]) -> dict[Role, Spending]:
    """Calls, tokens and dollars per role, if every conversation takes all its turns."""
    totals: dict[Role, list[int]] = {}
    for conversation in plan:
        for role, calls, each_in, each_out in _conversation(stage, conversation):
            total = totals.setdefault(role, [0, 0, 0])
            for position, amount in enumerate((calls, calls * each_in, calls * each_out)):
                total[position] += amount
    return {role: _spending(stage, role, *amounts) for role, amounts in totals.items()}


def _spending(stage: Stage, role: Role, calls: int, tokens_in: int, tokens_out: int) -> Spending:
    endpoint = stage.endpoints[role]
    usage = Usage(model=endpoint.model if endpoint else "", tokens_in=tokens_in, tokens_out=tokens_out)
    return Spending(
        calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost_usd(usage) if endpoint else 0.0
    )


def _conversation(stage: Stage, talk: Conversation) -> list[tuple[Role, int, int, int]]:
    """(role, calls, tokens in per call, tokens out per call); the middle turn stands for all."""
    language = talk.case.language
    turns, plays = stage.turns(talk)
    found: list[tuple[Role, int, int, int]] = []
    said, answered = tokens("あ" * LINE["ja"]), tokens("あ" * ANSWER["ja"])
    if language == "en":
        said, answered = tokens("a" * LINE["en"]), tokens("a" * ANSWER["en"])
    middle = (turns + 1) / 2 * (said + answered)
    if stage.endpoints["user"] and plays:
        system = stage.prompts.text(language, "system", **_blank(stage, talk))
        found.append(("user", turns, int(tokens(system) + middle), said + LEAVING))
        if stage.settings.voice_opening:
            asked = stage.openings.messages(talk.case, stage.personas[talk.persona])
            found.append(("user", 1, sum(tokens(m["content"]) for m in asked), said + LEAVING))
    if stage.endpoints["demo"] and stage.settings.adapter == "demo":
        retrieved = PASSAGES * tokens(("あ" if language == "ja" else "a") * PASSAGE[language])
        found.append(("demo", turns, int(retrieved + middle + 200), answered))
    if stage.endpoints["judge"]:
        found += [("judge", turns, int(size + middle), out) for size, out in _grading(stage, talk)]
    if stage.endpoints["embed"] and "cosine" in stage.judges:
        graded = sum(bool(talk.case.references_at(turn)) for turn in range(1, turns + 1))
        found.append(("embed", graded, 2 * answered, 0))
    return found


def _blank(stage: Stage, talk: Conversation) -> dict[str, str]:
    persona = stage.personas[talk.persona].speaks(talk.case.language)
    return {
        "name": persona.name,
        "voice": persona.voice,
        "knows": "".join(persona.knows),
        "unknown": "".join(persona.unknown),
        "question": talk.case.question,
        "goal": talk.case.goal or talk.case.question,
        "turns_left": "1",
        "form": stage.prompts.form(talk.case.language),
    }


def _grading(stage: Stage, talk: Conversation) -> list[tuple[int, int]]:
    """(tokens in, tokens out) of each judge call of a turn."""
    rubrics = [judge for judge in stage.judges.values() if isinstance(judge, Rubric)]
    language = talk.case.language
    letter = "あ" if language == "ja" else "a"
    passages = tuple(Passage(id=str(n), text=letter * PASSAGE[language]) for n in range(PASSAGES))
    turn = Turn(
        index=1, user=talk.case.question, answer=Answer(text=letter * ANSWER[language], passages=passages)
    )
    exhibit = Exhibit(conversation=talk.id, case=talk.case, persona=talk.persona, turn=turn)

    def size(asked: Sequence[Rubric], *, alone: bool) -> int:
        return sum(tokens(m["content"]) for m in stage.frame.prompt(exhibit, asked, alone=alone))

    if stage.settings.judging == "combined" and len(rubrics) > 1:
        return [(size(rubrics, alone=False), GRADES + GRADE * (len(rubrics) - 1))]
    return [(size([r], alone=True), GRADES if r.name == "turn" else GRADE) for r in rubrics]
