"""What a sentence does (claim something, refuse, apologise, hand over), and what it denies.

The patterns for what a sentence does, and the examples that they promise to get right, are data:
dialogue_acts.toml. They know the wordings that were written down; a new writer's refusals and handovers are
missed half of the time, rather than that ordinary lines are taken for either. `make bench-detectors` measures
them on rows of a writer from whom they were not made, tests/text/test_desk_lines.py on lines of real desks.

    申し訳ございませんが、分かりかねます。     -> courtesy, refusal
    担当者におつなぎします。                   -> handover
    ご利用いただけません。                     -> claim: "not possible" is an answer
    You can reach us at 0120-000-371.          -> contact
    If you need help, please contact our desk. -> referral
    It costs $5. Is there anything else?       -> claim, courtesy

A sentence is cut where it turns in the middle (but, が、), and each side has one act: the first that its
patterns find, in the order of `_ActPatterns.acts`. `is_refusal` and `passes_on` weigh the parts against each
other.
"""

import re
from functools import cache, lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.text.segments import CJK, normalise, sentences
from simulator.text.typography import cut, straight_pattern

FILE = Path(__file__).with_name("dialogue_acts.toml")

# A sentence beyond this many characters is no courtesy and denies nothing; it also bounds what a pattern can
# cost.
LONGEST = 600

# What a part of an answer does. `contact` names somebody to turn to, `referral` does so under a condition
# ("if you need help"), `lead` leads up to either; `no_handover` says that nobody will be brought in.
Act = Literal[
    "courtesy", "question", "no_handover", "handover", "refusal", "contact", "lead", "referral", "claim"
]  # fmt: skip

_CJK = re.compile(f"[{CJK}]")
# A question mark at the end, or a Japanese ending that asks: ですか, でしょうか.
_QUESTION = re.compile(r"[?？][」』）)\"]*$|(?:です|ます|でしょう|ません|ました)か[。.]?$")
_DIGIT = re.compile(r"\d")
_ENDS = (".", "!", "?", "。")
# How a Japanese clause ends that gives a reason (ので、), and one that only leads up to the next (が、): what
# leads up to a refusal says why, and is no answer of its own.
_REASONS = ("ので、", "ため、")
_REASONED = frozenset(("refusal", "handover", "contact"))
_LEADS = (*_REASONS, "が、", "けど、", "けれど、", "けれども、", "ものの、")
# "but" and its like, with which the second side of an English sentence begins.
_TURNS = re.compile(r"(?:but|however|though|although|nevertheless)\b", re.IGNORECASE)
# {desk} in a pattern of dialogue_acts.toml stands for the entry of that name under `words`.
_WORD = re.compile(r"\{([a-z]+)\}")


class Part(NamedTuple):
    """A sentence, or one side of a sentence that turns in the middle, and what it does.

    `text` is as it was written, without the blanks around it.
    """

    text: str
    act: Act


class _ActPatterns:
    """The compiled patterns of dialogue_acts.toml in one language."""

    def __init__(self, language: Language) -> None:
        table = read_toml(FILE)[language]

        def compiled(pattern: str) -> re.Pattern[str]:
            return re.compile(_WORD.sub(lambda word: table["words"][word[1]], straight_pattern(pattern)))

        self.turn, self.aside, self.apology, self.telling, self.condition, self.substance, self.offer = (
            re.compile(straight_pattern(table[name]))
            for name in ("break", "aside", "apology", "telling", "condition", "substance", "offer")
        )
        self.no_hit = compiled(table["no_hit"])
        self.acts: dict[Act, re.Pattern[str]] = {}
        for act in ("no_handover", "handover", "refusal", "courtesy", "contact", "lead", "referral"):
            self.acts[act] = compiled("|".join(f"(?:{pattern})" for pattern in table[act]))

    def act(self, text: str) -> Act:
        """What this part of a sentence does.

        Questions first: an offer ("anything else?") is a courtesy, a question that tells nothing is one. Then
        the patterns, without the aside that the part begins with. A courtesy with a digit in it says
        something: "Thank you for your patience, it takes 5 days" is a claim.
        """
        plain = normalise(text)
        if len(plain) > LONGEST:
            return "claim"
        if _QUESTION.search(plain):
            if self.offer.search(plain):
                return "courtesy"
            if not self.telling.search(plain):
                return "contact" if self.acts["contact"].search(plain) else "question"
        main = self.aside.sub("", plain).lstrip(" ,、")
        found = (act for act, pattern in self.acts.items() if pattern.search(main))
        act: Act = next(found, "claim")
        if act == "refusal" and self.no_hit.search(main):
            return "claim"
        # Because of that, please ask ...
        if act == "claim" and main != plain and self.acts["contact"].search(plain):
            act = "contact"
        if act in {"handover", "contact"} and self.condition.search(plain):
            return "referral"
        return "claim" if act == "courtesy" and _DIGIT.search(main) else act

    def names_contact(self, text: str) -> bool:
        """Whether a part names somebody to turn to, whatever else it does."""
        plain = normalise(text)
        return len(plain) <= LONGEST and bool(self.acts["contact"].search(plain))


