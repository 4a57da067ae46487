"""Plans a run: which conversations it will have, or which rows of a data set are asked."""

import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import Message, Sentence, _
from simulator.core.roles import endpoints
from simulator.core.settings import Sample, Settings, read_sample
from simulator.core.types import Case, Conversation, Language, Persona, compact
from simulator.data.cases import read_cases, select_cases
from simulator.data.datasets import (
    DataSet,
    DatasetRequest,
    Labels,
    Need,
    RowPlan,
    SkippedRows,
    dataset_of,
    label_forms,
    label_set_problem,
    read_dataset,
    sort_labels,
)
from simulator.data.values import field_of, is_extra
from simulator.grading.metric_file import read_metric_file
from simulator.grading.outputs import ReferenceCheck
from simulator.grading.rubric import Rubric, load_judge
from simulator.runner.chains import AppliedPrompts, applied_prompts
from simulator.runner.masking import masked_case, masked_cases, masked_conversations, redactor_of
from simulator.storage.run_file import find_run, read_run

# Without --persona, each case gets one of these, as in the article that this program follows.
USUAL_PERSONAS = ("angry", "calm", "beginner")
BUNDLED = (shelves.DEMO / "cases" / "ja.csv", shelves.DEMO / "cases" / "en.csv")
# What these judges compare the answer with; of other judges the needed fields are found by name.
_COMPARES: dict[str, frozenset[Need]] = {"label": frozenset({"label"}), "choice": frozenset({"label"})}
# This many of the skipped rows are listed in the message.
_LISTED = 3


def read_plan(settings: Settings) -> tuple[Sequence[Conversation], tuple[Persona, ...]]:
    """The planned conversations in their order, and the personas that occur in them."""
    if settings.protocol == "single_turn":
        planned = plan_rows(settings)
        return planned.plan, planned.personas
    if settings.replay:
        return _replayed_plan(find_run(settings.replay, Path(settings.runs)), settings)
    cases = _cases(settings)
    personas = _personas(settings.persona or USUAL_PERSONAS)
    plan = tuple(_conversations(cases, personas, settings, at_random=not settings.persona))
    present = {conversation.persona for conversation in plan}
    return plan, tuple(p for p in personas if p.id in present)


def _replayed_plan(run: Path, settings: Settings) -> tuple[tuple[Conversation, ...], tuple[Persona, ...]]:
    """The conversations of a run that have begun and count, to be played again from the start."""
    results = read_run(run)
    from simulator.storage.results import without_superseded

    counting = {conversation.id for conversation in without_superseded(results).conversations}
    unplayed = {"turns": (), "ended": None, "reason": "", "closing": ""}
    redactor = redactor_of(settings)
    conversations = (
        masked_conversations(results.conversations, redactor) if redactor else results.conversations
    )
    plan = (
        conversation.model_copy(update=unplayed)
        for conversation, old in zip(conversations, results.conversations, strict=True)
        if conversation.turns and old.id in counting
    )
    return tuple(plan), results.personas


def _personas(names: Iterable[str]) -> list[Persona]:
    """The personas of these names; `all` stands for the whole shelf. Raises InputError if two have one id."""
    all_names = [each for name in names for each in (shelves.persona_names() if name == "all" else [name])]
    personas = [shelves.persona(name) for name in dict.fromkeys(all_names)]
    ids = [persona.id for persona in personas]
    for persona in personas:
        if ids.count(persona.id) > 1:
            msg = _(
                "--persona names two called '{persona}': rename the file of one of them.", persona=persona.id
            )
            raise InputError(msg)
    return personas


def _cases(settings: Settings) -> Sequence[Case]:
    bundled = settings.cases is None
    fixed = settings.language if settings.language in ("ja", "en") else None
    language = settings.language or ("ja" if bundled else "all")
    if settings.cases is None:
        if settings.columns:
            msg = _("--columns is about a file of your own: name it with --cases.")
            raise InputError(msg)
        read = [case for path in BUNDLED for case in read_cases(path)]
    else:
        read = list(_file_cases(settings.cases, fixed, settings))
    cases = select_cases(masked_cases(read, settings), language, settings.limit)
    if not cases:
        msg = _(
            "none of the {n} questions is in '{language}': leave out --language.",
            n=len(read),
            language=settings.language,
        )
        raise InputError(msg)
    return cases


def _file_cases(name: str, language: Language | None, settings: Settings) -> Sequence[Case]:
    """The cases of a file, of the Google Sheet in `sheet:KEY#worksheet`, or of a report's workbook."""
    cases = sheet_cases(name, language, settings)
    return read_cases(Path(name), language, settings.columns) if cases is None else cases


def sheet_cases(name: str, language: Language | None, settings: Settings) -> Sequence[Case] | None:
    """The cases of a Google Sheet or of a report's workbook; None for any other file."""
    from simulator.sheets.questions import cases_of_sheet, cases_of_workbook

    if name.startswith("sheet:"):
        return cases_of_sheet(name, language, settings.worksheet or "", settings.columns)
    return cases_of_workbook(Path(name), language) if name.lower().endswith((".xlsx", ".xlsm")) else None


