"""The evidence in words that a support lead understands, in the language of the case."""

from pathlib import Path

from simulator.core.templates import Texts
from simulator.diagnosis.evidence import Look, article_of, references_of
from simulator.text.acts import claims
from simulator.text.evidence import mass, topic_units
from simulator.text.numerals import quantities
from simulator.text.wording import quoted

TEXTS = Texts(Path(__file__).with_name("blame.toml"))
NAMED = 2
# From this recall on, another amount stands in the same sentence as the right one.
OF_THE_SAME = 0.4


def say(look: Look, key: str, /, **values: str) -> str:
    """A sentence of words.toml."""
    return TEXTS(look.language, key, **values).strip()


def quote(text: str) -> str:
    """A text short enough for a sentence."""
    return quoted(text)


def answer(look: Look) -> str:
    """What the answer states first, in quotation marks."""
    stated = claims(look.turn.answer.text, look.language)
    return say(look, "quote", text=quoted(stated[0] if stated else look.turn.answer.text))


def article(look: Look) -> str:
    """The needed articles by title and id; at most two."""
    articles = look.need.articles
    if look.need.place == "retrieved":
        ids = {article_of(passage.id) for passage in look.turn.answer.passages}
        articles = tuple(each for each in articles if each in ids) or articles
    shown = [named(look, each) for each in articles[:NAMED]]
    return TEXTS(look.language, "and").join(shown) or say(look, "some_article")


def named(look: Look, each: str) -> str:
    """One article by title and id."""
    title = look.title(each)
    return say(look, "article", title=title, id=each) if title else say(look, "untitled", id=each)


def unsupported(look: Look) -> str:
    """The gravest statement that nothing bears out."""
    first = look.unsupported[0]
    values = {"quote": say(look, "quote", text=quoted(first.text))}
    if first.key == "numbers":
        joint = "、" if look.language == "ja" else ", "
        values["numbers"] = joint.join(number.shown(look.language) for number in first.numbers[:3])
    return say(look, first.key, **values)


def ignored(look: Look) -> str:
    """Which part of the needed article the answer leaves out, or says otherwise."""
    said = look.agreement
    if len(said.instead) == len(said.numbers) == 1 and said.recall >= OF_THE_SAME:
        right, wrong = (each[0].shown(look.language) for each in (said.numbers, said.instead))
        return say(look, "ignored_instead", article=article(look), right=right, wrong=wrong)
    if need := unsaid(look):
        return say(look, "ignored", article=article(look), need=need)
    return say(look, "ignored_plain", article=article(look))


def cut_off(look: Look) -> str:
    """Which part of the needed article did not come, although another part of it did."""
    if need := unsaid(look):
        return say(look, "retrieval_cut", article=article(look), need=need)
    return say(look, "retrieval_cut_plain", article=article(look))


def needed(look: Look) -> str:
    """What the right answer says, shortened; empty where none is known."""
    return "".join(say(look, "quote", text=quoted(each)) for each in references_of(look.context)[:1])


def unsaid(look: Look) -> str:
    """What of the right answer is missing: its first clauses, or its numbers."""
    said = look.agreement
    if said.missing:
        weightiest = max(said.missing, key=lambda text: (bool(quantities(text)), mass(topic_units(text))))
        return say(look, "quote", text=quoted(weightiest))
    joint = "、" if look.language == "ja" else ", "
    return joint.join(number.shown(look.language) for number in said.numbers[:3])


def beside(look: Look) -> str:
    """What the bot said in place of the missing evidence; empty when it declined."""
    if look.reading.refused:
        return ""
    return unsupported(look) if look.unsupported else say(look, "instead", quote=answer(look))


def together(look: Look, *sentences: str) -> str:
    """Sentences in a row, spaced as the language does."""
    return ("" if look.language == "ja" else " ").join(filter(None, sentences))
