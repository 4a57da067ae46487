"""Reads the answer, its passages and the name of the conversation from replies."""

from dataclasses import dataclass
from typing import Any

from rag_adapters._json import Condition, JsonPath, as_json, kind
from simulator import Answer, BotFailure, Passage, _, passages_of

_NOTHING = object()


@dataclass(frozen=True)
class ReplyPaths:
    """The paths of a reply, which is one JSON value, or the values of a stream in their order."""

    answer: JsonPath
    passages: JsonPath | None
    passage_text: JsonPath
    passage_id: JsonPath
    conversation: JsonPath | None = None
    restart: Condition | None = None

    def read(self, replies: list[Any]) -> Answer:
        """The answer in a reply. Raises BotFailure when there is none."""
        return Answer(
            text=self._text(replies),
            passages=self._passages(replies),
            shows_passages=self.passages is not None,
        )

    def conversation_in(self, replies: list[Any]) -> str:
        """The bot's own name for the conversation; "" when no path is configured."""
        if self.conversation is None:
            return ""
        found = [self.conversation.within(reply) for reply in replies]
        named = next((each for each in reversed(found) if each not in (None, "")), None)
        if named is None:
            named = self.conversation.of(replies[-1])  # says what is there instead
        if named is None or isinstance(named, (dict, list)):
            raise BotFailure(
                "malformed",
                _("what stands at {conversation} names no conversation", conversation=self.conversation.text),
            )
        return str(named)

    def _text(self, replies: list[Any]) -> str:
        """The text of all parts, from the last one that restarts on."""
        parts: list[str] = []
        seen = False
        for reply in replies:
            found = self.answer.within(reply, _NOTHING)
            if found is _NOTHING:
                continue
            seen = True
            if self.restart and self.restart.holds(reply):
                parts = []
            parts.append(self._part(found))
        if not seen:
            self.answer.of(replies[-1])  # says what is there instead
        text = "".join(parts)
        if not text:
            raise BotFailure("empty", _("the bot's answer at {answer} is empty", answer=self.answer.text))
        return text

    def _part(self, value: Any) -> str:
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return "\n".join(value)
        if value is None or value == []:
            return ""
        if isinstance(value, (dict, list)):
            raise BotFailure(
                "malformed",
                _("what stands at {answer} is no text: it {kind}", answer=self.answer.text, kind=kind(value)),
            )
        return value if isinstance(value, str) else as_json(value)

    def _passages(self, replies: list[Any]) -> tuple[Passage, ...]:
        """The distinct passages; a path that leads nowhere means none."""
        entries: list[Any] = []
        for reply in replies:
            found = self.passages.within(reply) if self.passages else None
            for entry in found if isinstance(found, list) else [] if found is None else [found]:
                document = self._document(entry)
                if document not in entries:
                    entries.append(document)
        return passages_of(entries)

    def _document(self, entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        own = {"text": self.passage_text.within(entry), "id": self.passage_id.within(entry)}
        return {**entry, **{key: value for key, value in own.items() if value is not None}}
