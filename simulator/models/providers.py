"""Models of other providers (`anthropic:...`, `google_genai:...`) through LangChain's one door.

A call is put into LangChain's words and its reply back into those of a chat completion, so that limits,
retries, cache, budget, structured replies and their repair are the very ones of every other model.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.core.errors import InputError
from simulator.core.roles import Endpoint
from simulator.core.types import Role
from simulator.models.client import Body, Connections, Model
from simulator.models.exchange import NoAnswer
from simulator.models.limiter import DIALOGUE
from simulator.models.patience import Patience
from simulator.models.pricing import Ledger


class Models:
    """Who plays which role: a model, or nobody where a lexical stand-in does."""

    def __init__(
        self, endpoints: Mapping[Role, Endpoint | None], connections: Connections, ledger: Ledger
    ) -> None:
        """Connects to nothing yet."""
        self.endpoints, self.connections, self.ledger = endpoints, connections, ledger

    def role(self, role: Role, *, temperature: float | None = None, priority: int = DIALOGUE) -> Model | None:
        """The model of a role; None where a stand-in plays it."""
        endpoint = self.endpoints[role]
        return self.at(endpoint, temperature=temperature, priority=priority) if endpoint else None

    def at(self, endpoint: Endpoint, *, temperature: float | None, priority: int) -> Model:
        """The model at an endpoint."""
        kind: type[Model] = Model
        if endpoint.of_provider:
            pass  # LangChain: only where it is named

            kind = ProviderModel
        return kind(endpoint, self.connections, self.ledger, temperature=temperature, priority=priority)


if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

_DENIED = (401, 403, 404)
_TRANSIENT = (408, 409, 429, 500, 502, 503, 504, 529)
_LOST = ("timeout", "connect")


class ProviderModel(Model):
    """A chat model that LangChain knows how to reach."""

    def __init__(
        self,
        endpoint: Endpoint,
        connections: Connections,
        ledger: Ledger,
        *,
        temperature: float | None = None,
        priority: int = DIALOGUE,
    ) -> None:
        """Raises InputError when the provider's package is not installed or its key is missing."""
        super().__init__(endpoint, connections, ledger, temperature=temperature, priority=priority)
        self.chat = _chat_model(endpoint, temperature, connections.timeout)

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """Not offered here: embeddings come from an OpenAI-compatible endpoint, or are lexical."""
        msg = (
            f"{self.endpoint.model} gives no embeddings here; use --embed-model lexical, or an OpenAI model."
        )
        raise InputError(msg)

    async def _exchange(self, path: str, body: Body, patience: Patience) -> tuple[Any, Mapping[str, str]]:
        """The reply as a chat completion, in time; LangChain shows no headers of what went well."""
        messages = [(message["role"], message["content"]) for message in body["messages"]]
        wanted = body.get("response_format", {}).get("json_schema", {}).get("schema")
        seconds = min(self.connections.timeout, patience.left)
        try:
            with patience.spending():
                async with asyncio.timeout(seconds):
                    said, text = await (
                        self._structured(messages, wanted) if wanted else self._plain(messages)
                    )
        except Exception as error:  # each provider has exceptions of its own
            raise _no_answer(error, seconds) from error
        return {"choices": [{"message": {"content": str(text)}}], "usage": _usage(said)}, {}

    async def _plain(self, messages: Any) -> tuple["AIMessage", str]:
        said = await self.chat.ainvoke(messages)
        return said, said.text

    async def _structured(self, messages: Any, schema: dict[str, Any]) -> tuple["AIMessage", str]:
        """By the provider's own way to structured replies; its text where it has none."""
        named = {"title": "reply", "description": "The reply.", **schema}
        try:
            structured = self.chat.with_structured_output(named, include_raw=True)
        except (NotImplementedError, ValueError):
            return await self._plain(messages)
        outcome: Any = await structured.ainvoke(messages)
        said, parsed = outcome["raw"], outcome["parsed"]
        return said, said.text if parsed is None else json.dumps(parsed, ensure_ascii=False)


def _no_answer(error: Exception, seconds: float) -> NoAnswer:
    status, name = _status(error), type(error).__name__
    lost = any(word in name.lower() for word in _LOST)
    if status in _DENIED:
        kind, said = "denied", f"{status}: {error}"
    elif "timeout" in name.lower():
        kind, said = "timeout", f"no reply within {seconds:g} s"
    else:
        kind, said = "unreachable" if lost else "error", f"{name}: {error}"
    return NoAnswer(kind, said, may_pass=status in _TRANSIENT if status else lost, cause=error)


def _chat_model(endpoint: Endpoint, temperature: float | None, timeout: float) -> "BaseChatModel":
    from langchain.chat_models import init_chat_model  # a second: only where such a model is named

    given: dict[str, Any] = {"max_retries": 0, "timeout": timeout}
    if temperature is not None:
        given["temperature"] = temperature
    if endpoint.url:
        given["base_url"] = endpoint.url
    if key := endpoint.key.get_secret_value():
        given["api_key"] = key
    try:
        chat: BaseChatModel = init_chat_model(endpoint.model, **given)
    except ImportError as error:
        msg = f"{endpoint.model}: {error} (extra 'other')."
        raise InputError(msg) from None
    except Exception as error:  # a missing key, a refused argument: in the provider's own words
        msg = f"{endpoint.model}: cannot be used: {' '.join(str(error).split())[:200]}"
        raise InputError(msg) from None
    return chat


def _status(error: BaseException) -> int | None:
    code = getattr(error, "status_code", None) or getattr(
        getattr(error, "response", None), "status_code", None
    )
    return code if isinstance(code, int) else None


def _usage(said: "AIMessage") -> dict[str, int]:
    counted: Any = said.usage_metadata or {}
    return {
        "prompt_tokens": int(counted.get("input_tokens", 0)),
        "completion_tokens": int(counted.get("output_tokens", 0)),
    }
