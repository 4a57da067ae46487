"""A data set as documents of lm_eval: each row with the text that is sent for it, its target and its case."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from simulator.core.errors import CaseFileError, InputError
from simulator.core.settings import Settings, from_run
from simulator.core.types import Case
from simulator.data.datasets import labels_in
from simulator.harness.documents import NO_TEXT
from simulator.runner.chains import applied
from simulator.runner.plan import plan_rows
from simulator.runner.prompts import PromptRenderer, RenderedPrompt

Document = dict[str, Any]
# What a written task says of itself: settings of a rehearsal that concern its rows and who grades them.
OF_A_TASK = (
    "cases", "columns", "worksheet", "language", "prompt", "shots", "choosing", "labels", "positive",
    "outputs", "scoring", "sample", "strict", "redact", "redact_patterns", "seed", "judges", "judging",
    "votes", "guidelines", "contacts", "ng_words", "tokenizer",
)  # fmt: skip


class Documents(NamedTuple):
    """The documents of a task, and its settings with the judges that fit its rows."""

    rows: list[Document]
    settings: Settings
    skipped: int


def documents(task: str, given: Mapping[str, Any]) -> Documents:
    """The rows of a data set; `given` are the settings of `OF_A_TASK` that are not as usual."""
    planned = plan_rows(from_run({**given, "protocol": "single_turn"}))
    cases = [talk.case for talk in planned.plan]
    rendering = _rendering(planned.settings, cases)
    rows = [_row(task, case, rendering, planned.settings) for case in cases]
    return Documents(rows, planned.settings, planned.skipped.count)


def _rendering(settings: Settings, cases: list[Case]) -> PromptRenderer | None:
    prompts = applied(settings)
    if prompts is None:
        return None
    if prompts.chain is not None:
        msg = f"--prompt {settings.prompt}: a chain is several requests, and a task of lm_eval is one."
        raise InputError(msg)
    return PromptRenderer(prompts.prompts[0], tuple(settings.labels) or labels_in(cases))


def _row(task: str, case: Case, rendering: PromptRenderer | None, settings: Settings) -> Document:
    sent = (
        rendering(case) if rendering else RenderedPrompt(system="", user=case.question, choices=case.choices)
    )
    text = "\n\n".join(part for part in (sent.system, sent.user) if part) or NO_TEXT
    right = (rendering.right(case) if rendering else "") or case.label or ""
    gold = sent.choices.index(right) if right in sent.choices else -1
    if is_chosen(settings) and gold < 0:
        msg = f"{settings.cases}, row {case.id}: --choosing likelihood needs choices, and a label among them."
        raise CaseFileError(msg)
    return {
        "task": task,
        "id": case.id,
        "text": text,
        "target": next(_targets(case, right), ""),
        "targets": list(_targets(case, right)),
        "choices": list(sent.choices),
        "gold": gold,
        "language": case.language,
        "question": case.question,
        "user": sent.user,
        "system": sent.system,
        "shots": [message.model_dump() for message in sent.history],
        "allowed": list(sent.choices) if rendering else [],
        "case": case.model_dump_json(exclude_defaults=True),
    }


def _targets(case: Case, right: str) -> Iterator[str]:
    yield from case.references_at(1) or filter(None, (right, case.answer))


def is_chosen(settings: Settings) -> bool:
    """Whether the answer is the likeliest of its choices, and nothing is written."""
    return settings.choosing == "likelihood"


def check_written(settings: Settings) -> None:
    """Raises InputError for settings that a task of lm_eval has no place for."""
    if settings.repeats > 1:
        msg = "--repeats is not for tasks of lm_eval: add `repeats: N` to the written YAML."
        raise InputError(msg)