@lru_cache(maxsize=1024)
def parts(text: str, language: Language) -> tuple[Part, ...]:
    """The parts of an answer in order; a text without any CJK character is read as English."""
    language = _language(text, language)
    turn = _patterns(language).turn
    pieces = [piece for sentence in sentences(text) for piece in cut(turn, sentence)]
    return tuple(Part(piece.strip(), _act(piece.strip(), language)) for piece in pieces if piece.strip())


@lru_cache(maxsize=1024)
def is_refusal(text: str, language: Language) -> bool:
    """Whether the answer says that it cannot answer, or hands over, and claims hardly anything beside.

    "That is not possible" is an answer, and so is "no shop matches your wishes"; "I cannot say whether it is
    possible" is a refusal. It refuses where its refusals are at least as long as its claims; without a
    refusal, where it names somebody to turn to and claims nothing beside.
    """
    acts = {part.act for part in parts(text, language)}
    # What leads up to a person, however long, answers nothing.
    leads = bool(acts & {"handover", "contact"})
    substance = _patterns(_language(text, language)).substance if leads else None
    claimed = _length(text, language, "claim", substance)
    return claimed <= _length(text, language, "refusal") if "refusal" in acts else leads and not claimed


def is_courtesy(text: str, language: Language) -> bool:
    """Whether the text is nothing but thanks, a greeting or the like: 「ありがとうございました」."""
    return {part.act for part in parts(text, language)} == {"courtesy"}


def ends_with_question(text: str, language: Language) -> bool:
    """Whether the last that the answer says about the matter is a question."""
    acts = [part.act for part in parts(text, language) if part.act != "courtesy"]
    return bool(acts) and acts[-1] == "question"


def is_handover(text: str, language: Language) -> bool:
    """Whether the answer brings in a person, or has nothing but whom the customer may turn to."""
    if passes_on(text, language):
        return True
    patterns = _patterns(_language(text, language))
    return is_refusal(text, language) and any(
        patterns.names_contact(part.text) for part in parts(text, language)
    )


def passes_on(text: str, language: Language) -> bool:
    """Whether the bot itself passes the customer on to a person; naming a contact does not count.

    "I'll connect you to an agent" does; "call 0120-000-371" and "I can't transfer you" do not.
    """
    return any(part.act == "handover" for part in parts(text, language))


def apologises(text: str, language: Language) -> bool:
    """Whether the answer says sorry."""
    return bool(_patterns(_language(text, language)).apology.search(normalise(text)))


def claims(text: str, language: Language) -> tuple[str, ...]:
    """What the answer states about the matter: not its courtesies, questions, refusals and handovers.

    A contact is a claim too (its number may be wrong), except beside a refusal, whose reason is none.
    「料金は990円です。ご不明な点はございますか？」 claims its first sentence.
    """
    found = parts(text, language)
    told = {part.act for part in found} & {"refusal", "handover"} and is_refusal(text, language)
    stated = ("claim",) if told else ("claim", "lead", "contact", "referral", "no_handover")
    pairs = zip_longest(found, found[1:])
    return tuple(part.text for part, following in pairs if part.act in stated and _standing(part, following))


def _length(text: str, language: Language, act: Act, having: re.Pattern[str] | None = None) -> float:
    """How many characters do this, in parts that have something if a pattern is given.

    What only leads up to the rest of its sentence counts half, and not at all where that refuses: then it
    says why.
    """
    aside, found = _patterns(_language(text, language)).aside, parts(text, language)
    return sum(
        len(aside.sub("", normalise(part.text))) * _standing(part, following)
        for part, following in zip_longest(found, found[1:])
        if part.act == act and (having is None or having.search(normalise(part.text)))
    )


def _standing(part: Part, following: Part | None) -> float:
    """How much (0..1) of what a part says is said for its own sake."""
    if following is None:
        return 1.0
    turns, both = bool(_TURNS.match(following.text)), (part.act, following.act)
    if part.text.endswith(_REASONS) and part.act == "claim" and following.act in _REASONED:
        return 0.0
    if part.text.endswith(_ENDS):
        return 0.5 if turns and both == ("refusal", "claim") else 1.0
    return 0.5 if turns or part.text.endswith(_LEADS) else 1.0


