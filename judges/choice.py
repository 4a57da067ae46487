"""Choice: whether the answer to a multiple-choice question states the right letter."""

from pathlib import Path
from typing import Any

from simulator import GradingContext, Score, Texts, multiple_choice

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_choice.toml"))


def choice(exhibit: GradingContext) -> Score:
    """1 when the choice that the answer states last is the right one, else 0.

    Read as OpenAI's simple-evals does (`Answer: C`), and in the forms that Japanese and English answers have:
    答えはC, **C**, the choice's own text alone. An answer that states none or several is wrong.
    """
    case = exhibit.case
    right = multiple_choice.right_letter(case)
    if right is None:
        return _score(exhibit, state="skipped", reason=_say(exhibit, "no_choices"))
    found = _likeliest(exhibit) or multiple_choice.stated(exhibit.turn.answer.text, case.choices)
    told = {"right": right, "right_text": _text(exhibit, right)}
    if found is None:
        detail = {"not_extracted": "letter", "right": right}
        reason = _say(exhibit, "not_extracted", **told)
        return _score(exhibit, state="scored", value=0, raw=0, by_rule=True, reason=reason, detail=detail)
    hit = _text(exhibit, found.letter) == _text(exhibit, right)  # two choices may say the same
    told |= {"letter": found.letter, "text": _text(exhibit, found.letter)}
    return _score(
        exhibit,
        state="scored",
        value=int(hit),
        raw=int(hit),
        reason=_say(exhibit, "right" if hit else "wrong", **told),
        detail={"letter": found.letter, "right": right, "stated": found.how},
    )


def _likeliest(exhibit: GradingContext) -> multiple_choice.Stated | None:
    """The letter that the endpoint held for the likeliest; None where it told of none, or of a tie."""
    known = multiple_choice.letters(len(exhibit.case.choices))
    told = sorted((value, key) for key, value in exhibit.turn.answer.logprobs.items() if key in tuple(known))
    if not told or (len(told) > 1 and told[-1][0] == told[-2][0]):
        return None
    return multiple_choice.Stated(told[-1][1], "likelihood")


def _text(exhibit: GradingContext, letter: str) -> str:
    return exhibit.case.choices[multiple_choice.LETTERS.index(letter)]


def _say(exhibit: GradingContext, key: str, **values: str) -> str:
    return TEXTS(exhibit.case.language, key, **values)


def _score(exhibit: GradingContext, **fields: Any) -> Score:
    return Score(
        judge="choice", conversation=exhibit.conversation, turn=exhibit.turn.index, scale=SCALE, **fields
    )
