"""How much of the bot's articles a run tested, and at which rank came what its questions need."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from simulator.core.document import Cell, Section, Table, Text, excerpt, figures_section
from simulator.core.messages import Message, _, listed, ngettext, pgettext, sentences
from simulator.core.types import Results
from simulator.report.tables import LISTED, anchor
from simulator.results.articles import UnknownArticle
from simulator.results.comparison import MUST_NOT_BREAK
from simulator.results.coverage import Coverage, Retrieval
from simulator.results.figures import rounded
from simulator.results.rows import RunTurns


def coverage_line(coverage: Coverage) -> Message:
    """Coverage in one line: "31 of 40 articles tested"."""
    tested, n = len(coverage.tested), len(coverage.titles)
    if coverage.complete:
        return ngettext(
            "{tested} of {n} article tested", "{tested} of {n} articles tested", n=n, tested=tested
        )
    if coverage.named:
        return _("Articles tested: {n}; how many there are is not known", n=tested)
    return _("Articles retrieved: {n}; how many there are is not known", n=tested)


def unknown_text(unknown: Mapping[str, UnknownArticle]) -> Message:
    """The ids that questions name and no article has, and what was meant, if one can see that."""
    named = [_("{id} ({cases})", id=id_, cases=listed(article.cases, 3)) for id_, article in unknown.items()]
    near = dict.fromkeys(name for article in unknown.values() for name in article.near)
    return sentences(
        _("Questions name articles that do not exist: {articles}.", articles=listed(named, 5)),
        _("Did you mean {names}?", names=listed(list(near), 5)) if near else None,
        None
        if all(article.near for article in unknown.values())
        else _("Write them, or correct the column passages."),
    )


def coverage_sections(coverage: Coverage, questions: Mapping[str, Cell]) -> Iterator[Section]:
    """What of the bot's articles was tested, and at which rank the right ones came; nothing without any.

    `questions` are what the cases ask, as `question_cells` shows them.
    """
    if coverage.titles:
        yield _coverage_section(coverage, questions)
    if coverage.retrieval:
        # For those who tune the search: a summary in brief leaves it out.
        yield replace(_retrieval_section(coverage.retrieval, questions), folded=True)


def question_cells(results: Results, run: RunTurns) -> dict[str, Cell]:
    """The question of each case, with where a page has its first conversation."""
    numbers = {id_: number for number, id_ in enumerate(results.conversations.ids, 1)}
    cells = dict[str, Cell]()
    for row in run.conversations:
        asked = excerpt(row.question) or row.case
        cells.setdefault(row.case, Cell(text=asked, href=f"#{anchor(numbers[row.id])}"))
    return cells


def _coverage_section(coverage: Coverage, questions: Mapping[str, Cell]) -> Section:
    line = [coverage_line(coverage)]
    never = [id_ for id_ in coverage.titles if id_ not in coverage.retrieved]
    if coverage.complete and coverage.retrieved and never:
        line.append(_("never retrieved: {n}", n=len(never)))
    if coverage.absent:
        line.append(_("questions whose article never came: {n}", n=len(coverage.absent)))
    return figures_section(
        key="coverage",
        title=_("Coverage"),
        line=_("{parts:clauses}", parts=tuple(line)),
        tables=_tables(coverage, questions),
        notes=_notes(coverage, never),
        figures=coverage.as_json(),
    )


def _tables(coverage: Coverage, questions: Mapping[str, Cell]) -> Iterator[Table]:
    """Lists to look things up in: by folder, heading and tag, and the articles that are not tested."""
    article, came = _("Article"), _("Came for questions")
    if coverage.topics:
        topics = [(topic or _("(no folder)"), n, of) for topic, (n, of) in coverage.topics.items()]
        topics.sort(key=lambda row: row[1] / row[2])
        yield _folded("topics", _("By folder"), (_("Folder"), _("Tested"), _("Articles")), topics)
    if coverage.headings:
        headings = [
            (_article(id_, coverage), heading, n)
            for id_, of in coverage.headings.items()
            for heading, n in of.items()
        ]
        headings.sort(key=itemgetter(2))
        title = _("By heading, those that came least first")
        yield _folded("headings", title, (article, _("Heading"), came), headings)
    if coverage.tags:
        columns = _("Tag"), pgettext("of customers", "Questions"), _("Article never came")
        tags = [
            (_("must not break") if tag == MUST_NOT_BREAK else tag, *counts)
            for tag, counts in coverage.tags.items()
        ]
        yield _folded("tags", _("By tag of the question"), columns, tags)
    if coverage.absent:
        absent = [(questions[case],) for case in coverage.absent]
        yield _folded("absent", _("Questions whose article never came"), (_("Question"),), absent)
    if coverage.complete and coverage.untested:
        title = (
            _("Articles that no question needs: {n}")
            if coverage.named
            else _("Articles that never came: {n}")
        )
        untested = [(_article(id_, coverage), coverage.retrieved.get(id_, 0)) for id_ in coverage.untested]
        yield _folded("untested", title.format(n=len(untested)), (article, came), untested)


def _article(id_: str, coverage: Coverage) -> Cell:
    """An article by its title, with its id beside it."""
    title = coverage.titles[id_]
    return Cell(text=title, note=id_) if title else Cell(text=id_)


def _folded(
    name: str, title: Text, columns: Iterable[Text], rows: Sequence[tuple[Cell | Text | int, ...]]
) -> Table:
    are_words = any(not isinstance(second, int) for row in rows for second in row[1:2])
    words = frozenset({1}) if are_words else frozenset[int]()
    return Table.of(name, columns, rows[:LISTED], title, words=words, folded=True)


def _notes(coverage: Coverage, never: list[str]) -> Iterator[Text]:
    if (left := len(coverage.untested) - LISTED) > 0 and coverage.complete:
        yield _("{n} more in --json.", n=left)
    if not coverage.complete:
        yield _("Counted are articles that were retrieved or named; --knowledge says which there are.")
    if not coverage.named:
        yield _("No question names its articles, so an article counts as tested where it was retrieved.")
    elif coverage.complete and never and coverage.retrieved:
        articles = [coverage.titles[id_] or id_ for id_ in never]
        yield _("Never retrieved: {articles}.", articles=listed(articles, 5))
    if coverage.unknown:
        yield unknown_text(coverage.unknown)
    yield _(
        "Questions marked as unanswerable: {unanswerable}, as ones for a person: {handover}.",
        unanswerable=coverage.unanswerable,
        handover=coverage.handover,
    )
    if coverage.runs > 1 and coverage.complete:
        tested = len((coverage.tested | coverage.tested_before) & coverage.titles.keys())
        yield _(
            "Over the last {runs} runs: {tested} of {n} articles tested.",
            runs=coverage.runs,
            tested=tested,
            n=len(coverage.titles),
        )


def _retrieval_section(retrieval: Retrieval, questions: Mapping[str, Cell]) -> Section:
    late = {case: rank for case, rank in retrieval.ranks.items() if rank != 1}
    # Engineers find the same as recall@k, with the mean reciprocal rank, among the details for them.
    shares = [(k, f"{100 * share:.0f}") for k, share in retrieval.recall.items()]
    recall = [
        _("Needed articles that came first: {n} %", n=n)
        if k == 1
        else _("among the first {k}: {n} %", k=k, n=n)
        for k, n in shares
    ]
    line = _(
        "{recall} ({questions})",
        recall=_("{parts}", parts=recall),
        questions=ngettext("{n} question", "{n} questions", n=len(retrieval.ranks)),
    )
    rows = sorted(late.items(), key=lambda item: -(item[1] or 1_000))
    table = Table.of(
        "ranks",
        (_("Question"), _("Rank")),
        [(questions[case], _("did not come") if rank is None else str(rank)) for case, rank in rows[:LISTED]],
        _("Questions whose article did not come first"),
    )
    return figures_section(
        key="retrieval",
        title=_("Search"),
        line=line,
        tables=[table] if late else [],
        notes=[
            _(
                "Of the articles that a question names, in the passages of the first answer; no model"
                " is asked."
            )
        ],
        figures=rounded(retrieval.model_dump(mode="json") | {"questions": len(retrieval.ranks)}),
    )