def _language(text: str, language: Language) -> Language:
    """English for a text without any CJK character, else `language`."""
    return language if _CJK.search(text) else "en"


@lru_cache(maxsize=4096)
def _act(piece: str, language: Language) -> Act:
    """What a piece does; the same sentence stands in many answers, and in all that was said so far."""
    return _patterns(language).act(piece)


@cache
def _patterns(language: Language) -> _ActPatterns:
    return _ActPatterns(language)


# Negative in form only: obligations, invitations, "perhaps", politeness, words that merely contain ない.
_ONLY_FORM = re.compile(
    r"な(?:ければ|くては|いと)(?:なら|なり|いけ|だめ)(?:ない|ません)?|(?:か|か)も(?:しれ|知れ)(?:ない|ません)"
    r"|ざるを得(?:ない|ません)|に(?:ほか|他)なら(?:ない|ず|なかった|ません)|(?:だけ|のみ|ばかり)(?:で(?:は)?)?(?:なく|ありません|ない)"
    r"|(?:ません|ない)(?:でしょう|です)?か|(?:じゃ|では)ない(?:です|でしょう)か"
    r"|(?:ない|なかった)(?=[一-龥ァ-ヶ])(?!方|旨|訳)|しか[^、。]{0,10}?(?:ない|ません|なく)|すみません|申し訳(?:ござい|あり)ません|申し訳(?:ない|なく)|とんでもない"
    r"|(?:問題|差し支え|差支え|支障|心配|遠慮|間違い)(?:は|が)?(?:ない|なく|なし|ありません|ございません|いりません)"
    r"|(?:構い|かまい)ません|(?:構わ|かまわ)(?:ない|ず)|少な[いくか]|危な[いくか]|(?:間|ま)もなく|なくな[るりっら]|となし"
    r"|やむを得(?:ない|ず)|にも(?:かか|関|拘)わらず|とは限ら(?:ない|ず|ません)|のみならず|相変わらず|必ず|まず|はず"
    r"|\b(?:that|which|who) (?:(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would) ?)?"
    r"(?:not|n't)\b|\b(?:that|which|who) cannot\b|\b(?:and|but|or) not\b|\bnot (?:only|just|merely)\b"
    r"|\bwhether or not\b|\bno\. ?\d|\bno (?:doubt|problem|matter|longer than)\b"
)
_NEGATION = re.compile(
    r"ません|な(?:い|かった)(?![かで]す?か)|(?<=[がはもかられせてけえめべきし])なく|[無]い|[無]く"
    r"|(?<=[一-龥ァ-ヶー])なし|(?:を|が|は|も)せず|(?<=[らかさたばながわえけせてねべめれげぜ])ず(?:に|[、。]?$)"
    r"|なくて(?:も)?(?:よ|良|い[いで]|構|かま|大丈夫|結構)|かね(?:ます|る)|不可|不要|無効|禁止|対象外"
    r"|\bnot\b|n't\b|\bcannot\b|\bno\b|\bnever\b|\bneither\b|\bnor\b|\bwithout\b|\bunable to\b|\bnone\b"
    r"|\bavoid\b|\brefrain\b"
)
_CONTENT_BEFORE = re.compile(r"([一-龥々ァ-ヶーa-z0-9]{1,4})[ぁ-ん]{0,8}$")
_WORD_AFTER = re.compile(r"\W*(?:(?:be|been|being|any|a|an|the|to|have|has|able)\W+)*([a-z]{2,})")


def negated_words(clause: str) -> tuple[str, ...]:
    """What a clause negates, a word or stem per negation ('' where none is found): () affirms.

        解約できません                 -> ("解約",)
        you cannot cancel              -> ("cancel",)
        無料ではなく有料です           -> ("無料",)
        連絡しなければなりません       -> (), an obligation

    Two texts that negate different words contradict each other, perhaps; one that negates twice is compared
    word by word. A clause of more than `LONGEST` characters denies nothing.
    """
    plain = normalise(clause)
    if len(plain) > LONGEST:
        return ()
    plain = _ONLY_FORM.sub(" ", plain)
    return tuple(_negated_word(plain, match) for match in _NEGATION.finditer(plain))


def _negated_word(plain: str, negation: re.Match[str]) -> str:
    """In Japanese the word before the negation, elsewhere the one after it."""
    if _CJK.match(negation[0]):
        before = _CONTENT_BEFORE.search(plain[max(0, negation.start() - 12) : negation.start()])
        return before[1] if before else ""
    after = _WORD_AFTER.match(plain, negation.end())
    return after[1] if after else ""
