"""Models of other providers (`anthropic:...`), called through LangChain.

A reply of LangChain is turned into a chat completion, so that limits, retries, cache, budget and structured
replies work as for every other model:

    AIMessage("4.", usage_metadata={"input_tokens": 9, "output_tokens": 2})
        -> {"choices": [{"message": {"content": "4."}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, ...}}

Its own retries are off (`max_retries=0`): two layers of them would multiply, and wait beyond --patience.
Seeds, and the limit of a reply, are not passed on, for hardly two providers call them alike. LangChain's
exceptions are those of each provider's own client: one that holds an answer is a refusal like any other, the
rest are told apart by what their names have in common.
"""

import json
from typing import TYPE_CHECKING, Any

from simulator.core.clock import TimeLimit
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.roles import Endpoint
from simulator.models.client import Body, Model
from simulator.models.connections import Connections
from simulator.models.patience import Patience
from simulator.models.pricing import Ledger
from simulator.models.refusals import NoAnswer, refused_in

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

# Names of exceptions without a status.
_LOST = ("timeout", "connect")
_NEVER_SENT = ("ConnectError", "ConnectTimeout")


class ProviderModel(Model):
    """A chat model that is called through LangChain."""

    def __init__(self, endpoint: Endpoint, connections: Connections, ledger: Ledger, **options: Any) -> None:
        """Raises InputError when the provider's package is not installed or its key is missing."""
        super().__init__(endpoint, connections, ledger, **options)
        self.chat = _chat_model(endpoint, self.temperature, connections.timeout)

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """Raises InputError: embeddings come from an OpenAI-compatible endpoint, or are lexical."""
        msg = _(
            "{model} gives no embeddings here; use --embed-model lexical, or an OpenAI model.",
            model=self.endpoint.model,
        )
        raise InputError(msg)

    async def _exchange(self, path: str, body: Body, patience: Patience) -> Any:
        """The reply as a chat completion."""
        # The body is the one for OpenAI's endpoints; LangChain takes the pairs.
        messages = [(message["role"], message["content"]) for message in body["messages"]]
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        seconds = min(self.connections.timeout, patience.left)
        try:
            with patience:
                async with TimeLimit(seconds):
                    message, text = await (
                        self._structured(messages, schema) if schema else self._plain(messages)
                    )
        except Exception as error:  # each provider has exceptions of its own
            raise refused_in(error) or _no_answer(error, seconds) from error
        return {"choices": [{"message": {"content": str(text)}}], "usage": _usage(message)}

    async def _plain(self, messages: Any) -> tuple["AIMessage", str]:
        message = await self.chat.ainvoke(messages)
        return message, message.text

    async def _structured(self, messages: Any, schema: dict[str, Any]) -> tuple["AIMessage", str]:
        """A reply in the provider's own structured mode, or its text when there is no such mode."""
        # A tool needs a name, and most providers do forms by tools.
        named = {"title": "reply", "description": "The reply.", **schema}
        try:
            structured = self.chat.with_structured_output(named, include_raw=True)
        except (NotImplementedError, ValueError):
            return await self._plain(messages)
        outcome: Any = await structured.ainvoke(messages)
        message, parsed = outcome["raw"], outcome["parsed"]
        # What LangChain could not parse may still be read by us (models/reading.py).
        return message, message.text if parsed is None else json.dumps(parsed, ensure_ascii=False)


def _no_answer(error: Exception, seconds: float) -> NoAnswer:
    # httpx.ConnectError, APIConnectionError, ReadTimeout, ConnectTimeoutError ...
    name = type(error).__name__
    lost = any(word in name.lower() for word in _LOST)
    was_sent = type(error.__cause__ or error).__name__ not in _NEVER_SENT
    if "timeout" in name.lower():
        message = _("no reply within {seconds:g} s", seconds=round(seconds, 2))
        return NoAnswer("timeout", message, is_transient=lost, was_sent=was_sent)
    kind = "unreachable" if lost else "error"
    return NoAnswer(kind, f"{name}: {error}", is_transient=lost, was_sent=was_sent)


def _chat_model(endpoint: Endpoint, temperature: float | None, timeout: float) -> "BaseChatModel":
    from langchain.chat_models import init_chat_model  # takes a second

    options: dict[str, Any] = {"max_retries": 0, "timeout": timeout}
    if temperature is not None:
        options["temperature"] = temperature
    if endpoint.url:
        options["base_url"] = endpoint.url
    if key := endpoint.key.get_secret_value():
        options["api_key"] = key
    # As the package calls them: thinking, reasoning_effort, default_headers.
    options = {name: value for name, value in (options | endpoint.extra).items() if value is not None}
    try:
        chat: BaseChatModel = init_chat_model(endpoint.model, **options)
    except ImportError as error:
        raise InputError(_("{model}: {error} (extra 'other').", model=endpoint.model, error=error)) from None
    except Exception as error:  # a missing key or a refused argument, in the provider's own words
        msg = _(
            "{model}: cannot be used: {error}", model=endpoint.model, error=" ".join(str(error).split())[:200]
        )
        raise InputError(msg) from None
    return chat


def _usage(message: "AIMessage") -> dict[str, Any]:
    counted: Any = message.usage_metadata or {}
    return {
        "prompt_tokens": counted.get("input_tokens"),
        "completion_tokens": counted.get("output_tokens"),
        "total_tokens": counted.get("total_tokens"),
        "completion_tokens_details": {
            "reasoning_tokens": (counted.get("output_token_details") or {}).get("reasoning")
        },
        "prompt_tokens_details": {
            "cached_tokens": (counted.get("input_token_details") or {}).get("cache_read")
        },
    }
