"""The log-likelihood of each token of a text, from a completions endpoint that echoes its prompt."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from pydantic import BaseModel

from simulator.core.choosing import Post, Unsupported, without_dialogue
from simulator.extending import BotFailure, _, usage_told

COMPLETIONS = "/completions"
# The log-likelihood of each token (None for one that nothing precedes), and whether it is the likeliest.
Tokens = list[tuple[float | None, bool]]


class _EchoedTokens(BaseModel):
    """The tokens of an echoed prompt and what follows it; the fields of OpenAI's API."""

    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None] | None = None


class _Echo(BaseModel):
    """One echoed completion."""

    text: str = ""
    logprobs: _EchoedTokens


async def tokens_of(text: str, body: Mapping[str, Any], post: Post) -> Tokens:
    """The tokens of a text. Raises BotFailure("refused") when the endpoint does not support this."""
    # One token is generated, because many endpoints refuse to generate none; it is left out.
    options = {"prompt": text, "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0}
    try:
        reply = await post(COMPLETIONS, {**without_dialogue(body), **options})
    except Unsupported as error:
        raise BotFailure("refused", str(error)) from None
    tokens = _prompt_tokens(reply, text)
    if tokens is None:
        raise BotFailure("refused", _("its /completions tells no log-likelihoods of the prompt"))
    return tokens


def _prompt_tokens(reply: Any, text: str) -> Tokens | None:
    """The tokens of the prompt in a reply; None when some are missing.

    Some endpoints accept `echo` but report only what they generated: every text would be equally likely.
    """
    try:
        echo = _Echo.model_validate(reply["choices"][0])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    values, likeliest = echo.logprobs.token_logprobs, echo.logprobs.top_logprobs or []
    usage = usage_told(reply.get("usage"), "")
    number = usage.tokens_in if usage else 0
    if number <= 0:
        number = len(values) - 1 if echo.text.startswith(text) else 0
    if not 0 < number <= len(values) <= number + 1:
        return None
    first, *others = values[:number]
    if not all(value is not None and isfinite(value) for value in (first or 0.0, *others)):
        return None
    return [(value, _leads(value, likeliest[at : at + 1])) for at, value in enumerate(values[:number])]


def _leads(value: float | None, likeliest: list[dict[str, float] | None]) -> bool:
    """Whether no other token is reported as likelier; True for the first token, which has no value."""
    if value is None or not likeliest or not likeliest[0]:
        return value is None
    return all(value >= other - 1e-9 for other in likeliest[0].values())
