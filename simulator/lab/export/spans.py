"""A run as spans, by OpenTelemetry's conventions for generative AI: a trace for each conversation.

    conversation angry/fees-1#1             who asked what, and how it ended
      turn 1                                whether it is red, and why
        customer angry                      the customer's line                          gen_ai: chat
        invoke_agent demo                   the answer, its time to the first token      gen_ai: invoke_agent
          retrieval                         the documents                                gen_ai: retrieval
          execute_tool order_status         one of each tool that was called             gen_ai: execute_tool
        judge turn                          what a judge says of it                      gen_ai.evaluation.*

A grade also stands as the event `gen_ai.evaluation.result` at the answer, one of the whole conversation at
the conversation: that is where the conventions want it. Texts, documents and reasons are content, which the
conventions leave out unless somebody asks for it; of a run with masks they are the masked ones.

Ids follow from run, conversation and place, so that a run that is sent again has the same. A run file holds
how long answers took and not when: turns stand behind each other from the start of the run on.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from simulator.core.types import (
    LEXICAL,
    Answer,
    ChatMessage,
    Conversation,
    Results,
    Score,
    Turn,
    Usage,
)
from simulator.results.figures import RedTurn

Attributes = dict[str, str | int | float | bool]
# OpenInference's words for the kinds of spans, which Phoenix and others show.
Kind = Literal["CHAIN", "LLM", "AGENT", "RETRIEVER", "TOOL", "EVALUATOR"]
RESULT = "gen_ai.evaluation.result"
# Nanoseconds between spans whose times nobody knows, so that they are shown in their order.
_STEP = 1000


@dataclass(frozen=True)
class TraceSpan:
    """One span; ids are numbers, times nanoseconds since 1970. `parent` is None for the root of a trace.

    `events` are evaluation results, by their attributes; `error` is why it failed, None if it did not.
    """

    name: str
    trace: int
    id: int
    parent: int | None
    start: int
    end: int
    is_client: bool = False
    attributes: Attributes = field(default_factory=dict)
    events: Sequence[Attributes] = ()
    error: str | None = None


class Spans:
    """Makes the spans of a run's conversations; `content` says whether texts are among them."""

    def __init__(self, results: Results, red: Sequence[RedTurn], *, content: bool) -> None:
        self._results, self._content = results, content
        self._red = {(turn.conversation, turn.turn): turn for turn in red}
        self._bot = str(results.run.settings.get("adapter", "demo"))

    def __iter__(self) -> Iterator[TraceSpan]:
        """All spans, conversation by conversation in the order of the plan, a parent before its children."""
        for conversation in self._results.conversations:
            if conversation.turns:
                yield from self._conversation(conversation)

    def _conversation(self, conversation: Conversation) -> Iterator[TraceSpan]:
        run = self._results.run
        key = f"{run.id}/{conversation.id}"
        trace = _number(key, 16)
        start = int(run.created.timestamp() * 1e9)
        ends = [start]
        for turn in conversation.turns:
            ends.append(ends[-1] + _STEP + int((turn.answer.seconds or 0) * 1e9))
        by_turn = self._results.scores.of_conversations([conversation.id]).get(conversation.id, {})
        whole = [score for scores in by_turn.values() for score in _grades(scores) if score.is_whole]
        attributes: Attributes = {
            "gen_ai.conversation.id": key,
            "session.id": key,
            "rehearsal.run": run.id,
            "rehearsal.conversation": conversation.id,
            "rehearsal.persona": conversation.persona,
            "rehearsal.case": conversation.case.id,
            "rehearsal.language": conversation.case.language,
            "rehearsal.ended": str(conversation.ended or ""),
        }
        said = [*map(_asked, conversation.turns), _answered(conversation.turns[-1].answer)]
        root = TraceSpan(
            f"conversation {conversation.id}", trace, _number(f"{key}/", 8), None, start, ends[-1],
            attributes=_of_kind("CHAIN") | attributes | self._messages(said[:1], said[-1:]),
            events=tuple(map(self._evaluation, whole)),
        )  # fmt: skip
        yield root
        for turn, begins, end in zip(conversation.turns, ends, ends[1:], strict=False):
            yield from self._turn(root, conversation, turn, by_turn.get(turn.index, {}), begins, end)

    def _turn(  # noqa: PLR0917 - where and when it was, and what was said of it
        self,
        root: TraceSpan,
        conversation: Conversation,
        turn: Turn,
        scores: Mapping[str, Score],
        start: int,
        end: int,
    ) -> Iterator[TraceSpan]:
        asked = _asked(turn)
        attributes: Attributes = {"rehearsal.turn": turn.index}
        if red := self._red.get((conversation.id, turn.index)):
            attributes["rehearsal.severity"] = red.marks[0].severity
            attributes["rehearsal.marks"] = ",".join(mark.kind for mark in red.marks)
        messages = self._messages([asked], [_answered(turn.answer)])
        span = _child(root, f"turn {turn.index}", "CHAIN", start, end, attributes | messages)
        yield span
        yield self._customer(span, conversation, asked)
        of_answer = [score for score in _grades(scores) if not score.is_whole]
        yield from self._answer(span, turn, messages, of_answer)
        for number, score in enumerate(_grades(scores), 1):
            failure = str(score.detail.get("kind") or "error") if score.state == "failed" else None
            evaluation = self._evaluation(score)
            # Tools show what came out of a step; they have no place for a grade of its own.
            shown = f"{score.value:g}" if score.value is not None else failure
            said = (shown, evaluation.get("gen_ai.evaluation.explanation"))
            evaluation["output.value"] = "\n".join(str(part) for part in said if part)
            at = end + number * _STEP
            yield _child(span, f"judge {score.judge}", "EVALUATOR", at, at, evaluation, error=failure)

    def _customer(self, turn: TraceSpan, conversation: Conversation, asked: ChatMessage) -> TraceSpan:
        """The customer's line: a call of a model where one plays."""
        model = conversation.user_model or self._results.run.models.get("user", LEXICAL)
        is_model = model != LEXICAL and conversation.persona != "scripted"
        call: Attributes = {"gen_ai.operation.name": "chat", **_of_model(model)} if is_model else {}
        line = ChatMessage(role="assistant", content=asked.content)
        return _child(
            turn, f"customer {conversation.persona}", "LLM" if is_model else "CHAIN", turn.start, turn.start,
            call | self._messages([], [line]),
        )  # fmt: skip

    def _answer(
        self, span: TraceSpan, turn: Turn, messages: Attributes, scores: Sequence[Score]
    ) -> Iterator[TraceSpan]:
        answer, bot = turn.answer, self._bot
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": bot,
            "gen_ai.agent.name": bot,
            **_of_usage(answer.usage),
        }
        if answer.first_token_seconds is not None:
            attributes["gen_ai.request.stream"] = True
            attributes["gen_ai.response.time_to_first_chunk"] = answer.first_token_seconds
        agent = _child(
            span, f"invoke_agent {bot}", "AGENT", span.start + _STEP, span.end, attributes | messages,
            events=tuple(map(self._evaluation, scores)), error=answer.error.kind if answer.error else None,
        )  # fmt: skip
        yield agent
        if answer.shows_passages and not answer.error:
            documents: Attributes = {"rehearsal.documents": len(answer.passages)}
            if self._content:
                listed = [
                    {"id": passage.id, "score": passage.score, "content": passage.text}
                    for passage in answer.passages
                ]
                documents["gen_ai.retrieval.query.text"] = turn.user
                documents["gen_ai.retrieval.documents"] = _json(listed)
            documents["gen_ai.operation.name"] = "retrieval"
            yield _child(agent, "retrieval", "RETRIEVER", agent.start, agent.start, documents)
        for number, call in enumerate(answer.tools or (), 1):
            tool: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name}
            if self._content:
                tool["gen_ai.tool.call.arguments"] = call.arguments
                tool["gen_ai.tool.call.result"] = call.result or ""
            yield _child(
                agent, f"execute_tool {call.name}", "TOOL", agent.start, agent.start, tool, place=str(number)
            )

    def _messages(self, asked: Sequence[ChatMessage], answered: Sequence[ChatMessage]) -> Attributes:
        """What went in and came out, where content may be sent."""
        if not self._content:
            return {}
        sides = {"input": asked, "output": answered}
        attributes: Attributes = {}
        for side, said in sides.items():
            if said:
                parts = [
                    {"role": line.role, "parts": [{"type": "text", "content": line.content}]} for line in said
                ]
                attributes[f"gen_ai.{side}.messages"] = _json(parts)
                attributes[f"{side}.value"] = said[-1].content
        return attributes

    def _evaluation(self, score: Score) -> Attributes:
        """What a judge says, by the names of the conventions; the scale is 0 to 1."""
        attributes: Attributes = {"gen_ai.evaluation.name": score.judge}
        if score.value is not None:
            attributes["gen_ai.evaluation.score.value"] = score.value
        if score.severity or score.response:
            attributes["gen_ai.evaluation.score.label"] = score.severity or score.response or ""
        if score.reason and self._content:
            attributes["gen_ai.evaluation.explanation"] = score.reason
        if score.state == "failed":
            attributes["error.type"] = str(score.detail.get("kind") or "error")
        return attributes


