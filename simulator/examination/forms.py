"""What the models are sent, and the forms they fill in: reasons first, verdict last, all sealed."""

from pathlib import Path
from typing import Literal

from simulator.core import replies
from simulator.core.replies import Reply
from simulator.core.templates import check_languages, fingerprint, quote, read_toml, render
from simulator.core.types import Language
from simulator.examination.crossing import FollowUp, Outcome, Target, Verdict
from simulator.models.client import Messages
from simulator.text.entity_meaning import half_width
from simulator.text.typography import straight

FILE = Path(__file__).with_name("prompts.toml")
LONGEST_SAID = 4000
_VARIABLES: dict[str, set[str]] = {
    "examiner_system": set(),
    "examiner": {"history", "question", "answer", "count", "form"},
    "comparer_system": set(),
    "comparer": {"history", "question", "answer", "claim", "followup", "later", "form"},
    "again": {"problem"},
}
_QUOTATION = "\"'「」『』"


class Asked(Reply):
    """One follow-up question, and the words of the answer that it comes from."""

    claim: str
    question: str


class Questions(Reply):
    """What the examiner fills in."""

    thoughts: str
    questions: list[Asked]


class Comparison(Reply):
    """What the comparer fills in."""

    reasoning: str
    first_quote: str
    later_quote: str
    verdict: Literal["consistent", "contradicts", "corrects", "evades"]


class Prompts:
    """prompts.toml, checked when it is read."""

    def __init__(self, path: Path = FILE) -> None:
        self._tables = read_toml(path)
        check_languages(path, self._tables, _VARIABLES)

    def again(self, language: Language, problem: str) -> str:
        """What is said to a model whose reply could not be read."""
        return render(self._tables[language]["again"], problem=problem)

    def examiner(self, target: Target, count: int) -> Messages:
        """The order to write follow-up questions about one answer."""
        fields = self._tables[target.talk.case.language]["fields"]
        form = _form({"thoughts": fields["thoughts"]}, fields)
        return self._messages("examiner", target, {}, count=str(count), form=form)

    def comparer(self, target: Target, asked: FollowUp, later: str) -> Messages:
        """The order to compare the answer with the one that a follow-up question got."""
        fields = self._tables[target.talk.case.language]["fields"]
        keys = ("reasoning", "first_quote", "later_quote", "verdict")
        form = replies.skeleton({key: ("text", str(fields[key])) for key in keys})
        said = {"claim": asked.claim, "followup": asked.question, "later": later}
        return self._messages("comparer", target, said, form=form)

    def fingerprint(self) -> str:
        """Changes whenever a word that the models read changes."""
        return fingerprint(repr(self._tables))

    def _messages(self, order: str, target: Target, said: dict[str, str], **plain: str) -> Messages:
        """The material under tags whose codes depend on all of it, so that nothing quoted can forge one."""
        language = target.talk.case.language
        lines = _before(target)
        said = {"question": target.turn.user, "answer": target.turn.answer.text, **said}
        seal = fingerprint(*(text for line in lines for text in line), *said.values())
        shown = {key: quote(key, text[:LONGEST_SAID], seal) for key, text in said.items()}
        history = "\n".join(quote(who, text, f"{seal}{at}") for at, (who, text) in enumerate(lines)) or "-"
        system = render(self._tables[language][f"{order}_system"])
        asked = render(self._tables[language][order], history=history, **shown, **plain)
        return [{"role": "system", "content": system}, {"role": "user", "content": asked}]


def follow_ups(reply: Questions, answer: str, count: int) -> tuple[FollowUp, ...]:
    """The usable questions: asked about words that stand in the answer, none twice."""
    found: dict[str, FollowUp] = {}
    for each in reply.questions:
        asked, claim = each.question.strip(), verbatim(each.claim, answer)
        if asked and claim and len(asked) <= LONGEST_SAID:
            found.setdefault(asked, FollowUp(claim=claim, question=asked))
    return tuple(found.values())[:count]


def verdict_of(reply: Comparison, first: str, later: str) -> Verdict:
    """The verdict with its quotes; one that rests on words which nobody said is not counted."""
    here, there = verbatim(reply.first_quote, first), verbatim(reply.later_quote, later)
    outcome: Outcome = reply.verdict
    if outcome in ("contradicts", "corrects") and not (here and there):
        outcome = "unproven"
    return Verdict(outcome=outcome, first_quote=here, later_quote=there, reason=reply.reasoning.strip())


def verbatim(quoted: str, text: str) -> str:
    """The quoted words as they stand in the text; '' when they do not. Spaces and width are free."""
    wanted = _letters(straight(quoted).strip().strip(_QUOTATION))
    there = _letters(text)
    sought = "".join(letter for letter, _ in wanted)
    place = "".join(letter for letter, _ in there).find(sought) if sought else -1
    if place < 0:
        return ""
    return text[there[place][1] : there[place + len(sought) - 1][1] + 1].strip()


def _letters(text: str) -> list[tuple[str, int]]:
    """The letters of a text that are no space, plain and in lower case, and where they stand."""
    lower = ((letter.lower(), at) for at, letter in enumerate(half_width(text)) if not letter.isspace())
    return [(letter if len(letter) == 1 else letter[0], at) for letter, at in lower]


def _before(target: Target) -> list[tuple[str, str]]:
    who = {"user": "customer", "assistant": "desk"}
    lines = [(who[message.role], message.content) for message in target.talk.case.history]
    for turn in target.earlier:
        lines += [("customer", turn.user), ("desk", turn.answer.text)]
    return [(who, text[:LONGEST_SAID]) for who, text in lines]


def _form(first: dict[str, str], fields: dict[str, str]) -> str:
    """The examiner's form: a list of claims with questions has no kind of its own."""
    head = replies.skeleton({key: ("text", text) for key, text in first.items()}).rstrip().removesuffix("}")
    one = replies.skeleton({key: ("text", str(fields[key])) for key in ("claim", "question")}).strip()
    return f'{head.rstrip().rstrip(",")},\n  "questions": [{" ".join(one.split())}]\n}}'