def _conversations(
    cases: Iterable[Case], personas: Sequence[Persona], settings: Settings, *, at_random: bool
) -> Iterable[Conversation]:
    for case in map(compact, cases):
        # Seeded by the case, so that neither --limit nor another order changes its persona.
        rng = random.Random(f"{settings.seed}/{case.id}")  # noqa: S311 - a choice, not a secret
        for persona in [rng.choice(personas)] if at_random else personas:
            for repeat in range(1, settings.repeats + 1):
                key = f"{persona.id}/{case.id}#{repeat}"
                conversation = Conversation(id=key, case=case, persona=persona.id, repeat=repeat)
                yield compact(conversation)


class PlannedRows(NamedTuple):
    """The rows of a data set that are asked, and the settings with the judges that grade them.

    `judges_chosen_for` is the form of the data by which judges were chosen, "" if the user named them.
    `unused` are columns without a meaning, `sample_message` says how many rows were sampled.
    """

    plan: RowPlan
    personas: tuple[Persona, ...]
    settings: Settings
    skipped: SkippedRows
    judges_chosen_for: Message | str
    unused: tuple[str, ...]
    sample_message: Message | str = ""

    def messages(self) -> Iterator[Message | str]:
        """Lines on unused columns, the sample, the judges that were chosen, and skipped rows."""
        if self.unused and self.settings.prompt is None:
            yield _(
                "{cases}: ignored columns: {unused}.",
                cases=self.settings.cases,
                unused=", ".join(self.unused),
            )
        if self.sample_message:
            yield self.sample_message
        if self.judges_chosen_for:
            names = ", ".join(self.settings.judges)
            yield _(
                "Judges that fit the data ({judges_chosen_for}): {names}. Others: --judges NAME,...",
                judges_chosen_for=self.judges_chosen_for,
                names=names,
            )
        if count := self.skipped.count:
            yield _(
                "{count} of {rows} rows left out (--strict stops at the first):",
                count=count,
                rows=self.skipped.rows,
            )
            yield from (_("  {row}", row=row.message) for row in self.skipped.listed[:_LISTED])
            if count > _LISTED:
                yield _("  and {n} more; the report lists them.", n=count - _LISTED)


def plan_rows(settings: Settings) -> PlannedRows:
    """Plans the rows of `settings.cases`, in their order.

    If the user names no judges, those that fit the form of the data are chosen. Raises CaseFileError for a
    file without a valid row, and with `--strict` at the first invalid one.
    """
    if settings.cases is None:
        msg = _("evaluate needs a data set: python run.py evaluate questions.jsonl")
        raise InputError(msg)
    prompts = applied_prompts(settings)
    labels = label_forms(settings.labels, prompts.labels) if prompts else settings.labels
    data = _read(settings.cases, settings, labels, prompts)
    chosen_for: Message | str = ""
    if "judges" not in settings.model_fields_set and not (settings.outputs or settings.scoring):
        judges, chosen_for = data.profile.judges(offline=endpoints(settings)["judge"] is None)
        settings = settings.model_copy(update={"judges": judges})
    if "label" in map(shelves.judge_name, settings.judges):
        all_labels = labels or label_forms(sort_labels(data.profile.names))
        if problem := label_set_problem(all_labels):
            msg = _(
                "{cases}: {problem} Name all there are: --labels A,B.", cases=settings.cases, problem=problem
            )
            raise InputError(msg)
        settings = settings.model_copy(update={"labels": all_labels})
    if settings.outputs is None:
        names = [shelves.judge_name(name) for name in settings.judges]
        data.check([_needs(name) for name in settings.judges], names)
    else:
        references = ReferenceCheck(read_metric_file(settings.outputs))
        data.skip_where(references)
        references.done()
    sample = read_sample(settings.sample) if settings.sample else None
    rows = data.rows(settings.language, sample, settings.limit)
    scripted = shelves.scripted()
    plan = RowPlan(rows, scripted.id, settings.repeats)
    unused = tuple(name for name in data.profile.columns if not (field_of(name) or is_extra(name)))
    message = _sample_message(data.count_in(settings.language), sample) if sample else ""
    return PlannedRows(plan, (scripted,), settings, data.skipped, chosen_for, unused, message)


def _sample_message(rows: int, sample: Sample) -> Sentence | str:
    """How many of the rows were sampled, before --limit is applied."""
    if sample.size >= rows:
        return _("All {rows} rows: no more than the sample's {size}.", rows=rows, size=sample.size)
    return _(
        "{size} of {rows} rows at random (seed {seed:d}).", size=sample.size, rows=rows, seed=sample.seed
    )


def _read(name: str, settings: Settings, labels: Labels, prompts: AppliedPrompts | None) -> DataSet:
    fixed = settings.language if settings.language in ("ja", "en") else None
    redactor = redactor_of(settings)
    mask: Callable[[Case, int], Case] = (
        partial(masked_case, redactor=redactor) if redactor else lambda case, _: case
    )
    request = DatasetRequest(fixed, settings.strict, prompts is None, tuple(labels), mask, settings.columns)
    if prompts is not None:
        request = request._replace(lacks=prompts.row_check)
    cases = sheet_cases(name, fixed, settings)
    return read_dataset(Path(name), request) if cases is None else dataset_of(name, cases, request)


def _needs(name: str) -> frozenset[Need]:
    """The fields of a row that a judge compares the answer with; none if it looks at the answer alone."""
    score_name, judge = shelves.judge_name(name), load_judge(name)
    if score_name in _COMPARES:
        return _COMPARES[score_name]
    needs = judge.needs if isinstance(judge, Rubric) else inspect.signature(judge).parameters
    return frozenset({"references"} if {"reference", "references"} & {*needs} else ())
