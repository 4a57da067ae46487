"""How much of the bot's articles a run tested, and at which rank came what its questions need."""

from collections.abc import Iterator

from simulator.core.document import Cell, Section, Table, Text, figures_section
from simulator.core.messages import Message, _, listed, ngettext, pgettext, sentences
from simulator.results.coverage import Coverage, Retrieval
from simulator.results.figures import rounded

# So many articles and questions are listed; all are in --json.
_SHOWN = 50


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


def coverage_sections(coverage: Coverage) -> Iterator[Section]:
    """What of the bot's articles was tested, and at which rank the right ones came; nothing without any."""
    if coverage.titles:
        yield _coverage_section(coverage)
    if coverage.retrieval:
        yield _retrieval_section(coverage.retrieval)


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
    if coverage.topics:
        rows = [(topic or _("(no folder)"), n, of) for topic, (n, of) in coverage.topics.items()]
        rows.sort(key=lambda row: row[1] / row[2])
        columns = _("Folder"), _("Tested"), _("Articles")
        yield Table.of("topics", columns, rows[:_SHOWN], _("By folder"), folded=True)
    if coverage.headings:
        sections = [(n, id_, h) for id_, of in coverage.headings.items() for h, n in of.items()]
        sections.sort(key=lambda section: section[0])
        yield Table.of(
            "headings",
            (_("Article"), _("Heading"), _("Came for questions")),
            [(id_, heading, Cell(text=str(n), number=n)) for n, id_, heading in sections[:_SHOWN]],
            _("By heading, those that came least first"),
            words=frozenset({1}),
            folded=True,
        )
    if coverage.tags:
        columns = _("Tag"), pgettext("a number of them", "Questions"), _("Article never came")
        of_tags = [(tag, *count) for tag, count in coverage.tags.items()]
        yield Table.of("tags", columns, of_tags[:_SHOWN], _("By tag of the question"), folded=True)
    if coverage.complete and coverage.untested:
        n = len(coverage.untested)
        title = _("Articles that never came: {n}", n=n)
        if coverage.named:
            title = _("Articles that no question needs: {n}", n=n)
        untested = [
            (id_, coverage.titles[id_], Cell(text=str(n := coverage.retrieved.get(id_, 0)), number=n))
            for id_ in coverage.untested[:_SHOWN]
        ]
        yield Table.of(
            "untested",
            (_("Article"), _("Title"), _("Came for questions")),
            untested,
            title,
            words=frozenset({1}),
            folded=True,
        )


def _notes(coverage: Coverage, never: list[str]) -> Iterator[Text]:
    if (left := len(coverage.untested) - _SHOWN) > 0 and coverage.complete:
        yield _("{n} more articles are in --json.", n=left)
    if not coverage.complete:
        yield _("Counted are articles that were retrieved or named; --knowledge says which there are.")
    if not coverage.named:
        yield _("No question names its articles, so an article counts as tested where it was retrieved.")
    elif coverage.complete and never and coverage.retrieved:
        yield _("Never retrieved: {articles}.", articles=listed(never, 5))
    if coverage.absent:
        yield _("Questions whose article never came: {cases}.", cases=listed(coverage.absent, 5))
    if coverage.unknown:
        named = [
            _("{id} ({cases})", id=id_, cases=listed(cases, 3)) for id_, cases in coverage.unknown.items()
        ]
        yield _(
            "Questions name articles that do not exist: {articles}. Correct their column passages.",
            articles=listed(named, 5),
        )
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
        [(case, _("did not come") if rank is None else str(rank)) for case, rank in rows[:_SHOWN]],
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