def _child(  # noqa: PLR0917 - the parts of a span in their order
    parent: TraceSpan,
    name: str,
    kind: Kind,
    start: int,
    end: int,
    attributes: Attributes,
    *,
    events: Sequence[Attributes] = (),
    error: str | None = None,
    place: str = "",
) -> TraceSpan:
    """A span below another one; `place` tells it from others of its name there."""
    return TraceSpan(
        name, parent.trace, _number(f"{parent.trace}/{parent.id}/{name}/{place}", 8), parent.id, start, end,
        is_client=kind in {"LLM", "AGENT", "RETRIEVER"},
        attributes=_of_kind(kind) | attributes | ({"error.type": error} if error else {}),
        events=events, error=error,
    )  # fmt: skip


def _grades(scores: Mapping[str, Score]) -> Iterator[Score]:
    """What was graded, or failed to be; what was skipped says nothing."""
    return (score for _, score in sorted(scores.items()) if score.state != "skipped")


def _asked(turn: Turn) -> ChatMessage:
    return ChatMessage(role="user", content=turn.user)


def _answered(answer: Answer) -> ChatMessage:
    return ChatMessage(role="assistant", content=answer.text)


def _of_kind(kind: Kind) -> Attributes:
    return {"openinference.span.kind": kind}


def _of_model(model: str) -> Attributes:
    """A model by its name, such as `anthropic:claude-...`; others speak as OpenAI's do."""
    provider, colon, name = model.partition(":")
    return {
        "gen_ai.provider.name": provider if colon else "openai",
        "gen_ai.request.model": name if colon else model,
    }


def _of_usage(usage: Usage | None) -> Attributes:
    """The tokens that the bot's own model took, where the bot says so."""
    if usage is None:
        return {}
    return {
        "gen_ai.response.model": usage.model,
        "gen_ai.usage.input_tokens": usage.tokens_in,
        "gen_ai.usage.output_tokens": usage.tokens_out,
        "gen_ai.usage.cache_read.input_tokens": usage.tokens_cached,
    }


def _number(text: str, size: int) -> int:
    """An id of so many bytes; the same text has the same."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:size])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
