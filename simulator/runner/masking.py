"""--redact: personal data is masked before anything is stored, sent to a model, graded or shown.

Cases are masked when they are read, what customers and bots say as soon as it is said; all that comes later
sees masks only. What the desk itself makes public, its contacts, stays.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from simulator.core.secrets import concealed
from simulator.core.settings import Settings
from simulator.core.types import (
    Answer,
    Bot,
    Case,
    Conversation,
    Failure,
    Query,
    Results,
    Turn,
    User,
    Utterance,
)
from simulator.privacy.patterns import kinds_of_masks, masks
from simulator.privacy.redactor import KEPT, Redactor, redacted_case, redacted_value
from simulator.runner.conversation import answered
from simulator.storage.results import once


def redactor_of(settings: Settings) -> Redactor | None:
    """What masks this run's texts; None where they are stored as they are."""
    if not settings.redacts:
        return None
    from simulator.grading.panel import contacts_of

    return Redactor(settings.redact_patterns, public=contacts_of(settings))


def masked_cases(cases: Sequence[Case], settings: Settings) -> Sequence[Case]:
    """The cases without personal data; an id that holds some gives way to the case's place in the file."""
    redactor = redactor_of(settings)
    if redactor is None:
        return cases
    return [masked_case(case, number, redactor) for number, case in enumerate(cases, 1)]


def masked_case(case: Case, number: int, redactor: Redactor) -> Case:
    """One case without personal data, its tags included."""
    masked, _ = redacted_case(case, redactor)
    tags = tuple(redactor.redact(tag, case.language).text for tag in case.tags)
    is_personal = bool(redactor.redact(case.id, case.language).counts)
    return masked.model_copy(update={"tags": tags, "id": f"masked-{number:03}" if is_personal else case.id})


def masked_talks(conversations: Iterable[Conversation], redactor: Redactor) -> Iterator[Conversation]:
    """The conversations of a run with masked cases, in their order; an id follows that of its case."""
    numbers: dict[str, int] = {}
    for conversation in conversations:
        number = numbers.setdefault(conversation.case.id, len(numbers) + 1)
        case = masked_case(conversation.case, number, redactor)
        key = conversation.id.replace(f"/{conversation.case.id}", f"/{case.id}", 1)
        yield conversation.model_copy(update={"id": key, "case": case})


class MaskedUser:
    """A customer whose words are masked before anyone hears them."""

    def __init__(self, user: User, redactor: Redactor) -> None:
        """Speaks as `user` does."""
        self.user, self.redactor = user, redactor

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line, masked."""
        line = await self.user(case, turns)
        return redacted_value(line, self.redactor, case.language)[0]


class MaskedBot:
    """A bot whose answers, passages and error messages are masked as they arrive: secrets, personal data."""

    def __init__(
        self,
        bot: Bot,
        redactor: Redactor | None,
        timeout: float,
        secrets: Iterable[str] = (),
        in_errors: Iterable[str] = (),
    ) -> None:
        """Has the bot's own traits and connections; `timeout` in seconds. Errors lose more than `secrets`."""
        self.bot, self.redactor, self.timeout = bot, redactor, timeout
        self.secrets = sorted(secrets, key=len, reverse=True)
        self.in_errors = sorted({*self.secrets, *in_errors}, key=len, reverse=True)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the bot has."""
        return getattr(self.bot, name)

    async def __call__(self, query: Query) -> Answer:
        """The answer; a failure is one as well."""
        answer = _without(self.secrets, await answered(self.bot, query, self.timeout))
        if answer.error:
            message = concealed(answer.error.message, self.in_errors)
            answer = answer.model_copy(update={"error": Failure(kind=answer.error.kind, message=message)})
        return redacted_value(answer, self.redactor, query.language)[0] if self.redactor else answer


def _without(secrets: Sequence[str], answer: Answer) -> Answer:
    """The answer without secrets that the bot told, which hardly ever happens."""
    if not secrets:
        return answer
    told = answer.model_dump_json()
    if not any(json.dumps(secret, ensure_ascii=False)[1:-1] in told for secret in secrets):
        return answer
    return Answer.model_validate(_concealed(answer.model_dump(mode="json"), secrets))


def _concealed(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return concealed(value, secrets)
    if isinstance(value, dict):
        return {key: _concealed(item, secrets) for key, item in value.items()}
    return [_concealed(item, secrets) for item in value] if isinstance(value, list) else value


@once
def masks_of(results: Results) -> dict[str, int] | None:
    """How many masks of each kind the texts of a run hold, every text once; None for a run without --redact.

    Counted from what is stored, so that it holds for runs that were resumed, merged or held elsewhere.
    """
    settings = results.run.settings
    if settings.get("redact") != "on" and not (
        settings.get("redact") == "auto" and settings.get("adapter") == "recorded"
    ):
        return None
    kinds = kinds_of_masks()
    counts = Counter(kinds[mask[0]] for text in _masked(results) for mask in masks().finditer(text))
    return dict(counts.most_common())


def _masked(results: Results) -> set[str]:
    """Every text of the cases and of the dialogues that has a mask in it."""
    search = masks().search
    return {text for text in _texts(results) if search(text)}


def _texts(results: Results) -> Iterator[str]:
    """Every text of the cases and of the dialogues; those of a case once."""
    cases: set[str] = set()
    for conversation in results.conversations:
        if conversation.case.id not in cases:
            cases.add(conversation.case.id)
            yield from _within(conversation.case.model_dump(mode="json", exclude_defaults=True))
        for turn in conversation.turns:
            yield from _within(turn.model_dump(mode="json", exclude_defaults=True))
        yield conversation.closing


def _within(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in KEPT or key == "tags":
                yield from _within(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _within(item)
