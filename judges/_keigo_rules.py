"""What `keigo` sees only in the answer as a whole: its register, its repeats, what it owes a complaint."""

from collections.abc import Iterator, Sequence

from judges._keigo_forms import Finding, Severity, pattern, quoted, tables
from judges._keigo_reading import Sentence, is_japanese
from simulator import GradingContext, straight

# A sentence is quoted by so many of its last characters.
TAIL = 24


def plain_forms(answer: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Sentences of prose that do not end politely; major when the answer has no polite one at all."""
    table = tables("ja")["plain_form"]
    ends = pattern("ja", "plain_form", "ends")
    plain = [each for each in sentences if each.prose and ends.search(each.core[-40:])]
    polite = pattern("ja", "plain_form", "polite")
    throughout = bool(plain) and not any(polite.search(each.text) for each in sentences)
    severity: Severity = "major" if throughout else table["severity"]
    for each in plain:
        yield _tail("plain_form", severity, answer, each, table["throughout" if throughout else "better"])


def repeats(answer: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """More させていただく than an answer bears, and orders (…てください) in a row."""
    sasete, order = tables("ja")["excess_sasete"], tables("ja")["commanding"]
    one = pattern("ja", "excess_sasete", "one")
    places = [(each, found) for each in sentences for found in one.finditer(each.text)]
    if len(places) > sasete["most"]:
        each, found = places[sasete["most"]]
        quote = quoted(answer, each, *found.span())
        yield Finding(
            "excess_sasete", sasete["severity"], quote, sasete["better"], each.start + found.start()
        )
    row, end = 0, pattern("ja", "commanding", "row")
    for each in sentences:
        row = row + 1 if each.prose and end.search(each.text) else 0
        if row == order["most"] + 1:
            yield _tail("commanding", "minor", answer, each, order["better"])


def missing_apology(context: GradingContext) -> Iterator[Finding]:
    """A complaint that is answered without a word of apology, and without a softening one."""
    answer = straight(context.turn.answer.text)
    spoken = "ja" if is_japanese(answer) else "en"
    if any(pattern(spoken, "complaint", key).search(answer) for key in ("apology", "cushion")):
        return
    table = tables(spoken)["complaint"]
    if complains(context.turn.user):
        yield Finding("missing_apology", table["severity"], "", table["better"])
    elif context.persona in table["upset_personas"] and _shouts(context):
        yield Finding("missing_apology", table["shouted_severity"], "", table["shouted_better"])


def complains(said: str) -> bool:
    """Whether the customer is upset, by their words."""
    language = "ja" if is_japanese(said) else "en"
    kept = pattern(language, "complaint", "not_cues").sub("", straight(said[:4000]))
    return bool(pattern(language, "complaint", "cues").search(kept))


def _shouts(context: GradingContext) -> bool:
    """An upset customer's exclamation mark, unless somebody has apologised to them before."""
    answers = [straight(turn.answer.text) for turn in context.earlier]
    soothed = any(
        pattern("ja" if is_japanese(text) else "en", "complaint", "apology").search(text) for text in answers
    )
    return not soothed and bool(pattern("ja", "complaint", "shouting").search(context.turn.user))


def blunt_refusal(answer: str, user: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """A wish refused in the first sentence of an answer that has no softening word anywhere."""
    if any(pattern("ja", "complaint", key).search(straight(answer)) for key in ("apology", "cushion")):
        return
    skipped = pattern("ja", "blunt_refusal", "skipped")
    first = next((each for each in sentences if not skipped.search(each.text)), None)
    if first is None or not first.prose:
        return
    before = answer[: first.start + len(first.text)]
    welcome = pattern("ja", "blunt_refusal", "unless").search(before)
    if not welcome and _refuses(first.core[-120:], user):
        table = tables("ja")["blunt_refusal"]
        yield _tail("blunt_refusal", table["severity"], answer, first, table["better"])


def _refuses(core: str, user: str) -> bool:
    """Whether a sentence refuses, and refuses what this customer spoke of."""
    if not user.strip() or not pattern("ja", "blunt_refusal", "ends").search(core):
        return False
    named, unnamed = (pattern("ja", "blunt_refusal", key) for key in ("named", "unnamed"))
    shared = set(named.findall(unnamed.sub("", core))) & set(named.findall(user))
    return bool(shared) or bool(pattern("ja", "blunt_refusal", "of_answer").search(core))


def _tail(kind: str, severity: Severity, answer: str, sentence: Sentence, better: str) -> Finding:
    start = sentence.start + max(len(sentence.text.rstrip()) - TAIL, 0)
    quote = answer[start : sentence.start + len(sentence.text)].strip()
    return Finding(kind, severity, quote, better, start)
