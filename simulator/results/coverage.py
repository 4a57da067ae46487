"""Which of the bot's articles a run tested, and at which rank came what its questions need.

An article is tested where a question that was asked names it. Where no question of a run names any, one is
tested that was retrieved, which is less: nobody knows whether it was the right one.

    40 articles, 31 of them named by questions    share .775, gate "coverage >= .9" missed
    without --knowledge                           how many there are is not known: no share, no verdict

    question needs A; passages B, A, C            rank 2, reciprocal rank 1/2, recall@1 0, recall@3 1
    question needs A and B; passages A, C         rank 1, reciprocal rank 1, recall@2 1/2

Ranks are those of the passages of turn 1, averaged by question, then over questions. Of ids that are of
another kind than the bot's nothing is said.
"""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from simulator.cases.documents import HEADING
from simulator.core.errors import RunFileError
from simulator.core.templates import LANGUAGES
from simulator.core.types import Results, Run, Value
from simulator.results.articles import UnknownArticle, article_of, names_of, unknown_articles
from simulator.results.figures import rounded
from simulator.results.rows import ConversationRow, RunTurns
from simulator.storage.results import ArticleUse, article_use, run_of
from simulator.storage.run_file import RUN_FILE, run_ids
from simulator.storage.schema import snapshot

# In as many of the newest runs of a folder an article may have been tested.
LAST = 10
# Recall is shown at these ranks, as far as the bot returns so many passages.
RANKS = (1, 3, 5, 10, 20)


class Retrieval(Value):
    """At which rank what a question needs came: by question, in the passages of turn 1.

    `ranks` are those of the best needed passage, None where none came; `recall` is by rank, `mrr` the mean
    reciprocal rank, both 0..1.
    """

    ranks: dict[str, int | None]
    recall: dict[int, float]
    mrr: float


