"""The sentences of evidence (blame.toml) for a support lead, in the language of the case."""

from collections.abc import Sequence
from pathlib import Path

from simulator.core.templates import Texts
from simulator.diagnosis.evidence import RedTurnEvidence, article_of, references_of
from simulator.text.acts import claims
from simulator.text.evidence import topic_units, total_weight
from simulator.text.numerals import Quantity, quantities
from simulator.text.wording import quoted

TEXTS = Texts(Path(__file__).with_name("blame.toml"))
NAMED = 2
# From this recall on, another amount stands in the same sentence as the right one.
OF_THE_SAME = 0.4


def say(look: RedTurnEvidence, key: str, /, **values: str) -> str:
    """A sentence of blame.toml."""
    return TEXTS(look.language, key, **values).strip()


def answer(look: RedTurnEvidence) -> str:
    """What the answer states first, in quotation marks."""
    stated = claims(look.turn.answer.text, look.language)
    return say(look, "quote", text=quoted(stated[0] if stated else look.turn.answer.text))


def article(look: RedTurnEvidence) -> str:
    """The needed articles by title and id; at most two."""
    articles = look.need.articles
    if look.need.place == "retrieved":
        ids = {article_of(passage.id) for passage in look.turn.answer.passages}
        articles = tuple(each for each in articles if each in ids) or articles
    names = [article_name(look, each) for each in articles[:NAMED]]
    return TEXTS(look.language, "and").join(names) or say(look, "some_article")


def article_name(look: RedTurnEvidence, article_id: str) -> str:
    """One article by title and id."""
    title = look.title(article_id)
    return say(look, "article", title=title, id=article_id) if title else say(look, "untitled", id=article_id)


def unsupported(look: RedTurnEvidence) -> str:
    """The gravest unsupported statement."""
    first = look.unsupported[0]
    values = {"quote": say(look, "quote", text=quoted(first.text))}
    if first.key == "numbers":
        values["numbers"] = _listed(look, first.numbers)
    return say(look, first.key, **values)


def ignored(look: RedTurnEvidence) -> str:
    """Which part of the needed article the answer leaves out, or says otherwise."""
    agreement = look.agreement
    if len(agreement.instead) == len(agreement.numbers) == 1 and agreement.recall >= OF_THE_SAME:
        right, wrong = (each[0].shown(look.language) for each in (agreement.numbers, agreement.instead))
        return say(look, "ignored_instead", article=article(look), right=right, wrong=wrong)
    if need := missing_part(look):
        return say(look, "ignored", article=article(look), need=need)
    return say(look, "ignored_plain", article=article(look))


def cut_off(look: RedTurnEvidence) -> str:
    """Which part of the needed article did not come, although another part of it did."""
    if need := missing_part(look):
        return say(look, "retrieval_cut", article=article(look), need=need)
    return say(look, "retrieval_cut_plain", article=article(look))


def right_answer(look: RedTurnEvidence) -> str:
    """The right answer in quotation marks, shortened; empty if none is known."""
    return "".join(say(look, "quote", text=quoted(each)) for each in references_of(look.context)[:1])


def missing_part(look: RedTurnEvidence) -> str:
    """The part of the right answer that is missing: its weightiest clause, or its numbers."""
    agreement = look.agreement
    if agreement.missing:
        weightiest = max(
            agreement.missing, key=lambda text: (bool(quantities(text)), total_weight(topic_units(text)))
        )
        return say(look, "quote", text=quoted(weightiest))
    return _listed(look, agreement.numbers)


def answer_instead(look: RedTurnEvidence) -> str:
    """What the bot said although it lacked the article; empty if it declined."""
    if look.reading.refused:
        return ""
    return unsupported(look) if look.unsupported else say(look, "instead", quote=answer(look))


def joined(look: RedTurnEvidence, *sentences: str) -> str:
    """The sentences that are not empty, spaced as in the language."""
    return ("" if look.language == "ja" else " ").join(filter(None, sentences))


def _listed(look: RedTurnEvidence, numbers: Sequence[Quantity]) -> str:
    """At most three numbers, as a list."""
    joint = "、" if look.language == "ja" else ", "
    return joint.join(number.shown(look.language) for number in numbers[:3])
