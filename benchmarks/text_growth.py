"""How the time of every function over text grows with hostile texts: doubled, linear takes twice as long.

`python -m benchmarks.text_growth` prints a line per function with the text that it grows fastest on, and
fails where a doubling of the text takes more than three times as long. `--of sentences` measures some
functions only, `--on blanks` some texts, and `--every` prints a line for each text.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from simulator.core.types import Answer, Case, GradingContext, Language, Passage, Turn
from simulator.grading import lexical
from simulator.lab.datasets import outputs
from simulator.lab.datasets.stated import stated
from simulator.lab.judging import keigo, plan
from simulator.lab.judging.language_match import languages_of
from simulator.privacy import redactor
from simulator.text import (
    choices,
    embedding,
    figures,
    metrics,
    normalise,
    numerals,
    overlap,
    phrases,
    segments,
    typography,
    wording,
)
from simulator.users.guard import Guard

# A doubling that takes more than this many times as long is no longer linear: a square takes four times.
MOST_GROWTH = 3.0
# The shortest text in characters, the seconds after which none is doubled again, and the most characters.
SHORTEST, ENOUGH, LONGEST = 2_000, 0.04, 256_000

Use = Callable[[str], object]


def _repeated(piece: str) -> Callable[[int], str]:
    return lambda length: piece * (length // len(piece) + 1)


def _numbered(piece: str) -> Callable[[int], str]:
    """The piece again and again, each time with another number in place of `N`."""
    return lambda length: "".join(piece.replace("N", str(at)) for at in range(length // len(piece) + 1))


# Texts of about so many characters, by what they are full of.
TEXTS: dict[str, Callable[[int], str]] = {
    "Mr. Mr. Mr.": _repeated("Mr. "),
    "e.g.e.g.e.g.": _repeated("e.g."),
    "1,1,1,1": _repeated("1,"),
    "1,000,000,000": lambda length: "1" + ",000" * (length // 4),
    "1.1.1.1": _repeated("1."),
    "11111111": _repeated("1"),
    "1-1-1-1-1": _repeated("1-"),
    "((((((((": _repeated("("),
    "{{{{{{{{": _repeated("{"),
    "「「「「「「": _repeated("「"),
    '"""""""': _repeated('"'),
    "'''''''": _repeated("'"),
    "。。。。。": _repeated("。"),
    "!?!?!?!?": _repeated("!?"),
    "--------": _repeated("-"),
    "————————": _repeated("—"),
    "a—a—a—a": _repeated("a—"),
    "########": _repeated("#"),
    "********": _repeated("*"),
    "```` ````": _repeated("`"),
    "blanks": _repeated(" "),
    "line breaks": _repeated("\n"),
    "blanks and breaks": _repeated(" \n"),
    "aaaaaaaa": _repeated("a"),
    "AAAAAAAA": _repeated("A"),
    "a a a a a": _repeated("a "),
    "A b A b A b": _repeated("Aki ben "),
    "a.a.a.a.a": _repeated("a."),
    "a@a@a@a@a": _repeated("a@"),
    "a_a_a_a_a": _repeated("a_"),
    "あああああ": _repeated("あ"),
    "アイアイアイ": _repeated("アイ"),
    "ｱｲｱｲｱｲ": _repeated("ｱｲ"),
    "漢漢漢漢漢": _repeated("漢"),
    "十十十十十": _repeated("十"),
    "高橋高橋高橋": _repeated("高橋"),
    "日本東京日本": _repeated("日本東京"),
    "marks on one letter": _repeated("\u3099\u0316\u0301"),
    "half-width marks": _repeated("ﾞ\u0301"),
    "answer is answer is": _repeated("the answer is "),
    "答えは答えは": _repeated("答えは"),
    "not not not": _repeated("not "),
    "ないないない": _repeated("ない"),
    "ですが、ですが、": _repeated("ですが、"),
    "short sentences": _numbered("Fee N is due. "),
    "短い文": _numbered("料金Nです。"),
    "サイトN。": _numbered("サイトN。"),
    "short lines": _numbered("- fee N\n"),
    "refusals": _repeated("I cannot help with that. "),
    "できません。": _repeated("お答えできません。"),
    "dates": _numbered("N月3日、"),
    "2026/4/1 2026/4/1": _repeated("2026/4/1 "),
    "April 1, April 1": _repeated("April 1, "),
    "9時から9時から": _repeated("9時から"),
    "月曜・火曜・": _repeated("月曜・火曜・"),
    "Monday to Monday to": _repeated("Monday to "),
    "two hundred two hundred": _repeated("two hundred "),
    "3日以内3日以内": _repeated("3日以内"),
    "100円100円": _numbered("N円"),
    "mails": _numbered("a.N@example.com "),
    "mails without an end": _numbered("aN@a."),
    "https://https://": _repeated("https://"),
    "hosts": _numbered("aN.example.com "),
    "telephones": _repeated("03-1234-5678 "),
    "+81 +81 +81": _repeated("+81 "),
    "田中様": _repeated("田中様"),
    "東京都港区1-2": _repeated("東京都港区1-2-3 "),
    "I'm Kevin": _repeated("I'm Kevin Smith. "),
    "12 High Street": _repeated("12 High Street, "),
    "「a」。": _repeated("「a」。"),
    "「a。a。": lambda length: "「" + "a。" * (length // 2),
    '{"a": {"a":': _repeated('{"a": '),
    '{"a":1}': _repeated('{"a":1} '),
    "<think>": _repeated("<think>"),
    "A B A B": _repeated("A B "),
    "A, or B": _repeated("the answer is A, or B. "),
    "a, b, but a": _repeated("a, b, but a, "),
}

_CHOICES = ("the Nile", "the Danube", "ナイル川", "ドナウ川")
_ASKED = "料金はいくらですか。 What does the plan cost, and when is it due?"
_HELD = (
    "プランの料金は1,980円で、毎月27日のお支払いです。 The plan costs 20 dollars a month, due on the 27th."
)


def context_of(text: str, reference: str = "", passage: str = "") -> GradingContext:
    """A turn whose answer is this text, as are the reference and the passage where none is given."""
    case = Case(id="1", question=_ASKED, language="ja", references=((reference or text,),))
    passages = (Passage(id="p", text=passage or text),)
    turn = Turn(index=1, user=_ASKED, answer=Answer(text=text, passages=passages))
    return GradingContext(conversation="c", case=case, persona="calm", turn=turn)


def functions() -> dict[str, Use]:
    """Every function over text of the packages that read what strangers write, as a function of one text.

    Where one takes several texts, the long one stands in each place that a bot or a customer fills.
    """
    found: dict[str, Use] = {
        "stated.stated": lambda text: stated(text, _CHOICES),
        "choices.place_of": lambda text: choices.place_of(text, _CHOICES),
        "choices.place_of_text": lambda text: choices.place_of_text(text, _CHOICES),
        "choices.folded_choice": choices.folded_choice,
        "choices.without_letters": lambda text: choices.without_letters([text, text]),
        "embedding.hash_embed": lambda text: embedding.hash_embed([text]),
        "plan.numbers_in": plan.numbers_in,
        "figures.figures": figures.figures,
        "figures.differing": lambda text: figures.differing(text, [_HELD, text]),
        "keigo.listed": lambda text: list(keigo.listed(text, ("できかねます",), "")),
        "overlap.stem": overlap.stem,
        "overlap.content": overlap.content,
        "overlap.coverage": lambda text: overlap.coverage(text, [text, _HELD]),
        "phrases.pieces": lambda text: (phrases.pieces(text, "ja"), phrases.pieces(text, "en")),
        "phrases.statements": lambda text: phrases.statements(text, "ja"),
        "phrases.declines": lambda text: phrases.declines(text, "ja"),
        "phrases.hands_over": lambda text: phrases.hands_over(text, "ja"),
        "phrases.names_contact": lambda text: phrases.names_contact(text, "ja"),
        "phrases.turns_away": lambda text: phrases.turns_away(text, "ja"),
        "phrases.asks_back": lambda text: phrases.asks_back(text, "ja"),
        "phrases.apologises": lambda text: (phrases.apologises(text, "ja"), phrases.apologises(text, "en")),
        "phrases.is_courtesy": lambda text: phrases.is_courtesy(text, "en"),
        "phrases.without_courtesies": lambda text: phrases.without_courtesies(text, "ja"),
        "language_match.languages_of": languages_of,
        "normalise.words": normalise.words,
        "normalise.folded": normalise.folded,
        "normalise.is_quoted_from": lambda text: normalise.is_quoted_from(
            f"{text}…{text}", f"{_HELD} {text}"
        ),
        "normalise.plain_form": normalise.plain_form,
        "numerals.number_text": numerals.number_text,
        "numerals.value_of": numerals.value_of,
        "metrics.exact_match": lambda text: metrics.exact_match(text, [text]),
        "metrics.contains": lambda text: metrics.contains(f"{text}{text}", [text]),
        "metrics.token_f1": lambda text: metrics.token_f1(text, [text]),
        # Of two long texts it is the square by nature, 60 bits at a time; a bot fills one of them only.
        "metrics.rouge_l": lambda text: metrics.rouge_l(text, [_HELD]),
        "metrics.chrf": lambda text: metrics.chrf(text, [text]),
        "segments.normalise": segments.normalise,
        "segments.tokens": segments.tokens,
        "segments.sentences": segments.sentences,
        "segments.clauses": segments.clauses,
        "typography.codes": typography.codes,
        "typography.language_of": typography.language_of,
        "typography.nfkc": typography.nfkc,
        "typography.straight": typography.straight,
        "typography.half_width": typography.half_width,
        "typography.straight_pattern": typography.straight_pattern,
        "typography.cut": lambda text: typography.cut(segments._SENTENCE_END, text),
        "wording.quoted": wording.quoted,
        "redactor.repeated_names": lambda text: list(redactor.repeated_names(text, ["高橋 花子", "Smith"])),
        "redactor.Redactor": lambda text: redactor.Redactor().redact(text, "ja"),
        "redactor.redacted_json": lambda text: redactor.redacted_json(
            {"会員番号": text}, redactor.Redactor(), "ja"
        ),
        "outputs.whole_object": outputs.whole_object,
        "outputs.unfenced": outputs.unfenced,
        "outputs.object_within": lambda text: outputs.object_within(text, ["a"]),
        "outputs.text_at": lambda text: outputs.text_at({"a": {"b": text}}, "a.b"),
    }
    for name in lexical.STAND_INS:
        found[f"lexical.{name}"] = partial(_graded, name)
    languages: tuple[Language, ...] = ("ja", "en")
    for language in languages:
        found[f"guard.broken_rule {language}"] = partial(_guarded, Guard(language))
    return found


def _exhausted(finder: Callable[[str], Iterator[object]], text: str) -> int:
    return sum(1 for _unused in finder(text))


def _graded(judge: str, text: str) -> object:
    """With the text as answer, passage and reference, and beside other ones."""
    return [lexical.lexical_score(judge, context_of(*texts)) for texts in ((text,), (text, _HELD, _HELD))]


def _guarded(guard: Guard, text: str) -> object:
    return guard.broken_rule(text, [text, _ASKED], references=[text, _HELD], known=[text], norm=40)


class Growth(NamedTuple):
    """How the time of a function grew on one kind of text: `factor` per doubling, 2 where it is linear."""

    text: str
    length: int
    seconds: float
    factor: float


def grown(use: Use, kind: str, shortest: int = SHORTEST, enough: float = ENOUGH) -> Growth:
    """The growth over the last two doublings; as of 2 where it is too fast to tell.

    What seems to grow too fast is measured again, and the lower factor counts: other work comes between.
    """
    found = _once(use, kind, shortest, enough)
    if found.factor > MOST_GROWTH:
        found = min(found, _once(use, kind, shortest, enough), key=lambda each: each.factor)
    return found


_serial = count()


def _once(use: Use, kind: str, shortest: int, enough: float) -> Growth:
    taken: list[float] = []
    length = shortest
    while True:
        # An end of its own: what was read before is remembered.
        text = f"{TEXTS[kind](length)} {next(_serial)}"
        gc.disable()  # as timeit does: a collection in one of the texts looks like growth
        began = time.process_time()
        use(text)
        taken.append(time.process_time() - began)
        gc.enable()
        if taken[-1] >= enough or length >= LONGEST:
            break
        length *= 2
    steps = min(2, len(taken) - 1)
    clear = steps > 0 and taken[-1] >= enough / 3
    factor = (taken[-1] / max(taken[-1 - steps], 1e-9)) ** (1 / steps) if clear else 2.0
    return Growth(kind, length, taken[-1], factor)


def line(name: str, growth: Growth) -> str:
    """A line of the output: the factor, the seconds a million characters would take if it were linear."""
    rate = 1e6 * growth.seconds / growth.length
    return f"{growth.factor:5.2f}  {name:<38} {rate:8.2f} s per million  {growth.length:9,}  {growth.text}"


def main(arguments: Sequence[str] | None = None) -> None:
    """A line per function, the worst text of each; the exit code is 1 where one grows faster than linear."""
    reader = argparse.ArgumentParser(prog="benchmarks.text_growth", description=__doc__)
    reader.add_argument("--of", nargs="+", default=[""], metavar="NAME")
    reader.add_argument("--on", nargs="+", default=list(TEXTS), choices=list(TEXTS), metavar="TEXT")
    reader.add_argument("--every", action="store_true")
    options: Any = reader.parse_args(arguments)
    print("times per doubling of the text (2 is linear)", flush=True)
    faster = []
    for name, use in functions().items():
        if not any(part in name for part in options.of):
            continue
        use(_HELD)  # what is read from files or compiled is not measured
        found = sorted((grown(use, kind) for kind in options.on), key=lambda each: -each.factor)
        for each in found if options.every else found[:1]:
            print(line(name, each), flush=True)
        faster += [f"{name} on {each.text}" for each in found if each.factor > MOST_GROWTH]
    if faster:
        sys.exit("faster than linear: " + "; ".join(faster))


if __name__ == "__main__":
    main()
