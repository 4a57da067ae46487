"""A cross-examination by rule, where there is no model: it quotes the bot's own figures back, and counts.

It asks about amounts, dates and yes or no as they stand in an answer, and compares by them; it understands
nothing else. The same answers always give the same questions and verdicts.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.types import Language
from simulator.examination.crossing import FollowUp, Outcome, Target, Verdict
from simulator.examination.disagreements import Disagreement, checkable, disagreement, takes_up, unit_of
from simulator.text.acts import claims, is_handover, is_refusal
from simulator.text.entities import Specific, located
from simulator.text.evidence import share, stated, topic_units
from simulator.text.segments import sentences
from simulator.text.typography import straight

TEXTS = Texts(Path(__file__).with_name("words.toml"))
# A quoted sentence is cut beyond so many characters.
LONGEST = {"ja": 60, "en": 140}
# A later answer that shares so much (0..1) of the topic of what was asked takes it up.
TAKEN_UP = 0.35
_ADMITS = re.compile(
    r"訂正|先ほど(?:の|は)[^。]{0,20}(?:誤|間違)|誤ったご案内|誤りでした|間違いでした|正しくは|失礼いたしました"
    r"|\b(?:correct myself|my mistake|i was wrong|that was (?:wrong|incorrect)|sorry for the mistake)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\s*(?:いいえ|いえ、|no\b(?=[,.]| ))", re.IGNORECASE)
_IS_NOT = r"\s*(?:(?:で|じゃ)は(?:なく|ありません|ない|ございません)|じゃない)"
_ENDS = "。.．!！?？ 　"


def follow_ups(target: Target, count: int) -> tuple[FollowUp, ...]:
    """Questions about the figures of an answer, then about what it says is not so."""
    answer, language = target.turn.answer.text, target.talk.case.language
    asked = (*_by_figure(answer, language), *_by_denial(answer, language)) or _by_claim(answer, language)
    found = {each.question: each for each in asked}
    return tuple(found.values())[:count]


def compare(target: Target, asked: FollowUp, later: str) -> Verdict:
    """How the later answer goes with the claim: by its figures, by yes and no, or not at all."""
    language = target.talk.case.language
    # An admission is told apart from what is then said.
    admits = [bool(_ADMITS.search(sentence)) for sentence in sentences(later)]
    said = "\n".join(
        _ADMITS.sub("", sentence).lstrip("、。, ") if admitted else sentence
        for sentence, admitted in zip(sentences(later), admits, strict=True)
        if not admitted or checkable(sentence)
    )
    if found := disagreement(asked.claim, said) or _replied(asked, said):
        outcome: Outcome = "corrects" if any(admits) else "contradicts"
        key = "other_figure" if found.what == "detail" else "other_side"
        reason = TEXTS(language, key, one=found.details[0], other=found.details[1])
        return Verdict(outcome=outcome, first_quote=found.one, later_quote=found.other, reason=reason)
    repeated = next((each for each in checkable(asked.claim) if located(each, (later,)) is not None), None)
    if repeated:
        reason = TEXTS(language, "same_figure", one=repeated.text)
        return Verdict(outcome="consistent", first_quote=asked.claim, reason=reason)
    refuses = is_refusal(later, language) or is_handover(later, language)
    if refuses or share(topic_units(asked.claim), topic_units(later)) < TAKEN_UP:
        return Verdict(outcome="evades", first_quote=asked.claim, reason=TEXTS(language, "not_taken_up"))
    return Verdict(outcome="consistent", first_quote=asked.claim, reason=TEXTS(language, "nothing_against"))


def _replied(asked: FollowUp, later: str) -> Disagreement | None:
    """What only a reply can say: いいえ, "not 9,500 yen", or a short answer with another figure."""
    mine = checkable(asked.claim)
    said = sentences(later)
    figure = next((each.text for each in mine if each.text in asked.question), "")
    told = re.escape(straight(figure))
    denied = figure and re.search(f"{told}{_IS_NOT}|\\bnot {told}", straight(later), re.IGNORECASE)
    if said and figure and (denied or _NO.match(later)):
        quote = next((each for each in said if figure in each), said[0]) if denied else said[0]
        return Disagreement(what="polarity", one=asked.claim, other=quote)
    units = {unit_of(each) for each in mine if located(each, (later,)) is None}
    units -= {unit_of(each) for each in mine if located(each, (later,)) is not None}
    for sentence in said:
        other = next((each for each in checkable(sentence) if unit_of(each) in units), None)
        if other and takes_up(sentence, asked.claim):
            first = next(each for each in mine if unit_of(each) == unit_of(other))
            return Disagreement(
                what="detail", one=asked.claim, other=sentence, details=(first.text, other.text)
            )
    return None


def _by_figure(answer: str, language: Language) -> Iterator[FollowUp]:
    """The sentence of a figure quoted back; a figure of each kind first."""
    told = [(each, sentence) for sentence in sentences(answer) for each in checkable(sentence)]
    kinds: set[str] = set()
    for first in (True, False):
        for figure, sentence in told:
            if first == (figure.kind not in kinds):
                kinds.add(figure.kind)
                yield FollowUp(claim=sentence, question=_question(figure, sentence, language))


def _by_denial(answer: str, language: Language) -> Iterator[FollowUp]:
    for clause in stated(answer):
        if clause.denies:
            question = TEXTS(language, "ask_denied", claim=_short(clause.text, language))
            yield FollowUp(claim=clause.text, question=question)


def _by_claim(answer: str, language: Language) -> tuple[FollowUp, ...]:
    """The first thing that an answer without figures and denials says is so."""
    told = claims(answer, language)[:1]
    return tuple(
        FollowUp(claim=each, question=TEXTS(language, "ask_claim", claim=_short(each, language)))
        for each in told
    )


def _question(figure: Specific, sentence: str, language: Language) -> str:
    return TEXTS(language, f"ask_{figure.kind}", claim=_short(sentence, language), figure=figure.text)


def _short(sentence: str, language: Language) -> str:
    bare = sentence.strip().rstrip(_ENDS)
    longest = LONGEST[language]
    return bare if len(bare) <= longest else bare[:longest].rstrip() + "…"
