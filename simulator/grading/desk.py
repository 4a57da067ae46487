"""desk.toml: what a desk expects of answers and wrote down nowhere else, as `rehearsal learn` found it.

It lies in the working folder, like rehearsal.toml, and every judge that is shown the guidelines is shown it
after them; so it is part of their hash. People read it, and may change or delete what they like:

    [[clauses]]
    text = "An answer that cannot help has to name the phone number, or it is bad."
    labels = ["20261129-101500-angry-1a2b/angry/fees-01-en#0/1", ...]

    [[examples]]
    question, answer = "...", "..."
    good = false
    because = "..."
    labels = ["..."]

    [history]     what earlier clauses said, and the questions whose labels were learned from

A clause that stands in the history and no longer above was withdrawn by a person, and does not come back.
Questions that were learned from certify no judge: it has seen the answers.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field, ValidationError

from simulator.core.errors import PromptError, value_problem
from simulator.core.messages import _
from simulator.core.templates import quote, read_toml, seal_of
from simulator.core.types import Value
from simulator.core.writing import write_atomically

PATH = Path("desk.toml")
# The name of its hash among those of a run's prompts.
DESK = "desk"
# Clauses and examples that are learned at once, and characters of each of their texts.
MOST_CLAUSES, MOST_EXAMPLES, LONGEST = 5, 4, 400
_ABOUT = """\
# What this desk expects of answers, as `learn` found it in people's labels. Judges grade by it, before
# anything else that they are told. Read it, change it, delete what is wrong: that does not come back.
# 人の評価から `learn` が見つけた、この窓口の取り決めです。採点役は、ほかの決まりより先に、これに従います。
# 読んで、直し、違うものは消してください。消した取り決めは、もう提案されません。
"""
_HISTORY = """\
# Kept by `learn`: leave it as it is. / ここから下は `learn` の記録です。そのままにしてください。
"""


class Clause(Value):
    """A rule in a sentence, and the ids of the labels that it was learned from."""

    text: str
    labels: tuple[str, ...] = ()


class DeskExample(Value):
    """An answer that people call good or bad, and why."""

    question: str
    answer: str
    good: bool
    because: str
    labels: tuple[str, ...] = ()


class DeskHistory(Value):
    """What was learned at any time: all clauses, and the questions whose labels were learned from."""

    clauses: tuple[Clause, ...] = ()
    questions: tuple[str, ...] = ()


class DeskRules(Value):
    """The rules of a desk, examples of them, and what `learn` keeps for itself."""

    clauses: tuple[Clause, ...] = ()
    examples: tuple[DeskExample, ...] = ()
    history: DeskHistory = Field(default_factory=DeskHistory)

    def __bool__(self) -> bool:
        """Whether a judge is shown anything of it."""
        return bool(self.clauses or self.examples)

    @property
    def withdrawn(self) -> tuple[Clause, ...]:
        """Clauses that were learned once, and that a person deleted or put in other words."""
        there = {clause.text for clause in self.clauses}
        return tuple(clause for clause in self.history.clauses if clause.text not in there)

    def prompt_parts(self) -> tuple[str, str]:
        """The rules and the examples as a judge is shown them, each quoted as data."""
        texts = [clause.text for clause in self.clauses]
        pieces = [text for example in self.examples for text in (example.question, example.answer)]
        seal = seal_of(*texts, *pieces, *(example.because for example in self.examples))
        rules = "\n".join(quote(f"rule-{at}", text, seal) for at, text in enumerate(texts, 1))
        shown = "\n".join(
            quote(f"{tag}-{at}", text, seal)
            for at, example in enumerate(self.examples, 1)
            for tag, text in (
                ("question", example.question),
                ("answer", example.answer),
                ("good" if example.good else "bad", example.because),
            )
        )
        return rules, shown


NO_DESK = DeskRules()


def read_desk(path: Path = PATH) -> DeskRules:
    """The desk of a working folder, empty where it has none. Raises PromptError for what is no such file."""
    if not path.is_file():
        return NO_DESK
    try:
        return DeskRules.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
        msg = _("{path}: {place}{problem}.", path=path, place=f"{place}: ", problem=value_problem(first))
        raise PromptError(msg) from None


def write_desk(desk: DeskRules, path: Path = PATH) -> None:
    """Writes it whole, or leaves what is there."""
    write_atomically(path, "\n".join(_lines(desk)))


def _lines(desk: DeskRules) -> Iterator[str]:
    yield _ABOUT
    for clause in desk.clauses:
        yield from ("[[clauses]]", *_pairs(clause), "")
    for example in desk.examples:
        yield from ("[[examples]]", *_pairs(example), "")
    yield _HISTORY + "[history]"
    yield f"questions = {toml_value(desk.history.questions)}"
    yield ""
    for clause in desk.history.clauses:
        yield from ("[[history.clauses]]", *_pairs(clause), "")


def _pairs(value: Value) -> Iterator[str]:
    return (f"{key} = {toml_value(item)}" for key, item in value)


def toml_value(value: object) -> str:
    """A text, a list of texts, or yes or no; JSON's form is TOML's, too, but for the delete character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
