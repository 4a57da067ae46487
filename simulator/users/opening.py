"""The first line in the persona's voice: the case's question rephrased, and checked to ask the same.

A bot must not be scored on another question than the case's: where something was lost or added on the way,
the question is asked as it stands in the file, and that is counted.

    解約金は4,800円ですか？  ->  解約金って4800円なの？        kept
                           ->  解約金って4900円なの？        opening_numbers
    The fee is not refunded?  ->  Is the fee refunded?     opening_negation
    送料はいくらですか        ->  いくら？                    opening_words

Checked in this order: the guard's rules; whether it still asks; the same numbers, codes and negations; the
same names and nouns, of which other words may differ a little. It is a check of words and not of meaning, and
is meant to refuse too much rather than too little: what is refused costs a plain question.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pydantic import Field

from simulator.core import replies
from simulator.core.errors import HOPELESS, ModelFailure, PromptError
from simulator.core.messages import _
from simulator.core.patterns import LazyPattern
from simulator.core.templates import (
    LANGUAGES,
    Prompts,
    quote,
    request,
    seal_of,
    stable_int,
)
from simulator.core.types import Case, Language, Persona, Turn, Utterance
from simulator.models.client import Messages, Model
from simulator.text.figures import differing
from simulator.text.overlap import STOP_WORDS, stem
from simulator.text.segments import normalise, tokens
from simulator.text.typography import codes
from simulator.users.guard import LONGEST, Guard, compiled
from simulator.users.persona import spoken

# The rules for an opening beside the guard's; `opening_failed`: the model gave none at all.
RULES = (
    "opening_codes", "opening_numbers", "opening_negation", "opening_asked", "opening_words",
    "opening_failed",
)  # fmt: skip
# One in so many Japanese verbs, or English words that are not names, may be replaced: 聞きたい by 知りたい.
ONE_IN = {"ja": 3, "en": 6}

_VARIABLES: dict[str, set[str]] = {
    "system": {"name", "voice", "question", "form"},
    "task": set(),
    "again": {"problem"},
}
_DIGITS = re.compile(r"\d+")
_COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Compared as numbers, so that 二回 may be written 2回.
_KANJI_NUMBER = re.compile("[二三四五六七八九十]+(?=か月|ヶ月|カ月|年間|日間|週間|営業日|時間|回|名様|泊|円)")
_NUMBER_WORDS = frozenset({
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "half", "twice",
    "double",
})  # fmt: skip
_KANJI = "々一-龥"
# How a word sounds; a single kana would be found in other words. A model that says 解約 as かいやく, as an
# elderly or foreign customer may type it, says so: `解約=かいやく`.
_READING, _MOST_READINGS = re.compile("[ぁ-ゖァ-ヺー]{2,}"), 20


_ONLY_KANJI = LazyPattern(f"[{_KANJI}]+")
# A word of katakana, letters or several kanji, or one kanji: with okurigana a verb, else a noun.
_JAPANESE_WORD = LazyPattern(
    rf"[ァ-ヺー]{{2,}}|[a-z][a-z0-9]+|[{_KANJI}]{{2,}}|[{_KANJI}](?![ぁ-ん])"
    rf"|[{_KANJI}](?=(?:[をがはのにもとへ]|で|から|まで|って|だけ|など)(?![{_KANJI}]?[るすくむ]))"
)
_JAPANESE_VERB = LazyPattern(rf"(?<![{_KANJI}])[{_KANJI}](?=[ぁ-ん])")
# What is denied: in Japanese the word before it, in English the one after it. Not where it is only polite.
_POLITE = re.compile(
    r"すみません|申し訳|(?:くれ|もらえ|いただけ|くださ[いり])(?:ません|ない)|(?:ません|ない)(?:です|でしょう)?か|かもしれ"
)
_DENIAL = LazyPattern(
    rf"(?P<before>[{_KANJI}ァ-ヶー]{{0,4}})[ぁ-ん]{{0,5}}?(?:ません|ない|なかった|なく|ずに)"
    r"|(?:\b(?:not|cannot|no|never|without)\b|n't\b)\W*(?:(?:be|been|any|an?|the|to|have|able)\W+)*(?P<after>[a-z]*)"
)


class OpeningLine(replies.Reply):
    """The reply of the customer model: the words."""

    message: str


class JapaneseOpeningLine(OpeningLine):
    """In Japanese also the words that are said in kana, each as `解約=かいやく`."""

    kana: replies.Texts = Field([])


class OpeningPrompts(Prompts):
    """personas/_opening.toml: how a question is put in a persona's voice, in both languages."""

    def __init__(self, path: Path, guards: Mapping[Language, Guard]) -> None:
        """Reads and checks the file; `guards` are those of the customer's later lines."""
        super().__init__(path, _VARIABLES)
        self.guards = guards
        for language in LANGUAGES:
            if not self.tables[language].get("fields", {}).get("message"):
                msg = _("{path}: [{language}.fields] message is missing.", path=path, language=language)
                raise PromptError(msg)
        self._asks = {
            language: compiled(tuple(self.tables[language].get("asks", ())), path.name)
            for language in LANGUAGES
        }

    def messages(self, case: Case, persona: Persona) -> Messages:
        """The request: persona, question, and the form of the reply."""
        table, voice = self.tables[case.language], persona.speaks(case.language)
        kinds = {"message": "text", "kana": "texts"}
        form = replies.skeleton({key: (kinds[key], str(table["fields"][key])) for key in table["fields"]})
        question = quote("question", case.question, seal_of(case.question))
        told = {"name": voice.name, "voice": voice.voice.strip(), "question": question, "form": form}
        language = case.language
        return request(self.text(language, "system", **told), self.text(language, "task"))

    def broken_rule(
        self, question: str, opening: str, language: Language, kana: Sequence[str] = ()
    ) -> str | None:
        """The first rule that an opening breaks: the guard's, or one of RULES; None when it asks the same.

        Words that are there in `kana` count as kept.
        """
        # Nothing was said before, so no repetition is possible.
        if rule := self.guards[language].broken_rule(opening, ()):
            return rule
        opening = with_kanji(question, opening, kana)
        plain, rephrased = normalise(question), normalise(opening)
        if any(asks.search(plain) and not asks.search(rephrased) for asks in self._asks[language]):
            return "opening_asked"
        return lost(question, opening, language, str(self.tables[language].get("ordinary", "")).split())


