"""What a run will take, estimated from the real prompts and questions before anything is paid."""

import math
import re
from collections.abc import Sequence

from simulator.rubrics import Form
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
    totals: dict[tuple[Role, str], list[int]] = {}
    for conversation in plan:
        for role, calls, each_in, each_out in _conversation(stage, conversation):
            for model in _models(stage, role):
                total = totals.setdefault((role, model), [0, 0, 0])
                for position, amount in enumerate((calls, calls * each_in, calls * each_out)):
                    total[position] += amount
    roles = dict.fromkeys(role for role, _ in totals)
    return {
        role: _together([_spending(m, *t) for (r, m), t in totals.items() if r == role]) for role in roles
    }


def _models(stage: Stage, role: Role) -> list[str]:
    """The model of a role, and beside the judge's those of the panel."""
    endpoint = stage.endpoints[role]
    beside = [panelist.model for panelist in stage.grading.panelists] if role == "judge" else []
    return [endpoint.model if endpoint else "", *beside]


def _spending(model: str, calls: int, tokens_in: int, tokens_out: int) -> Spending:
    usage = Usage(model=model, tokens_in=tokens_in, tokens_out=tokens_out)
    return Spending(
        calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost_usd(usage) if model else 0.0
    )


def _together(spendings: Sequence[Spending]) -> Spending:
    costs = [each.cost_usd for each in spendings]
    return Spending(
        calls=sum(each.calls for each in spendings),
        tokens_in=sum(each.tokens_in for each in spendings),
        tokens_out=sum(each.tokens_out for each in spendings),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
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
        votes = stage.settings.votes
        found += [("judge", turns * votes, int(size + middle), out) for size, out in _grading(stage, talk)]
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
    rubrics, alone = stage.grading.rubrics, stage.grading.forms
    language = talk.case.language
    letter = "あ" if language == "ja" else "a"
    passages = tuple(Passage(id=str(n), text=letter * PASSAGE[language]) for n in range(PASSAGES))
    turn = Turn(
        index=1, user=talk.case.question, answer=Answer(text=letter * ANSWER[language], passages=passages)
    )
    exhibit = Exhibit(conversation=talk.id, case=talk.case, persona=talk.persona, turn=turn)

    def size(asked: Sequence[Form], *, alone: bool) -> int:
        return sum(tokens(m["content"]) for m in stage.grading.frame.prompt(exhibit, asked, alone=alone))

    filled = [(size([form], alone=True), GRADE) for form in alone]
    if stage.settings.judging == "combined" and len(rubrics) > 1:
        return [(size(rubrics, alone=False), GRADES + GRADE * (len(rubrics) - 1)), *filled]
    return [*((size([r], alone=True), GRADES if r.name == "turn" else GRADE) for r in rubrics), *filled]
