"""Whole values without the personal data in their texts: cases, dialogues, and any JSON."""

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from simulator.core.types import Case, Language
from simulator.redaction.redactor import Redactor

V = TypeVar("V", bound=BaseModel)

# What things are known by, and words of the program: no texts.
KEPT = frozenset(
    (
        "id", "case", "conversation", "session", "persona", "role", "language", "tags", "kind", "judge",
        "handover", "next", "ended", "model", "source", "label", "broken_rules", "rubric", "state",
        "severity", "link",
    )
)  # fmt: skip

# What our own words call their texts says nothing about these; any other key may: {"会員番号": 12345678}.
_SAYS_NOTHING = frozenset(
    (
        "question", "references", "history", "content", "goal", "facts", "knows", "unknown", "choices",
        "answer", "contexts", "script", "recorded", "text", "user", "clean", "reason", "closing", "message",
    )
)  # fmt: skip


def redacted_json(
    value: JsonValue, redactor: Redactor, language: Language, *, kept: frozenset[str] = frozenset()
) -> tuple[JsonValue, dict[str, int]]:
    """JSON with masks in its texts. A key tells what its value is: {"会員番号": 12345678}; keys stay."""
    counts: Counter[str] = Counter()

    def walk(part: JsonValue, key: str) -> JsonValue:
        if isinstance(part, Mapping):
            return {name: item if name in kept else walk(item, name) for name, item in part.items()}
        if isinstance(part, list):
            return [walk(item, key) for item in part]
        if isinstance(part, str) or (isinstance(part, int) and not isinstance(part, bool)):
            return _masked(part, key, redactor, language, counts)
        return part

    return walk(value, ""), dict(counts)


def redacted_value(value: V, redactor: Redactor, language: Language) -> tuple[V, dict[str, int]]:
    """A case, message, answer, turn or conversation with masks in its texts; ids and words of ours stay."""
    kept = KEPT | ({"passages"} if isinstance(value, Case) else set())
    masked, counts = redacted_json(value.model_dump(mode="json"), redactor, language, kept=frozenset(kept))
    return type(value).model_validate(masked), counts


def redacted_case(case: Case, redactor: Redactor | None = None) -> tuple[Case, dict[str, int]]:
    """A case with masks in question, history, references, facts and recorded answers, in its own language."""
    return redacted_value(case, redactor or Redactor(), case.language)


def _masked(
    part: str | int, key: str, redactor: Redactor, language: Language, counts: Counter[str]
) -> JsonValue:
    text = str(part)
    done = redactor.redact(text, language)
    label = f"{key.replace('_', ' ')}: "
    if done.text == text and key and key not in _SAYS_NOTHING:
        labelled = redactor.redact(label + text, language)
        if labelled.text.startswith(label):
            done = labelled._replace(text=labelled.text.removeprefix(label))
    counts.update(done.counts)
    return done.text if done.counts else part
