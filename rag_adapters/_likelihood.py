"""How likely a model finds each of the texts that its answer is to be one of, read from tokens.

Two ways. A chat endpoint tells the likeliest tokens at each place of its answer (`top_logprobs`): the score
of a text is the log of the summed likelihoods of the tokens that begin it and no other text. A completions
endpoint that echoes (`echo`, `logprobs`) tells every token of a prompt with the text at its end: the score is
their sum. Tokens are compared as bytes, for one may end within a Japanese character.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp, isfinite, log
from typing import Any, NamedTuple

# Blanks, quotes and marks that a model may put before its answer.
_BEFORE = tuple(mark.encode() for mark in (" ", "\n", "\t", "\r", '"', "'", "*", "`", "「", "『", "　", "“"))
_MOST_TOKENS = 64


class Token(NamedTuple):
    """A token and the natural logarithm of its likelihood."""

    text: bytes
    logprob: float


class Place(NamedTuple):
    """One place of an answer: the token that was said, and all that are known to be likely there."""

    said: Token
    likely: tuple[Token, ...]


def places_of(reply: Any) -> list[Place] | None:
    """The places of a chat completion; None where the endpoint tells no log-likelihoods."""
    try:
        content = reply["choices"][0]["logprobs"]["content"]
        return [_place(each) for each in content] or None
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def scores_of(places: Sequence[Place], choices: Sequence[str]) -> dict[str, float] | None:
    """The log-likelihood of each choice that is among the likely tokens; None where it cannot be told apart.

    While several choices begin alike, reading goes on along what was said.
    """
    names = {choice: choice.strip().encode().lower() for choice in choices}
    found: dict[str, list[float]] = {}
    lost: list[float] = []
    path, so_far = b"", 0.0
    for said, likely in places:
        on = False
        for token in likely:
            begun = begins(path + token.text, names)
            if len(begun) == 1 and not _is_before(path + token.text):
                found.setdefault(begun[0], []).append(so_far + token.logprob)
            elif token.text == said.text:
                on = bool(begun)
            elif begun:
                lost.append(so_far + token.logprob)
        if not on:
            break
        path, so_far = path + said.text, so_far + said.logprob
    else:
        ended = _ended_as(path, names)
        (lost if ended is None else found.setdefault(ended, [])).append(so_far)
    scores = {choice: summed(found[choice]) for choice in choices if choice in found}
    return scores if scores and summed(lost) < max(scores.values()) else None


def begins(text: bytes, names: Mapping[str, bytes]) -> list[str]:
    """The choices that an answer which begins like this may be; the longest, where it has gone past some."""
    start = _without_marks(text).lower()
    open_ = [choice for choice, name in names.items() if name.startswith(start)]
    if open_:
        return open_
    past = [choice for choice, name in names.items() if start.startswith(name) and _ends(name, start)]
    return sorted(past, key=lambda choice: -len(names[choice]))[:1]


def tokens_needed(choices: Sequence[str]) -> int:
    """How many tokens tell the choices apart: more where two of them begin with the same characters."""
    shared = (_alike(*pair) for pair in combinations(map(str.lower, choices), 2))
    return min(_MOST_TOKENS, 3 + 2 * max(shared, default=0))


def _alike(one: str, other: str) -> int:
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1), len(one))


def echoed(choice: Any, prompt: str, whole: str) -> tuple[float, int] | None:
    """The log-likelihood of what follows `prompt` in `whole`, and its tokens, of one echoed completion.

    A token that lies across the border belongs to what follows. None where nothing was told.
    """
    told: Any = choice.get("logprobs") if isinstance(choice, dict) else None
    try:
        tokens, values, starts = told["tokens"], told["token_logprobs"], _starts(told, whole)
    except (KeyError, TypeError):
        return None
    of_it = [
        value
        for token, value, start in zip(tokens, values, starts, strict=False)
        if start + len(token) > len(prompt) and start < len(whole)
    ]
    return (sum(of_it), len(of_it)) if of_it and all(_is_number(value) for value in of_it) else None


def summed(values: Sequence[float]) -> float:
    """The logarithm of the sum of likelihoods that are given as logarithms."""
    top = max(values, default=-float("inf"))
    return top + log(sum(exp(value - top) for value in values)) if isfinite(top) else top


def _place(told: Mapping[str, Any]) -> Place:
    said = _token(told)
    likely = {token.text: token for token in (said, *map(_token, told.get("top_logprobs") or ()))}
    return Place(said, tuple(likely.values()))


def _token(told: Mapping[str, Any]) -> Token:
    raw = told.get("bytes")
    return Token(bytes(raw) if raw else str(told["token"]).encode(), float(told["logprob"]))


def _ended_as(path: bytes, names: Mapping[str, bytes]) -> str | None:
    """The choice that an answer is which ended where one choice does and others go on."""
    said = _without_marks(path).lower()
    return next((choice for choice, name in names.items() if said and name == said), None)


def _without_marks(text: bytes) -> bytes:
    while mark := next((mark for mark in _BEFORE if text.startswith(mark)), None):
        text = text[len(mark) :]
    return text


def _is_before(text: bytes) -> bool:
    """Whether nothing of the answer itself has been said yet."""
    return not _without_marks(text)


def _ends(name: bytes, start: bytes) -> bool:
    """Whether a word that was said is over: 1 is not the beginning of 10."""
    return not (name[-1:].isalnum() and start[len(name) : len(name) + 1].isalnum())


def _starts(told: Mapping[str, Any], whole: str) -> list[int]:
    """Where each token begins: as told, else counted, where the tokens are the text."""
    tokens = told["tokens"]
    if not whole.startswith("".join(tokens[:-1])[: len(whole)]) and told.get("text_offset"):
        return [int(each) for each in told["text_offset"]]
    starts = [0]
    for token in tokens[:-1]:
        starts.append(starts[-1] + len(token))
    return starts


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and isfinite(value)
