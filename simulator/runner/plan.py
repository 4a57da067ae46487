"""Who asks what: the conversations of a run, before any of them is played."""

import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.roles import endpoints
from simulator.core.settings import Sample, Settings, read_sample
from simulator.core.types import Case, Conversation, Language, Persona, compact
from simulator.data.cases import read_cases, select
from simulator.data.datasets import (
    DataSet,
    DatasetRequest,
    Labels,
    Need,
    RowPlan,
    SkippedRows,
    dataset_of,
    in_order,
    label_forms,
    label_set_problem,
    read_dataset,
)
from simulator.data.values import field_of, is_extra
from simulator.grading.metric_file import read_outputs
from simulator.grading.outputs import ReferenceCheck
from simulator.grading.rubric import Rubric, load_judge
from simulator.runner.chains import AppliedPrompts, applied
from simulator.runner.masking import masked_case, masked_cases, masked_talks, redactor_of
from simulator.storage.run_file import find_run, read_run

# Without --persona, one of these per question, as in the article this follows.
USUAL_PERSONAS = ("angry", "calm", "beginner")
BUNDLED = (shelves.DEMO / "cases" / "ja.csv", shelves.DEMO / "cases" / "en.csv")


def read_plan(settings: Settings) -> tuple[Sequence[Conversation], tuple[Persona, ...]]:
    """The planned conversations in order, and the personas that appear in them."""
    if settings.protocol == "single_turn":
        pass  # which reads sheets as this module does

        planned = plan_rows(settings)
        return planned.plan, planned.personas
    if settings.replay:
        return _plan_of(find_run(settings.replay, Path(settings.runs)), settings)
    cases = _cases(settings)
    personas = _personas(settings.persona or USUAL_PERSONAS)
    plan = tuple(_conversations(cases, personas, settings, by_lot=not settings.persona))
    present = {conversation.persona for conversation in plan}
    return plan, tuple(p for p in personas if p.id in present)


def _plan_of(run: Path, settings: Settings) -> tuple[tuple[Conversation, ...], tuple[Persona, ...]]:
    """The conversations of a run, to be played again from the start."""
    results = read_run(run)
    from simulator.storage.results import counted

    kept = {conversation.id for conversation in counted(results).conversations}
    unplayed = {"turns": (), "ended": None, "reason": "", "closing": ""}
    redactor = redactor_of(settings)
    conversations = masked_talks(results.conversations, redactor) if redactor else results.conversations
    begun = (
        conversation
        for conversation, old in zip(conversations, results.conversations, strict=True)
        if conversation.turns and old.id in kept
    )
    return tuple(conversation.model_copy(update=unplayed) for conversation in begun), results.personas


def _personas(names: Iterable[str]) -> list[Persona]:
    """The personas named; `all` stands for the whole shelf."""
    every = [each for name in names for each in (shelves.persona_names() if name == "all" else [name])]
    personas = [shelves.persona(name) for name in dict.fromkeys(every)]
    ids = [persona.id for persona in personas]
    for persona in personas:
        if ids.count(persona.id) > 1:
            msg = f"--persona names two called '{persona.id}': rename the file of one of them."
            raise InputError(msg)
    return personas


def _cases(settings: Settings) -> Sequence[Case]:
    bundled = settings.cases is None
    fixed = settings.language if settings.language in ("ja", "en") else None
    language = settings.language or ("ja" if bundled else "all")
    if settings.cases is None:
        if settings.columns:
            msg = "--columns is about a file of your own: name it with --cases."
            raise InputError(msg)
        found = [case for path in BUNDLED for case in read_cases(path)]
    else:
        found = list(_named_cases(settings.cases, fixed, settings))
    cases = select(masked_cases(found, settings), language, settings.limit)
    if not cases:
        msg = f"none of the {len(found)} questions is in '{settings.language}': leave out --language."
        raise InputError(msg)
    return cases


def _named_cases(name: str, language: Language | None, settings: Settings) -> Sequence[Case]:
    """The questions of a file, of the Google Sheet in `sheet:KEY#worksheet`, or of a report's workbook."""
    found = already_read(name, language, settings)
    return read_cases(Path(name), language, settings.columns) if found is None else found


def already_read(name: str, language: Language | None, settings: Settings) -> Sequence[Case] | None:
    """The cases of a Google Sheet or of a report's workbook; None for a file of questions."""
    from simulator.sheets.questions import cases_of_sheet, cases_of_workbook

    if name.startswith("sheet:"):
        return cases_of_sheet(name, language, settings.worksheet or "", settings.columns)
    return cases_of_workbook(Path(name), language) if name.lower().endswith((".xlsx", ".xlsm")) else None


def _conversations(
    cases: Iterable[Case], personas: Sequence[Persona], settings: Settings, *, by_lot: bool
) -> Iterable[Conversation]:
    for case in map(compact, cases):
        # Seeded by the question, so that --limit or another order does not deal other personas.
        lot = random.Random(f"{settings.seed}/{case.id}")  # noqa: S311 - a choice, not a secret
        cast = [lot.choice(personas)] if by_lot else personas
        for persona in cast:
            for repeat in range(1, settings.repeats + 1):
                key = f"{persona.id}/{case.id}#{repeat}"
                conversation = Conversation(id=key, case=case, persona=persona.id, repeat=repeat)
                yield compact(conversation)


