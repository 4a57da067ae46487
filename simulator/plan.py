"""Who asks what: the conversations of a run, before any of them is played."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.types import Case, Conversation, Language, Persona, compact
from simulator.data.cases import read_cases, select
from simulator.masking import masked_cases, masked_talks, redactor_of
from simulator.storage.run_file import find_run, read_run

# Without --persona, one of these per question, as in the article this follows.
USUAL_PERSONAS = ("angry", "calm", "beginner")
BUNDLED = (shelves.DEMO / "cases" / "ja.csv", shelves.DEMO / "cases" / "en.csv")


def read_plan(settings: Settings) -> tuple[Sequence[Conversation], tuple[Persona, ...]]:
    """The planned conversations in order, and the personas that appear in them."""
    if settings.protocol == "single_turn":
        from simulator.row_plan import plan_rows  # which reads sheets as this module does

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

    kept = {talk.id for talk in counted(results).conversations}
    unplayed = {"turns": (), "ended": None, "reason": "", "closing": ""}
    redactor = redactor_of(settings)
    talks = masked_talks(results.conversations, redactor) if redactor else results.conversations
    begun = (
        talk for talk, old in zip(talks, results.conversations, strict=True) if talk.turns and old.id in kept
    )
    return tuple(talk.model_copy(update=unplayed) for talk in begun), results.personas


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
                talk = Conversation(id=key, case=case, persona=persona.id, repeat=repeat)
                yield compact(talk)
