"""How much of the bot's articles a run tested, and at which rank came what its questions need."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from simulator.core.document import Section, Table, Text, figures_section
from simulator.core.messages import Message, _, listed, ngettext, pgettext, sentences
from simulator.report.tables import LISTED
from simulator.results.articles import UnknownArticle
from simulator.results.coverage import Coverage, Retrieval
from simulator.results.figures import rounded


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


def coverage_sections(coverage: Coverage) -> Iterator[Section]:
    """What of the bot's articles was tested, and at which rank the right ones came; nothing without any."""
    if coverage.titles:
        yield _coverage_section(coverage)
    if coverage.retrieval:
        # For those who tune the search: a summary in brief leaves it out.
        yield replace(_retrieval_section(coverage.retrieval), folded=True)


def _coverage_section(coverage: Coverage) -> Section:
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
        tables=_tables(coverage),
        notes=_notes(coverage, never),
        figures=coverage.as_json(),
    )


def _tables(coverage: Coverage) -> Iterator[Table]:
    """Lists to look things up in: by folder, heading and tag, and the articles that are not tested."""
    article, came = _("Article"), _("Came for questions")
    if coverage.topics:
        topics = [(topic or _("(no folder)"), n, of) for topic, (n, of) in coverage.topics.items()]
        topics.sort(key=lambda row: row[1] / row[2])
        yield _folded("topics", _("By folder"), (_("Folder"), _("Tested"), _("Articles")), topics)
    if coverage.headings:
        headings = [(id_, heading, n) for id_, of in coverage.headings.items() for heading, n in of.items()]
        headings.sort(key=itemgetter(2))
        title = _("By heading, those that came least first")
        yield _folded("headings", title, (article, _("Heading"), came), headings)
    if coverage.tags:
        columns = _("Tag"), pgettext("a number of them", "Questions"), _("Article never came")
        tags = [(tag, *counts) for tag, counts in coverage.tags.items()]
        yield _folded("tags", _("By tag of the question"), columns, tags)
    if coverage.complete and coverage.untested:
        title = (
            _("Articles that no question needs: {n}")
            if coverage.named
            else _("Articles that never came: {n}")
        )
        titles, counts = coverage.titles, coverage.retrieved
        untested = [(id_, titles[id_], counts.get(id_, 0)) for id_ in coverage.untested]
        yield _folded("untested", title.format(n=len(untested)), (article, _("Title"), came), untested)


def _folded(name: str, title: Text, columns: Iterable[Text], rows: Sequence[tuple[Text | int, ...]]) -> Table:
    words = frozenset({1}) if rows and not isinstance(rows[0][1], int) else frozenset[int]()
    return Table.of(name, columns, rows[:LISTED], title, words=words, folded=True)


def _notes(coverage: Coverage, never: list[str]) -> Iterator[Text]:
    if (left := len(coverage.untested) - LISTED) > 0 and coverage.complete:
        yield _("{n} more in --json.", n=left)
    if not coverage.complete:
        yield _("Counted are articles that were retrieved or named; --knowledge says which there are.")
    if not coverage.named:
        yield _("No question names its articles, so an article counts as tested where it was retrieved.")
    elif coverage.complete and never and coverage.retrieved:
        yield _("Never retrieved: {articles}.", articles=listed(never, 5))
    if coverage.absent:
        yield _("Questions whose article never came: {cases}.", cases=listed(coverage.absent, 5))
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


def _retrieval_section(retrieval: Retrieval) -> Section:
    late = {case: rank for case, rank in retrieval.ranks.items() if rank != 1}
    recall = [_("recall@{k} {n} %", k=k, n=f"{100 * share:.0f}") for k, share in retrieval.recall.items()]
    line = _(
        "{recall}; mean reciprocal rank {mrr} ({questions})",
        recall=_("{parts}", parts=recall),
        mrr=f"{retrieval.mrr:.2f}",
        questions=ngettext("{n} question", "{n} questions", n=len(retrieval.ranks)),
    )
    rows = sorted(late.items(), key=lambda item: -(item[1] or 1_000))
    table = Table.of(
        "ranks",
        (_("Question"), _("Rank")),
        [(case, _("did not come") if rank is None else str(rank)) for case, rank in rows[:LISTED]],
        _("Questions whose article did not come first"),
    )
    return figures_section(
        key="retrieval",
        title=_("Search"),
        line=line,
        tables=[table] if late else [],
        notes=[
            sentences(
                _(
                    "Of the articles that a question names, in the passages of the first answer; no "
                    "model is asked."
                ),
                _("Recall@k: the share of them among the first k passages."),
            )
        ],
        figures=rounded(retrieval.model_dump(mode="json") | {"questions": len(retrieval.ranks)}),
    )