class VoicedOpening:
    """The first line of a conversation: the case's question in the persona's voice."""

    def __init__(self, persona: Persona, model: Model | None, prompts: OpeningPrompts, seed: int) -> None:
        """Without a model the question is asked as it stands; `seed` belongs to this conversation."""
        self.persona, self.model, self.prompts, self.seed = persona, model, prompts, seed

    async def __call__(self, case: Case, turns: tuple[Turn, ...] = ()) -> Utterance:
        """The opening; where that fails, the plain question, with the broken rule.

        One model call, two when the first reply cannot be read. Raises AccessDenied: nothing else can
        succeed.
        """
        # Very long questions are documents rather than words, and are not put in anybody's voice.
        plain = Utterance(text=case.question)
        if self.model is None or len(case.question) > LONGEST[case.language]:
            return plain
        try:
            reply = await self.model.ask(
                self.prompts.messages(case, self.persona),
                JapaneseOpeningLine if case.language == "ja" else OpeningLine,
                self.prompts.again(case.language),
                seed=stable_int(self.seed, "opening"),
                read=spoken,
            )
        except HOPELESS:
            raise
        except ModelFailure as error:
            return plain.model_copy(update={"reason": str(error), "broken_rules": ("opening_failed",)})
        line = reply.message.strip()
        kana = reply.kana if isinstance(reply, JapaneseOpeningLine) else []
        rule = self.prompts.broken_rule(case.question, line, case.language, kana)
        return plain.model_copy(update={"broken_rules": (rule,)}) if rule else Utterance(text=line)


