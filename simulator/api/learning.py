"""`learn`: from people's labels to rules of a desk that a judge grades by, or why there are none.

    read        labels of runs, of a sheet or workbook about a run, or of a file of labelled answers
    grade       all of them by today's rubric; what was graded in a run before is in the response cache
    propose     rules from the disagreements of one half of the questions (grading/proposing.py)
    compare     both rubrics on the other half (results/learning.py)
    write       desk.toml, only where the new rubric is better, and the judge's standing on the held half

Nothing of the held half is in any prompt but those that grade it.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from simulator.api.probes import rubric_judge
from simulator.api.regrade import TODAYS
from simulator.api.verdicts import read_verdicts
from simulator.cases.files import WORKBOOKS, plain_suffix
from simulator.cases.headings import field_of, without_columns
from simulator.cases.rows import read_rows
from simulator.core.concurrency import for_each
from simulator.core.errors import InputError
from simulator.core.messages import _, language_of_most, ngettext
from simulator.core.roles import JUDGE_TEMPERATURE
from simulator.core.settings import load_settings, settings_of_run
from simulator.core.types import Language, Results, Score, Spending
from simulator.grading.cause import context_key
from simulator.grading.desk import MOST_CLAUSES, Clause, DeskHistory, DeskRules, read_desk, write_desk
from simulator.grading.grading import Grading
from simulator.grading.proposing import (
    MOST_AGREED,
    MOST_DIFFERING,
    LabelledRow,
    ProposalPrompt,
    Proposed,
    one_line,
    propose,
)
from simulator.models.limiter import GRADING
from simulator.models.pricing import total_spending
from simulator.results.judge_records import CheckedLabels, save_record, today
from simulator.results.learning import (
    LEAST_QUESTIONS,
    Halves,
    Learned,
    compare_rubrics,
    halves,
    labels_of_run,
    row_of,
)
from simulator.results.red import is_red_alone
from simulator.runner.conversation import grading_contexts
from simulator.runner.estimate import grading_estimate, tokens
from simulator.runner.labelled_answers import labelled_context, read_dimension, read_labels
from simulator.storage.run_file import find_run, read_run, with_verdicts

# Where the standing of the held half is from.
SOURCE = "learn"
# The label of a file that has several: that of blind grades.
LABEL = "human"
# Tokens of a proposal, at most: findings, rules and examples.
LONGEST_REPLY = 3000


class Learning:
    """One call of `learn`. Making it reads all input, so that what is missing shows before it costs."""

    def __init__(self, runs: Sequence[str], source: str | None, flags: dict[str, Any]) -> None:
        """Raises InputError for labels that are too few or all of one kind, and without a model as judge."""
        now = load_settings(flags)
        is_file = source is not None and is_labelled_answers(source)
        paths = [find_run(name, now.runs) for name in runs]
        if source is not None and not is_file:
            paths = paths or [find_run("latest", now.runs)]
            read_verdicts(paths[0], source, now, flags)
        results = [read_run(path) for path in paths]
        if not runs and source is None:
            results = list(with_verdicts(now.runs))
        settings = settings_of_run(results[-1].run.settings, flags, now, TODAYS) if results else now
        self.judge, self.context = rubric_judge(settings, "learn")
        self.settings, self.desk = self.context.settings, read_desk()
        rows = [row for run in results for row in self._of_run(run)]
        if is_file:
            rows += rows_of_file(str(source))
        # The same answer, in several runs or to several customers, is one label: the newest.
        distinct = {(row.question, context_key(row.context)): row for row in rows}
        self.rows = [row for row in distinct.values() if not row.split]
        self.split = [row for row in distinct.values() if row.split]
        self.halves: Halves = halves(self.rows, settings.seed, self.desk.history.questions)
        self._check()

    @property
    def language(self) -> Language:
        """The language of most answers."""
        return language_of_most(row.context.case.language for row in self.rows)

    def _of_run(self, results: Results) -> list[LabelledRow]:
        contexts = {
            (conversation.id, context.turn.index): (conversation.case.id, context)
            for conversation in results.conversations
            for context in grading_contexts(conversation)
            if context.closing is None
        }
        return labels_of_run(results, contexts, self.settings.red)

    def _check(self) -> None:
        """Raises InputError for what is missing."""
        questions = {row.question for row in self.rows}
        held = {row.question for row in self.halves.held}
        if (more := 2 * LEAST_QUESTIONS - len(questions)) > 0 or len(held) < LEAST_QUESTIONS:
            more = max(more, 2 * (LEAST_QUESTIONS - len(held)))
            msg = ngettext(
                "too few labels: people labelled {questions} questions, and {n} more is needed.",
                "too few labels: people labelled {questions} questions, and {n} more are needed.",
                n=more,
                questions=len(questions),
            )
            raise InputError(msg)
        for kind, name in ((True, _("bad")), (False, _("good"))):
            if not any(row.bad is kind for row in self.halves.held):
                msg = _("people called no answer {kind}: labels of one kind alone teach nothing.", kind=name)
                raise InputError(msg)

    def forecast(self) -> Spending:
        """Calls, tokens and dollars at most: every row by today's rubric, the held half by the new one."""
        graded = [*self.rows, *self.halves.held]
        most = grading_estimate(self.context, {self.judge}, (row.context for row in graded))
        shown = self.rows[:MOST_DIFFERING], self.rows[MOST_DIFFERING:][:MOST_AGREED]
        messages = ProposalPrompt().messages(*shown, self.desk, "", self.language)
        size = sum(tokens(message["content"]) for message in messages)
        model = self.context.models()["judge"]
        return total_spending([most, self.context.ledger.prices.spending(model, 1, size, LONGEST_REPLY)])

    async def work(self, progress: Callable[..., None]) -> Learned:
        """Grades, proposes, grades again and writes; closes every connection."""
        try:
            return await self._learn(progress)
        finally:
            await self.context.close(None)

    async def _learn(self, progress: Callable[..., None]) -> Learned:
        before = await self._graded(self.context.grading, self.rows, progress)
        shown = [
            row._replace(marked=self._is_marked(before[row.label]), reason=before[row.label].reason)
            for row in self.halves.learn
            if row.label in before
        ]
        withdrawn = {label for clause in self.desk.withdrawn for label in clause.labels}
        differing = [row for row in shown if row.bad != row.marked and row.label not in withdrawn]
        asked = (row for row in self.split if not row.expected)
        outcome = Learned(
            judge=self.judge,
            model=self.context.models()["judge"],
            labels=len(self.rows),
            questions=len({row.question for row in self.rows}),
            differing=len(differing),
            unclear=tuple(Clause(text=row.context.turn.user, labels=(row.label,)) for row in asked),
        )
        if not differing:
            return outcome._replace(why=_("The judge already says what people say of these answers."))
        proposed = await self._proposed(differing, [row for row in shown if row.bad == row.marked])
        outcome = outcome._replace(proposed=proposed, unclear=(*outcome.unclear, *proposed.unclear))
        if not proposed.clauses:
            return outcome._replace(why=_("No rule explains two of the disagreements."))
        desk = self._with(proposed)
        grading = Grading(self.settings, self.context.model_factory, desk)
        after = await self._graded(grading, self.halves.held, progress)
        both = [row for row in self.halves.held if row.label in before and row.label in after]
        marked = {row.label: self._is_marked(after[row.label]) for row in both}
        compared = compare_rubrics(
            (row.question, row.bad, self._is_marked(before[row.label]), marked[row.label]) for row in both
        )
        outcome = outcome._replace(comparison=compared)
        if not compared.is_better:
            why = _(
                "The rules are not shown to help: of the held questions the judge was right more often on"
                " {better}, and less often on {worse}.",
                better=compared.better,
                worse=compared.worse,
            )
            return outcome._replace(why=why)
        write_desk(desk)
        checked = CheckedLabels(
            judge=self.judge,
            rubric=after[both[0].label].rubric,
            model=outcome.model,
            date=today(),
            source=SOURCE,
            answers=tuple((row.question, row.bad, marked[row.label]) for row in both),
        )
        save_record(checked)
        return outcome

    async def _proposed(self, differing: list[LabelledRow], agreed: list[LabelledRow]) -> Proposed:
        """The rules to try: what the lead wants, then what the model proposes."""
        model = self.context.model_factory.role("judge", temperature=JUDGE_TEMPERATURE, priority=GRADING)
        assert model is not None  # noqa: S101 - checked when it was made
        # Both kinds among the agreements, as long as there are any.
        by_kind = ([row for row in agreed if row.bad is kind] for kind in (True, False))
        proposed = await propose(
            model,
            seed=self.settings.seed,
            differing=differing,
            agreed=[row for pair in zip(*by_kind, strict=False) for row in pair] or agreed,
            desk=self.desk,
            guidelines=self.context.grading.frame.guidelines(self.language),
            language=self.language,
        )
        return proposed._replace(clauses=(*self._of_lead(), *proposed.clauses)[:MOST_CLAUSES])

    def _of_lead(self) -> Iterator[Clause]:
        """What the lead wants where people differ, each a rule to try; none that was tried before."""
        written = {clause.text for clause in (*self.desk.clauses, *self.desk.history.clauses)}
        for row in self.split:
            text = one_line(row.expected, self.language)
            if text and text not in written:
                written.add(text)
                yield Clause(text=text, labels=(row.label,))

    def _with(self, proposed: Proposed) -> DeskRules:
        """The desk with the rules that were proposed, and with what was learned from in its history."""
        history = self.desk.history
        questions = dict.fromkeys((*history.questions, *(row.question for row in self.halves.learn)))
        return DeskRules(
            clauses=(*self.desk.clauses, *proposed.clauses),
            examples=(*self.desk.examples, *proposed.examples),
            history=DeskHistory(clauses=(*history.clauses, *proposed.clauses), questions=tuple(questions)),
        )

    async def _graded(
        self, grading: Grading, rows: Sequence[LabelledRow], progress: Callable[..., None]
    ) -> dict[str, Score]:
        """The scores by label; without those that failed or were skipped."""

        async def grade(row: LabelledRow) -> tuple[str, Score]:
            scores = await grading.panel.grade(row.context)
            progress()
            return row.label, next(score for score in scores if score.judge == self.judge)

        graded = await for_each(rows, grade, self.settings.calls)
        return {label: score for label, score in graded if score.state == "scored" and not score.by_rule}

    def _is_marked(self, score: Score) -> bool:
        return is_red_alone(score, self.settings.red)


