"""Questions without a model: from sentences and headings, and such as no knowledge base answers."""

import random
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from string import Template

from simulator.core.templates import stable_int
from simulator.core.types import Case, Language
from simulator.making.acceptance import Acceptance, tags
from simulator.making.articles import Article
from simulator.making.checks import fault_of_form
from simulator.making.index import Index
from simulator.making.kinds import OUT_OF_SCOPE, Kind, Made, Rejected, Wording, quotas
from simulator.making.plan import Plan, company, fitting, outside
from simulator.making.statements import Asked, asked_of, in_context
from simulator.making.wording import worded

# A language that fewer than this share of the articles are in is no language of the desk.
SPOKEN = 0.1


class RuleMade:
    """One set of questions by rule; the same for the same articles and seed."""

    def __init__(
        self, articles: Sequence[Article], index: Index, wordings: Sequence[Wording], seed: int
    ) -> None:
        """Asks every article once what can be asked of it."""
        self.index, self.wordings, self.seed = index, wordings, seed
        self.names = Plan(articles, index, wordings, seed)
        written = Counter(article.language for article in articles)
        least = SPOKEN * len(articles)
        self.languages = sorted((each for each, count in written.items() if count >= least), reverse=True)
        draw = random.Random(stable_int(seed, "rules"))  # noqa: S311 - an order, no secret
        self._asked = {
            article.id: (article, list(asked_of(article)))
            for article in draw.sample(list(articles), len(articles))
        }
        self._tell_apart()
        self.barren = sum(not found for _, found in self._asked.values())
        self._number = 0

    def _tell_apart(self) -> None:
        """What several articles answer differently is asked with their titles; the rest is ambiguous."""
        for retold in (True, False):
            self._answers: dict[str, set[str]] = {}
            for _, found in self._asked.values():
                for asked in found:
                    self._answers.setdefault(asked.question, set()).add(asked.reference)
            for article, found in self._asked.values() if retold else ():
                found[:] = [
                    in_context(asked, article) if len(self._answers[asked.question]) > 1 else asked
                    for asked in found
                ]

    def make(self, kinds: Sequence[Kind], number: int) -> Made:
        """At most so many questions of these kinds; what one kind lacks, the simple ones make up for."""
        taken = Acceptance()
        wanted = quotas(kinds, number)
        waiting = {kind: self._of_kind(kind) for kind in kinds}
        for kind in kinds:
            self._take(taken, kind, waiting[kind], wanted[kind])
        for kind in (kind for kind in kinds if kind not in OUT_OF_SCOPE):
            self._take(taken, kind, waiting[kind], number - len(taken.cases))
        return taken.made()

    def _take(
        self,
        taken: Acceptance,
        kind: Kind,
        waiting: Iterator[tuple[Article | None, Asked, Language]],
        most: int,
    ) -> None:
        count = 0
        while count < most and (found := next(waiting, None)) is not None:
            count += self._considered(taken, kind, *found)

    def _considered(
        self, taken: Acceptance, kind: Kind, article: Article | None, asked: Asked, language: Language
    ) -> bool:
        wording = fitting(kind, self.wordings, self._number)
        self._number += 1
        draw = random.Random(stable_int(self.seed, asked.question))  # noqa: S311 - a choice, no secret
        question, wording = worded(asked, wording, language, draw)
        case = Case(
            id=self.names.name([article] if article else (), kind),
            question=question,
            language=language,
            references=((asked.reference,),),
            passages=(article.id,) if article else (),
            answerable=article is not None,
            tags=tags(kind, wording, "rule-made"),
        )
        articles = [article] if article else []
        fault = fault_of_form(case, kind, articles, by_rule=True)
        if fault is None and article and len(self._answers[asked.question]) > 1:
            fault = Rejected(case=case, why="ambiguous")
        return taken.consider(case, fault)

    def _of_kind(self, kind: Kind) -> Iterator[tuple[Article | None, Asked, Language]]:
        if kind in OUT_OF_SCOPE:
            yield from self._outside(kind)
            return
        # One question of each article first, then a second of each.
        of_kind = (
            (article, [each for each in found if each.kind == kind])
            for article, found in self._asked.values()
        )
        rows = deque((article, deque(found)) for article, found in of_kind)
        while rows:
            article, found = rows.popleft()
            if found:
                yield article, found.popleft(), article.language
                rows.append((article, found))

    def _outside(self, kind: Kind) -> Iterator[tuple[None, Asked, Language]]:
        rows = [deque(self._out_of_scope(kind, language)) for language in self.languages]
        while any(rows):
            for row, language in zip(rows, self.languages, strict=True):
                if row:
                    yield None, row.popleft(), language

    def _out_of_scope(self, kind: Kind, language: Language) -> list[Asked]:
        table = outside()[language]
        draw = random.Random(stable_int(self.seed, kind, language))  # noqa: S311 - an order, no secret
        if kind == "neighbour":
            pairs = [
                (each["question"], each["matter"])
                for each in table["neighbours"]
                if not any(map(self.index.holds, each["words"]))
            ]
        else:
            pairs = [(question, matter) for question, matter in table[kind]]
        refusal = Template(table.get(f"refusal_{kind}", table["refusal"]))
        chosen = draw.sample(pairs, len(pairs))
        return [
            Asked(
                kind,
                Template(question).substitute(name=company(language, number + self.seed)),
                "",
                refusal.substitute(matter=matter),
            )
            for number, (question, matter) in enumerate(chosen)
        ]
