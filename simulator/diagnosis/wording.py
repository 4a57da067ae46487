"""What the evidence for a support lead says of the answer and of the article that it needed."""

from collections.abc import Sequence

from simulator.core.document import Text
from simulator.core.messages import Message, _
from simulator.diagnosis.evidence import RedTurnEvidence, article_of, references_of
from simulator.text.acts import claims
from simulator.text.evidence import topic_units, total_weight
from simulator.text.numerals import Quantity, quantities
from simulator.text.wording import quoted

NAMED = 2
# From this recall on, another amount stands in the same sentence as the right one.
OF_THE_SAME = 0.4


def quote(text: str) -> Message:
    """A text in quotation marks, shortened."""
    return _('"{text}"', text=quoted(text))


def answer(look: RedTurnEvidence) -> Message:
    """What the answer states first, in quotation marks."""
    stated = claims(look.turn.answer.text, look.language)
    return quote(stated[0] if stated else look.turn.answer.text)


def article(look: RedTurnEvidence) -> Message:
    """The needed articles by title and id; at most two."""
    articles = look.need.articles
    if look.need.place == "retrieved":
        ids = {article_of(passage.id) for passage in look.turn.answer.passages}
        articles = tuple(each for each in articles if each in ids) or articles
    names = [article_name(look, each) for each in articles[:NAMED]]
    if len(names) > 1:
        return _("{one} and {other}", one=names[0], other=names[1])
    return names[0] if names else _("The needed article")


def article_name(look: RedTurnEvidence, article_id: str) -> Message:
    """One article by title and id."""
    if title := look.title(article_id):
        return _('"{title}" ({id})', title=title, id=article_id)
    return _("Passage {id}", id=article_id)


def unsupported(look: RedTurnEvidence) -> Message:
    """The gravest unsupported statement."""
    first = look.unsupported[0]
    text = quote(first.text)
    if first.kind == "contradicted":
        return _("The answer contradicts the retrieved passages: {quote}", quote=text)
    if first.kind == "numbers":
        numbers = _listed(look, first.numbers)
        return _(
            "The answer gives figures that are in no retrieved passage ({numbers}): {quote}",
            numbers=numbers,
            quote=text,
        )
    return _("The answer states what is in no retrieved passage: {quote}", quote=text)


def ignored(look: RedTurnEvidence) -> Message:
    """Which part of the needed article the answer leaves out, or says otherwise."""
    agreement, name = look.agreement, article(look)
    if len(agreement.instead) == len(agreement.numbers) == 1 and agreement.recall >= OF_THE_SAME:
        right, wrong = (each[0].shown(look.language) for each in (agreement.numbers, agreement.instead))
        return _(
            'The search found {article}, but the answer says "{wrong}" where "{right}" is right.',
            article=name,
            right=right,
            wrong=wrong,
        )
    if need := missing_part(look):
        return _(
            "The search found {article}, but the answer leaves out what it says ({need}).",
            article=name,
            need=need,
        )
    return _("The search found {article}, but the answer makes no use of it.", article=name)


def cut_off(look: RedTurnEvidence) -> Message:
    """Which part of the needed article did not come, although another part of it did."""
    if need := missing_part(look):
        return _(
            "A piece of {article} was retrieved, but not the one with the answer ({need}):"
            " articles are cut in the wrong places.",
            article=article(look),
            need=need,
        )
    return _(
        "A piece of {article} was retrieved, but not the one with the answer:"
        " articles are cut in the wrong places.",
        article=article(look),
    )


def right_answer(look: RedTurnEvidence) -> Text:
    """The right answer in quotation marks, shortened; empty if none is known."""
    return next(map(quote, references_of(look.context)), "")


def missing_part(look: RedTurnEvidence) -> Message | None:
    """The part of the right answer that is missing: its weightiest clause, or its numbers."""
    agreement = look.agreement
    if agreement.missing:
        weightiest = max(
            agreement.missing, key=lambda text: (bool(quantities(text)), total_weight(topic_units(text)))
        )
        return quote(weightiest)
    return _("{parts}", parts=_listed(look, agreement.numbers)) if agreement.numbers else None


def answer_instead(look: RedTurnEvidence) -> Message | None:
    """What the bot said although it lacked the article; None if it declined."""
    if look.reading.refused:
        return None
    return unsupported(look) if look.unsupported else _("The bot said {quote} instead.", quote=answer(look))


def _listed(look: RedTurnEvidence, numbers: Sequence[Quantity]) -> tuple[str, ...]:
    """At most three numbers."""
    return tuple(number.shown(look.language) for number in numbers[:3])