# What a judge compares the answer with; for all others, what they ask for by name.
_COMPARES: dict[str, frozenset[Need]] = {"label": frozenset({"label"}), "choice": frozenset({"label"})}
# So many of the rows that are left out are told at once.
_TOLD = 3


class PlannedRows(NamedTuple):
    """What is asked, who asks, the settings with the judges that were chosen, and what was left out."""

    plan: RowPlan
    personas: tuple[Persona, ...]
    settings: Settings
    skipped: SkippedRows
    chosen: str
    unused: tuple[str, ...]
    drawn: str = ""

    def told(self) -> Iterator[str]:
        """Lines on what is not used, what was drawn, which judges were chosen and which rows are left out."""
        if self.unused and self.settings.prompt is None:
            yield f"{self.settings.cases}: nothing is made of the columns {', '.join(self.unused)}."
        if self.drawn:
            yield self.drawn
        if self.chosen:
            names = ", ".join(self.settings.judges)
            yield f"Judges that fit the data ({self.chosen}): {names}. Others: --judges NAME,..."
        if count := self.skipped.count:
            shown = [f"  {row}" for row in self.skipped.listed[:_TOLD]]
            more = [f"  and {count - _TOLD} more; the report lists them."] if count > _TOLD else []
            head = f"{count:,} of {self.skipped.rows:,} rows left out (--strict stops at the first):"
            yield "\n".join([head, *shown, *more])


def plan_rows(settings: Settings) -> PlannedRows:
    """The rows of `settings.cases` that are asked, in their order.

    Without judges of the user's own, those that fit the form of the data are chosen. Raises CaseFileError
    for a file without one good row, and with `--strict` at the first faulty one.
    """
    if settings.cases is None:
        msg = "evaluate needs a data set: python run.py evaluate questions.jsonl"
        raise InputError(msg)
    prompted = applied(settings)
    labels = label_forms(settings.labels, prompted.labels) if prompted else settings.labels
    found = _read(settings.cases, settings, labels, prompted)
    chosen = ""
    if _is_to_be_chosen(settings):
        judges, chosen = found.profile.judges(offline=endpoints(settings)["judge"] is None)
        settings = settings.model_copy(update={"judges": judges})
    if "label" in map(shelves.judge_name, settings.judges):
        every = labels or label_forms(in_order(found.profile.names))
        if wrong := label_set_problem(every):
            msg = f"{settings.cases}: {wrong} Name all there are: --labels A,B."
            raise InputError(msg)
        settings = settings.model_copy(update={"labels": every})
    if settings.outputs is None:
        found.check(
            [_needs(name) for name in settings.judges], [shelves.judge_name(n) for n in settings.judges]
        )
    else:
        references = ReferenceCheck(read_outputs(settings.outputs))
        found.leave_out(references)
        references.done()
    sample = read_sample(settings.sample) if settings.sample else None
    rows = found.rows(settings.language, sample, settings.limit)
    scripted = shelves.scripted()
    plan = RowPlan(rows, scripted.id, settings.repeats)
    unused = tuple(each for each in found.profile.columns if not (field_of(each) or is_extra(each)))
    drawn = _drawn(found.spoken(settings.language), sample) if sample else ""
    return PlannedRows(plan, (scripted,), settings, found.skipped, chosen, unused, drawn)


def _drawn(there: int, sample: Sample) -> str:
    """How many of the rows were drawn; the limit comes after the lot."""
    if sample.size >= there:
        return f"All {there:,} rows: no more than the sample's {sample.size:,}."
    return f"{sample.size:,} of {there:,} rows by lot (seed {sample.seed})."


def _read(name: str, settings: Settings, labels: Labels, prompted: AppliedPrompts | None) -> DataSet:
    fixed = settings.language if settings.language in ("ja", "en") else None
    redactor = redactor_of(settings)
    mask: Callable[[Case, int], Case] = (
        partial(masked_case, redactor=redactor) if redactor else lambda case, _: case
    )
    wish = DatasetRequest(fixed, settings.strict, prompted is None, tuple(labels), mask, settings.columns)
    if prompted is not None:
        wish = wish._replace(lacks=prompted.lacks)
    cases = already_read(name, fixed, settings)
    return read_dataset(Path(name), wish) if cases is None else dataset_of(name, cases, wish)


def _is_to_be_chosen(settings: Settings) -> bool:
    """Whether nobody has said who grades."""
    return "judges" not in settings.model_fields_set and not (settings.outputs or settings.scoring)


def _needs(name: str) -> frozenset[Need]:
    """What of a row a judge compares the answer with; nothing for one that looks at the answer alone."""
    filed, judge = shelves.judge_name(name), load_judge(name)
    if filed in _COMPARES:
        return _COMPARES[filed]
    wanted = judge.needs if isinstance(judge, Rubric) else inspect.signature(judge).parameters
    return frozenset({"references"} if {"reference", "references"} & {*wanted} else ())