class Coverage(Value):
    """What a run tested; articles are named by id, questions by case.

    `titles` are those of all articles in question, in their order; without `complete` these are only the ones
    that questions name or that were retrieved. `needed` and `retrieved` count questions by article. `absent`
    are questions whose article never came, `unknown` the ids that questions name and no article has, each
    with its questions. `tested_before` are articles that another of the last `runs` tested. `retrieval` is
    None where nothing can be ranked. `tags` count questions, and those of them whose article never came.
    `headings` are those of articles that have several below their title,
    each with the number of questions for which a passage with it, or from below it, came.
    """

    titles: dict[str, str]
    complete: bool
    needed: dict[str, int]
    retrieved: dict[str, int]
    absent: tuple[str, ...]
    unknown: dict[str, UnknownArticle]
    questions: int
    unanswerable: int
    handover: int
    tags: dict[str, tuple[int, int]]
    retrieval: Retrieval | None
    runs: int = 1
    tested_before: frozenset[str] = frozenset()
    headings: dict[str, dict[str, int]]

    @property
    def named(self) -> bool:
        """Whether any question names an article that the bot has."""
        return bool(self.needed)

    @cached_property
    def tested(self) -> frozenset[str]:
        """The tested articles."""
        return frozenset(self.needed if self.named else self.retrieved)

    @property
    def untested(self) -> tuple[str, ...]:
        """The articles that no question needs, or, where none names any, that never came."""
        return tuple(id_ for id_ in self.titles if id_ not in self.tested)

    @property
    def share(self) -> float | None:
        """The share (0..1) of the articles that is tested; None where nobody knows how many there are."""
        return len(self.tested) / len(self.titles) if self.complete and self.titles else None

    @cached_property
    def topics(self) -> dict[str, tuple[int, int]]:
        """By folder, or file of rows: how many articles are tested, of how many; empty where there is one."""
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for id_ in self.titles:
            count = counts[topic_of(id_)]
            count[0] += id_ in self.tested
            count[1] += 1
        return {topic: (tested, n) for topic, (tested, n) in counts.items()} if len(counts) > 1 else {}

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints, figures rounded to 4 decimals."""
        over = self.tested | self.tested_before
        return rounded({  # type: ignore[no-any-return]
            "articles": len(self.titles),
            "complete": self.complete,
            "tested": len(self.tested),
            "share": self.share,
            "by": "questions" if self.named else "retrieved",
            "untested": list(self.untested),
            "never_retrieved": [id_ for id_ in self.titles if id_ not in self.retrieved],
            "absent": list(self.absent),
            "unknown": {id_: list(article.cases) for id_, article in self.unknown.items()},
            "questions": self.questions,
            "unanswerable": self.unanswerable,
            "handover": self.handover,
            "topics": {topic: {"tested": n, "articles": of} for topic, (n, of) in self.topics.items()},
            "headings": self.headings,
            "tags": {tag: {"questions": n, "absent": absent} for tag, (n, absent) in self.tags.items()},
            "runs": {"n": self.runs, "tested": len(over & self.titles.keys())},
        })  # fmt: skip


def topic_of(id_: str) -> str:
    """The folder of an article, or the file of a row."""
    folder, _slash, name = id_.rpartition("/")
    return article_of(id_) if "#" in name else folder


class _Asked(NamedTuple):
    """A question of the run, the articles that it needs, and those that came for it."""

    row: ConversationRow
    needed: set[str]
    came: set[str]


def coverage_of(results: Results, run: RunTurns) -> Coverage:
    """What the run tested; its articles are those that it stored, else those that were named or came."""
    known = {article.id: article.title for article in results.articles}
    # Where the articles are not known, those that questions name.
    names = known or dict.fromkeys((id_ for row in run.conversations for id_ in row.needed), "")
    by_case: dict[str, _Asked] = {}
    named = [(row.case, row.needed) for row in run.conversations if row.turns]
    for row in (row for row in run.conversations if row.turns):
        asked = by_case.setdefault(row.case, _Asked(row, set(), set()))
        for id_ in row.needed:
            if article := _named(id_, names):
                asked.needed.add(article)
        passages = {passage for turn in row.turns for passage in turn.retrieved}
        asked.came.update(_of_passage(*passage, names) for passage in passages)
    questions = by_case.values()
    needed = Counter(article for asked in questions for article in asked.needed)
    retrieved = Counter(article for asked in questions for article in asked.came)
    absent = [case for case, asked in by_case.items() if asked.needed and not asked.needed & asked.came]
    tags = Counter(tag for asked in questions for tag in asked.row.tags)
    absent_tags = Counter(tag for case in absent for tag in by_case[case].row.tags)
    used = needed.keys() | retrieved.keys()
    titles = _of_the_languages(known or dict.fromkeys((*needed, *retrieved), ""), used)
    return Coverage(
        titles=titles,
        complete=bool(known),
        needed={id_: n for id_, n in needed.items() if id_ in titles},
        retrieved={id_: n for id_, n in retrieved.items() if id_ in titles},
        absent=tuple(absent) if retrieved else (),
        unknown=unknown_articles(named, names),
        questions=len(by_case),
        unanswerable=sum(asked.row.answerable is False for asked in questions),
        handover=sum(asked.row.handover == "required" for asked in questions),
        tags={tag: (n, absent_tags[tag]) for tag, n in tags.items()},
        retrieval=retrieval_of(run, known),
        headings=_headings(results, names, titles),
    )


def _headings(
    results: Results, names: Container[str], titles: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """Of articles with several headings below their title: for how many questions each came."""
    texts = {article.id: article.text for article in results.articles if article.id in titles}
    sections = {id_: [h for h in HEADING.findall(text) if h != titles[id_]] for id_, text in texts.items()}
    sections = {id_: headings for id_, headings in sections.items() if len(headings) > 1}
    came: dict[str, dict[str, set[str]]] = {
        id_: {heading: set() for heading in headings} for id_, headings in sections.items()
    }
    # Passages have to be read for it, which costs time.
    for talk in results.conversations if sections else ():
        for passage in (passage for turn in talk.turns for passage in turn.answer.passages or ()):
            id_ = _of_passage(passage.id, passage.source or "", names)
            if id_ in came:
                for heading in _headings_of(passage.text, texts[id_]):
                    if heading in came[id_]:
                        came[id_][heading].add(talk.case.id)
    return {id_: {h: len(cases) for h, cases in of.items()} for id_, of in came.items()}


def _headings_of(passage: str, article: str) -> list[str]:
    """The headings in a passage, and the one that it stands below in its article."""
    within = HEADING.findall(passage)
    first = next((line for line in passage.splitlines()[1:] or [passage] if line.strip()), passage)
    above = HEADING.findall(article[: max(0, article.find(first))])
    starts = HEADING.match(first)
    return [*within, *(above[-1:] if not starts else ())]


def _of_the_languages(titles: Mapping[str, str], used: Iterable[str]) -> dict[str, str]:
    """Where each language has a folder, the articles of the languages that the run used."""
    folders = {id_.partition("/")[0] for id_ in titles}
    asked = {id_.partition("/")[0] for id_ in used} & folders
    if not (folders <= {*LANGUAGES} and asked):
        return dict(titles)
    return {id_: title for id_, title in titles.items() if id_.partition("/")[0] in asked}


def _named(id_: str, articles: Container[str]) -> str:
    """The article that a case names; empty where none is called so."""
    return next((name for name in names_of(id_, id_) if name in articles), "")


def _of_passage(id_: str, source: str, articles: Container[str]) -> str:
    """The article of a retrieved passage; its own id where none is called so."""
    return next((name for name in names_of(id_, source) if name in articles), article_of(id_))


def retrieval_of(run: RunTurns, articles: Container[str] = ()) -> Retrieval | None:
    """At which rank came what each question needs; None where no question names anything that could come."""
    places: dict[str, list[int | None]] = defaultdict(list)
    recalls: dict[int, dict[str, list[float]]] = {k: defaultdict(list) for k in RANKS}
    most = 0
    for row in run.conversations:
        if not row.needed or not row.turns or row.turns[0].failure or row.turns[0].unrecorded:
            continue
        retrieved = row.turns[0].retrieved
        most = max(most, len(retrieved))
        needed = dict.fromkeys(row.needed)
        ranks = {id_: _rank(id_, retrieved) for id_ in needed}
        found = [rank for rank in ranks.values() if rank]
        places[row.case].append(min(found, default=None))
        for k, by_case in recalls.items():
            by_case[row.case].append(sum(rank <= k for rank in found) / len(needed))
    same_kind = any(rank for ranks in places.values() for rank in ranks)
    if not same_kind and articles:
        # None came, and all that came are articles: the search is at fault, not the ids.
        came = {passage for row in run.conversations for turn in row.turns for passage in turn.retrieved}
        same_kind = bool(came) and all(_of_passage(*passage, articles) in articles for passage in came)
    if not places or not most or not same_kind:
        return None
    reciprocal = (fmean(1 / rank if rank else 0.0 for rank in ranks) for ranks in places.values())
    shown = [k for k in RANKS if k <= most]
    return Retrieval(
        ranks={case: min(filter(None, ranks), default=None) for case, ranks in places.items()},
        recall={k: fmean(map(fmean, recalls[k].values())) for k in shown},
        mrr=fmean(reciprocal),
    )


def _rank(needed: str, retrieved: Sequence[tuple[str, str]]) -> int | None:
    """At which rank an article came, from 1; None where it did not."""
    return next((at for at, passage in enumerate(retrieved, 1) if needed in names_of(*passage)), None)


def over_last_runs(coverage: Coverage, run: Run, runs: Path) -> Coverage:
    """The same, with what the other of the last runs of a folder tested: of the same bot and articles."""
    uses = list(_last_uses(run, runs))
    tested = set[str]()
    for use in uses:
        came = () if use.needed else use.retrieved
        tested.update(_named(id_, coverage.titles) for id_ in use.needed)
        tested.update(_of_passage(*passage, coverage.titles) for passage in came)
    changes = {"runs": 1 + len(uses), "tested_before": frozenset(tested & coverage.titles.keys())}
    return coverage.model_copy(update=changes)


def _last_uses(run: Run, runs: Path) -> Iterator[ArticleUse]:
    for name in [name for name in run_ids(runs) if name != run.id][-LAST + 1 :]:
        with (
            contextlib.suppress(RunFileError),
            snapshot(runs / name / RUN_FILE) as file,
            contextlib.closing(file),
        ):
            other = run_of(file)
            if all(other.settings.get(key) == run.settings.get(key) for key in ("adapter", "knowledge")):
                yield article_use(file)
