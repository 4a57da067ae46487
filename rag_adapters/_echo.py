"""The log-likelihood of each token of a text, from an endpoint's /completions that echoes it."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from rag_adapters._choosing import COMPLETIONS, Post, Refused
from simulator import BotFailure, _

# The log-likelihood of each token (None for one that nothing precedes), and whether it is the likeliest.
Tokens = list[tuple[float | None, bool]]


async def tokens_of(text: str, body: Mapping[str, Any], post: Post) -> Tokens:
    """The tokens of a text. Raises BotFailure("refused") when the endpoint does not support this."""
    # One token is generated, because many endpoints refuse to generate none; it is left out.
    options = {"prompt": text, "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0}
    try:
        reply = await post(COMPLETIONS, {**body, **options})
    except Refused as error:
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
        choice = reply["choices"][0]
        values, likeliest = choice["logprobs"]["token_logprobs"], choice["logprobs"].get("top_logprobs") or []
        counted = (reply.get("usage") or {}).get("prompt_tokens")
        echoes = str(choice.get("text")).startswith(text)
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
    number = counted if isinstance(counted, int) and counted > 0 else len(values) - 1 if echoes else 0
    if not 0 < number <= len(values) <= number + 1:
        return None
    prompt = values[:number]
    if not all(_is_number(value) for value in prompt[1:]) or not (prompt[0] is None or _is_number(prompt[0])):
        return None
    return [(value, _leads(value, likeliest[at : at + 1])) for at, value in enumerate(prompt)]


def _leads(value: float | None, likeliest: list[Any]) -> bool:
    """Whether no other token is reported as likelier; True for the first token, which has no value."""
    if value is None or not likeliest or not isinstance(likeliest[0], Mapping):
        return value is None
    return all(value >= other - 1e-9 for other in likeliest[0].values())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and isfinite(value)
