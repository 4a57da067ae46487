"""--redact: masks personal data before anything is stored, sent to a model, graded or shown.

Cases are masked when they are read, lines and answers as soon as they exist; everything later sees masks
only. The contacts that the support desk itself publishes are not masked.

    questions, references, facts    masked_case, while the file is read; their ids too, where they hold a name
    the customer's lines            MaskedUser, before the bot and the run file get them
    answers, passages, errors       MaskedBot, before judges, customer and run file get them

So there is one place for each text where it is still plain, and it is the place where it comes into being. A
mask names the kind of what was there, so that an answer keeps its sense and a judge can still grade it.

MaskedBot also takes secrets of the run out of answers and errors, with or without --redact.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from simulator.core.messages import changed
from simulator.core.secrets import mask_secrets
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import Answer, Bot, Case, Conversation, Query, Results, Turn, User, Utterance
from simulator.grading.grading import contacts_of
from simulator.privacy.patterns import mask_kinds, masks
from simulator.privacy.redactor import Redactor, redacted_case, redacted_value
from simulator.runner.conversation import timed_answer
from simulator.storage.results import cache_latest
from simulator.users.details import invented_values


def redactor_of(settings: Settings) -> Redactor:
    """The redactor of a run whose texts are masked."""
    # Invented details belong to nobody: the bot and the customer may say them.
    return Redactor(settings.redact_patterns, public=(*contacts_of(settings), *invented_values()))


def masked_case(case: Case, number: int, redactor: Redactor) -> Case:
    """One case without personal data, its tags included.

    An id that holds any, such as an e-mail address, becomes `masked-007` by the row's `number`.
    """
    masked, _ = redacted_case(case, redactor)
    tags = tuple(redactor.redact(tag, case.language).text for tag in case.tags)
    # Ids are shown everywhere and name files: a masked one would not be an id any more.
    is_personal = bool(redactor.redact(case.id, case.language).counts)
    return masked.model_copy(update={"tags": tags, "id": f"masked-{number:03}" if is_personal else case.id})


def masked_conversations(conversations: Iterable[Conversation], redactor: Redactor) -> Iterator[Conversation]:
    """The conversations of a run with masked cases, in their order; ids change with those of the cases."""
    numbers: dict[str, int] = {}
    for conversation in conversations:
        # By case, so that all conversations of one get the same id, as they had before.
        number = numbers.setdefault(conversation.case.id, len(numbers) + 1)
        case = masked_case(conversation.case, number, redactor)
        key = conversation.id.replace(f"/{conversation.case.id}", f"/{case.id}", 1)
        yield conversation.model_copy(update={"id": key, "case": case})


class MaskedUser:
    """A user whose lines are masked before anything else sees them."""

    def __init__(self, user: User, redactor: Redactor) -> None:
        """Masks the lines of `user`."""
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
        """`timeout` in seconds; from error messages, `in_errors` is removed as well as `secrets`."""
        self.bot, self.redactor, self.timeout = bot, redactor, timeout
        # The longest first, as in core/secrets.py.
        self.secrets = sorted(secrets, key=len, reverse=True)
        self.in_errors = sorted({*self.secrets, *in_errors}, key=len, reverse=True)

    def __getattr__(self, name: str) -> Any:
        """The bot's own attributes, such as its traits."""
        return getattr(self.bot, name)

    async def __call__(self, query: Query) -> Answer:
        """The masked answer; a failure is returned as `Answer.error`."""
        # The bot is timed here, not by the caller: masking a long answer is no part of its seconds.
        answer = _without_secrets(self.secrets, await timed_answer(self.bot, query, self.timeout))
        if answer.error:
            message = changed(answer.error.message, lambda text: mask_secrets(text, self.in_errors))
            answer = answer.model_copy(update={"error": answer.error.model_copy(update={"message": message})})
        return redacted_value(answer, self.redactor, query.language)[0] if self.redactor else answer


def _without_secrets(secrets: Sequence[str], answer: Answer) -> Answer:
    if not secrets:
        return answer
    text = answer.model_dump_json()  # searched as a whole first: a bot hardly ever reveals a secret
    if mask_secrets(text, secrets) == text:
        return answer
    return Answer.model_validate(_concealed(answer.model_dump(mode="json"), secrets))


def _concealed(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return mask_secrets(value, secrets)
    if isinstance(value, dict):
        return {key: _concealed(item, secrets) for key, item in value.items()}
    return [_concealed(item, secrets) for item in value] if isinstance(value, list) else value


@cache_latest
def masks_of(results: Results) -> dict[str, int] | None:
    """How many masks of each kind a run's texts have, most frequent first; None for a run without --redact.

    Counted from what is stored, so that it is also right for runs that were resumed, merged or played on
    other machines.
    """
    if not stored_settings(results.run.settings).redacts:
        return None
    # A mask that stands in the bot's articles counts as well: nobody can tell it from one of ours.
    kinds, pattern = mask_kinds(), masks()
    counts: Counter[str] = Counter()
    for conversation in results.conversations:
        counts.update(kinds[mask] for mask in pattern.findall(conversation.model_dump_json()))
    return dict(counts.most_common())