def with_kanji(question: str, opening: str, kana: Sequence[str]) -> str:
    """The opening with kanji for words of the question that it has in kana, as `解約=かいやく` lists them.

    A reading that cannot be one is left out: of another word, too short or too long, or not in kana. Else a
    model could declare any word kept.

        かいやくしたいんだけど, ["解約=かいやく"] -> 解約したいんだけど
    """
    for word, _equals, reading in (normalise(pair).partition("=") for pair in kana[:_MOST_READINGS]):
        is_word = word in normalise(question) and any(map(_ONLY_KANJI.fullmatch, word))
        if is_word and _READING.fullmatch(reading) and len(word) <= len(reading) <= 4 * len(word):
            opening = normalise(opening).replace(reading, word)
    return opening


def lost(question: str, opening: str, language: Language, ordinary: Collection[str] = ()) -> str | None:
    """The first of RULES that an opening breaks by losing or adding something; None if it asks the same."""
    if codes(question).keys() != codes(opening).keys():
        return "opening_codes"
    if not _same_numbers(question, opening):
        return "opening_numbers"
    if not _same_negations(question, opening):
        return "opening_negation"
    return None if _same_words(question, opening, language, ordinary) else "opening_words"


def _same_numbers(question: str, opening: str) -> bool:
    digits, kept_digits = (set(_DIGITS.findall(_COMMA.sub("", normalise(t)))) for t in (question, opening))
    return digits <= kept_digits and not differing(question, [opening]) and not differing(opening, [question])


def _same_negations(question: str, opening: str) -> bool:
    """The same words of the question are denied, and no others. "I do not know" may be added."""
    asked, kept = _denied(question), _denied(opening)
    # Only words of the question: what is denied beside it changes nothing of it.
    added = {word for word in kept - asked if word and word in normalise(question)}
    return not added and all(word in kept if word else bool(kept) for word in asked)


def _denied(text: str) -> set[str]:
    """The words that a text denies; an empty one where none is beside the denial."""
    plain = _POLITE.sub(" ", normalise(text))
    return {denial["before"] or denial["after"] or "" for denial in _DENIAL.finditer(plain)}


def _same_words(question: str, opening: str, language: Language, ordinary: Collection[str]) -> bool:
    """Every name, number and Japanese noun is kept; one in so many of the other words may differ."""
    # `ordinary` words, such as お願い and please, may come and go.
    names, loose = (_japanese_words if language == "ja" else _english_words)(question, ordinary)
    plain, stems = normalise(opening), {stem(word) for word in tokens(opening)}

    def there(word: str) -> bool:
        if language == "en":
            return stem(word) in stems
        # Kanji may be apart (工事費 in 工事の費用); katakana and letters may not.
        return word in plain or (bool(_ONLY_KANJI.fullmatch(word)) and all(kanji in plain for kanji in word))

    return all(map(there, names)) and sum(not there(word) for word in loose) <= len(loose) // ONE_IN[language]


def _japanese_words(question: str, ordinary: Collection[str]) -> tuple[set[str], set[str]]:
    plain = _KANJI_NUMBER.sub("", normalise(question))
    nouns = set(_JAPANESE_WORD.findall(plain)) - set(ordinary)
    return nouns, set(_JAPANESE_VERB.findall(plain)) - nouns - set(ordinary)


def _english_words(question: str, ordinary: Collection[str]) -> tuple[set[str], set[str]]:
    """Names (capitals within a sentence) and numbers, and the other words that carry content."""
    words = {word for word in tokens(question) if word not in STOP_WORDS and word not in ordinary}
    names = {word.lower() for word in re.findall(r"(?<=[a-z,] )[A-Z]\w+", question)} | words & _NUMBER_WORDS
    loose = {word for word in words - names if len(word) > 2 and word.removesuffix("'s").isalpha()}
    return names, loose
