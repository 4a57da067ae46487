"""What `learn` found, in words: whether the rules help, the rules, and what the lead has to decide."""

from collections.abc import Iterator

from simulator.core.document import Fact, Item, Items, Line, Report, Section
from simulator.core.messages import Message, _
from simulator.core.titles import title
from simulator.core.types import Language
from simulator.grading.desk import PATH
from simulator.results.learning import Learned


def learning_report(learned: Learned, language: Language) -> Report:
    """The verdict first, then what it rests on."""
    accepted = learned.why is None
    word = _("Learned: {path} is written.", path=PATH) if accepted else _("Nothing was learned.")
    lead = [Line(word, "strong"), *([Line(learned.why, "alarm")] if learned.why else [])]
    return Report(
        title=_("What {judge} can learn from people", judge=title("judge", learned.judge)),
        language=language,
        lead=(*lead, *map(Line, _figures(learned))),
        sections=tuple(_sections(learned)),
    )


def _figures(learned: Learned) -> Iterator[Message]:
    yield _(
        "Labelled answers {labels} on {questions} questions; disagreements in the half that was learned from:"
        " {differing}.",
        labels=learned.labels,
        questions=learned.questions,
        differing=learned.differing,
    )
    if compared := learned.comparison:
        yield _(
            "On the half that was kept aside the judge agreed with people in {before} of {rows} answers, and"
            " with the rules in {after}: better on {better} questions, worse on {worse} (p = {p}).",
            **compared._asdict(),
            p=f"{compared.p:.3g}",
        )
    if learned.why is None:
        text = _(
            "Read {path}, and delete what is wrong. From now on judges grade by it here; for a run that was"
            " graded before: grade RUN --again"
        )
        yield text.format(path=PATH)


def _sections(learned: Learned) -> Iterator[Section]:
    if learned.proposed.clauses:
        heading = _("Rules") if learned.why is None else _("Rules that were tried")
        rules = Items(tuple(_item(c.text, c.labels) for c in learned.proposed.clauses), numbered=True)
        yield Section("rules", heading, (rules,))
    if learned.unclear:
        asked = Items(tuple(_item(clause.text, clause.labels) for clause in learned.unclear))
        text = _(
            "People differ from each other here. Write a rule into Expectation on the page, or into the"
            " sheet's Summary, for `learn` to try; or into {path}, to have it at once."
        )
        about = Line(text.format(path=PATH))
        yield Section("unclear", _("For the lead: what does the desk want here?"), (about, asked))


def _item(text: str, labels: tuple[str, ...]) -> Item:
    return Item(text=text, facts=(Fact(_("labels"), ", ".join(labels)),))
