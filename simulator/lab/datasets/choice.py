"""Choice: whether the answer to a multiple-choice question states the right letter."""

from pathlib import Path

from simulator.extending import GradingContext, Score, Texts
from simulator.lab.datasets.likelihood import likeliest
from simulator.lab.datasets.stated import Stated, stated
from simulator.text.choices import LETTERS, letters, right_letter

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_choice.toml"))


def choice(context: GradingContext) -> Score:
    """1 when the choice that the answer states last is the right one, else 0.

    Read as OpenAI's simple-evals does (`Answer: C`), and in the forms that Japanese and English answers have:
    答えはC, **C**, the choice's own text alone. An answer that states none or several is wrong.
    """
    case = context.case
    right = right_letter(case)
    if right is None:
        return Score(state="skipped", reason=TEXTS(case.language, "no_choices"))
    likely = likeliest(context.turn.answer.logprobs, letters(len(case.choices)))
    choice_made = Stated(likely, "likelihood") if likely else stated(context.turn.answer.text, case.choices)
    values = {"right": right, "right_text": _text(context, right)}
    if choice_made is None:
        reason = TEXTS(case.language, "not_extracted", **values)
        detail = {"not_extracted": "letter", "right": right}
        return Score(state="scored", value=0, raw=0, by_rule=True, reason=reason, detail=detail)
    hit = _text(context, choice_made.letter) == _text(context, right)  # two choices may say the same
    values |= {"letter": choice_made.letter, "text": _text(context, choice_made.letter)}
    reason = TEXTS(case.language, "right" if hit else "wrong", **values)
    detail = {"letter": choice_made.letter, "right": right, "stated": choice_made.how}
    return Score(state="scored", value=int(hit), raw=int(hit), reason=reason, detail=detail)


def _text(context: GradingContext, letter: str) -> str:
    return context.case.choices[LETTERS.index(letter)]
