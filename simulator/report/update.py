"""What an update of the articles moved, in words: for the page, the terminal and Markdown of `diff`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from simulator.core.document import (
    BRIEF,
    Block,
    Fact,
    Item,
    Items,
    Line,
    Notes,
    Section,
    Table,
    Text,
    Tone,
    count_text,
)
from simulator.core.messages import Message, _, listed
from simulator.report.tables import LISTED
from simulator.results.article_changes import ArticleChange, ChangeKind
from simulator.results.update import AffectedQuestion, Fate, Update

# So many of a kind are quoted: in brief, and elsewhere.
_BRIEFLY, _QUOTED = 3, 10
MORE = _("{n} more on the page.")
_KINDS: Mapping[ChangeKind, Message] = {
    "changed": _("changed"),
    "withdrawn": _("withdrawn"),
    "added": _("added"),
    "renamed": _("renamed or moved"),
    "split": _("split"),
    "reworded": _("reworded, no figure changed"),
}
# What is to be done first stands first.
_FATES: Mapping[Fate, tuple[Message, Tone]] = {
    "reference": (_("Reference answers to fix: of before the update, so not compared ({n})"), ""),
    "stale": (_("Stale: still what the article said before ({n})"), "alarm"),
    "withdrawn": (_("Withdrawn articles that are still quoted ({n})"), "alarm"),
    "strayed": (_("Changed, although none of their articles did ({n})"), "strong"),
    "moved": (_("Changed as the articles did ({n})"), "good"),
}


def update_headline(update: Update) -> Message | None:
    """What comes before all else: that the update did not arrive; None where nothing proves that."""
    if update.index_is_old:
        return _(
            "The index was not rebuilt: everything that the bot retrieved of changed articles ({n} passages)"
            " is what they said before the update.",
            n=update.old_passages,
        )
    n = update.late
    return _("Answers that still say what the articles said before: {n}.", n=n) if n else None


def update_sections(update: Update | None) -> Iterator[Section]:
    """What was changed, then the questions: what is to be done first, what moved as it should last."""
    if update is None:
        return
    title, blocks = _("Update of the articles"), list[Block]()
    if update.changes:
        counts = Counter(change.kind for change in update.changes)
        kinds = [count_text(name, counts[kind]) for kind, name in _KINDS.items() if counts[kind]]
        blocks.append(Line(_("Articles: {kinds}.", kinds=_("{parts}", parts=kinds)), "strong"))
    blocks += Notes.of(_notes(update), "soft").lines
    table = Table.of(
        "articles",
        (_("Article"), _("What became of it"), _("Before"), _("Now")),
        chain.from_iterable(map(_article_rows, update.changes[:LISTED])),
        words=frozenset({1, 2, 3}),
    )
    yield Section("update", title, (*blocks, *((table,) if table.rows else ())))
    yield Section("update", title, tuple(blocks), views=BRIEF)
    for fate, (name, tone) in _FATES.items():
        if questions := update.of(fate):
            yield from _listed(f"update_{fate}", name, [_item(question, tone) for question in questions])


def _listed(key: str, title: Message, items: Sequence[Item]) -> Iterator[Section]:
    """A list, and in brief the first of it without what was answered; both say how many more there are."""
    title = title.format(n=len(items))
    yield Section(key, title, (Items.first(_QUOTED, items, MORE),))
    brief = [Item(item.text, item.facts[1:], item.tone) for item in items]
    yield Section(key, title, (Items.first(_BRIEFLY, brief, MORE),), views=BRIEF)


def _article_rows(change: ArticleChange) -> Iterator[tuple[Text, Text, Text, Text]]:
    name = _("{title} ({id})", title=change.title, id=change.id) if change.title else change.id
    kind: Text = _KINDS[change.kind]
    if change.kind in ("renamed", "split"):
        kind = _("{kind}: {now}", kind=kind, now=listed(change.now, 3))
    facts = change.differing[:3]
    yield name, kind, facts[0].old if facts else "", facts[0].new if facts else ""
    for fact in facts[1:]:
        yield "", "", fact.old, fact.new


def _notes(update: Update) -> Iterator[Text]:
    if update.problem:
        yield update.problem
    if update.old_passages and update.new_passages:
        yield _(
            "Retrieved of what was changed: {old} passages with the old text, {new} with the new one.",
            old=update.old_passages,
            new=update.new_passages,
        )
    if update.unknown:
        names = [
            _("{id} (now {now})", id=id_, now=listed(now, 3)) if now else id_
            for id_, now in update.unknown.items()
        ]
        yield _(
            "Questions name articles that do not exist: {articles}. Correct their column passages.",
            articles=listed(names, 5),
        )


def _item(question: AffectedQuestion, tone: Tone) -> Item:
    name: Text = _("{question} ({case})", question=question.question, case=question.case)
    answer = question.answer
    if question.fate == "strayed":
        return Item(name, (Fact(_("Before"), question.before), Fact(_("Now"), answer)), tone)
    if question.fate in ("stale", "withdrawn"):
        name = _("{name}: {value}", name=name, value=_("certain") if question.certain else _("likely"))
    said = Fact(_("Answer"), answer)
    if question.fate == "reference":
        said = Fact(_("Reference answer"), answer or _("none"))
    before = (Fact(_("Article before"), question.old),) if question.old else ()
    now = Fact(_("Article now"), question.new or _("(no longer says so)"))
    return Item(name, (said, *before, now), tone)