def is_labelled_answers(source: str) -> bool:
    """Whether a source is a file of labelled answers, with texts of its own; anything else is about a run."""
    path = Path(source)
    if not path.is_file() or plain_suffix(path) in WORKBOOKS:
        return False
    with without_columns():
        row = next(read_rows(path, lambda headers: True), None)
    return row is not None and {"question", "answer"} <= set(map(field_of, row.values))


def rows_of_file(path: str) -> list[LabelledRow]:
    """The rows of a file of labelled answers, each with the comments that it has."""
    file = read_labels(path)
    label = LABEL if LABEL in file.dimensions else file.dimensions[0]
    dimension = read_dimension(file, label)
    rows = []
    for at, row in enumerate(file.rows, 1):
        if grade := dimension.human_grade(row):
            meta = row.row.values.get("meta")
            said = meta.get("comments") if isinstance(meta, dict) else None
            comments = tuple(map(str, said)) if isinstance(said, list) else ()
            votes = [vote < dimension.good_from for vote in grade.votes]
            rows.append(
                row_of(f"{path}/{row.case.id or at}", row.group, labelled_context(row), votes, comments)
            )
    return rows


def learn_from(runs: Sequence[str], source: str | None, flags: dict[str, Any]) -> Learned:
    """What can be learned, without a progress bar; see `Learning`."""
    learning = Learning(runs, source, flags)
    return asyncio.run(learning.work(lambda *_unused: None))
