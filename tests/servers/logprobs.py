"""Token probabilities of the fake model: from a reply, or from how often a character occurred before."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from typing import Any

Likely = Sequence[Mapping[str, float]]  # for each place its tokens; the first one of each is said


def text_of_tokens(places: Likely) -> str:
    """What the model says when these are its tokens."""
    return "".join(next(iter(place)) for place in places)


def content(places: Likely, most: int) -> dict[str, Any]:
    """The `logprobs` of a chat choice, with so many of the likeliest tokens at each place."""
    return {"content": [_place(place, most) for place in places], "refusal": None}


def _place(place: Mapping[str, float], most: int) -> dict[str, Any]:
    ranked = sorted(place.items(), key=lambda item: -item[1])[:most]
    return _token(*next(iter(place.items()))) | {"top_logprobs": [_token(*each) for each in ranked]}


def _token(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def tokens(text: str) -> list[tuple[str, float | None]]:
    """Characters as tokens, each as likely as it was frequent before; the first one has no likelihood."""
    seen: Counter[str] = Counter()
    found: list[tuple[str, float | None]] = []
    for at, character in enumerate(text):
        found.append((character, log((seen[character] + 1) / (at + 1000)) if at else None))
        seen[character] += 1
    return found


def completion(body: Mapping[str, Any]) -> dict[str, Any]:
    """A completion that echoes its prompts, with the likelihood of every token; one full stop is said."""
    prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
    choices = [_echo(body, prompt, index) for index, prompt in enumerate(prompts)]
    counted = {"prompt_tokens": sum(map(len, prompts)), "completion_tokens": len(prompts)}
    return {"object": "text_completion", "model": body["model"], "choices": choices, "usage": counted}


def _echo(body: Mapping[str, Any], prompt: str, index: int) -> dict[str, Any]:
    text = (prompt if body.get("echo") else "") + ("." if body.get("max_tokens") else "")
    told = tokens(prompt + text[len(prompt) :] if body.get("echo") else text)
    logprobs = {
        "tokens": [token for token, _ in told],
        "token_logprobs": [value for _, value in told],
        "text_offset": list(range(len(told))),
        "top_logprobs": [None if value is None else {token: value} for token, value in told],
    }
    asked = body.get("logprobs") is not None
    return {"index": index, "text": text, "logprobs": logprobs if asked else None, "finish_reason": "length"}
