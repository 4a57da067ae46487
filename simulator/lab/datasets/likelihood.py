"""Log-likelihoods of an OpenAI-compatible endpoint, of answers to choose among.

A chat endpoint tells the likeliest tokens at each place of its answer (`top_logprobs`): the score of a choice
is the log of the summed likelihoods of the tokens that begin it and no other one. Tokens are compared as
bytes, for one may end within a Japanese character.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, takewhile
from math import exp, isfinite, log
from typing import Any, NamedTuple

from pydantic import BaseModel

from simulator.core.choosing import Messages, Post, Unsupported, without_dialogue
from simulator.extending import Answer, BotFailure, InputError, Message, Query, Usage, _, say, usage_told

CHAT = "/chat/completions"
_PROBE = ("A", "B")
# Blanks (also as tokenizers write them), quotes and marks that a model may put before its answer.
_BEFORE = tuple(
    mark.encode() for mark in (" ", "▁", "Ġ", "\n", "\t", "\r", '"', "'", "*", "`", "「", "『", "　", "“")
)
# Choices that begin alike for longer than this are written out instead: the answer costs as much.
_MOST_TOKENS = 64


class LikelihoodReply(NamedTuple):
    """Scores, if any, and whether the endpoint has log-likelihoods at all (None: unknown)."""

    scores: dict[str, float] | None = None
    known: bool | None = None
    usage: Usage | None = None


class LikelihoodChooser:
    """Requests log-likelihoods, and remembers when an endpoint has none; each notice is printed once.

    An endpoint has none where it refuses a request and names logprobs, or answers without them. From then on
    the model writes its answers, unless --choosing likelihood was asked for, which is checked before the run
    (`probe`).
    """

    def __init__(self, body: Mapping[str, Any], post: Post, where: str, *, top_logprobs: int) -> None:
        """`body` holds the model and other settings of every request; `where` names the endpoint."""
        self.post, self.where, self.top_logprobs = post, where, top_logprobs
        self.body = without_dialogue(body)
        self.has_logprobs = True
        self._printed: set[Message] = set()

    async def __call__(self, query: Query, messages: Messages) -> Answer | None:
        """The likeliest choice with all scores; None when the model has to write its answer."""
        if not query.choices or not self.has_logprobs:
            return None
        reply = await self._request(query.choices, messages)
        if reply.scores is None:
            if reply.known is False:
                self.has_logprobs = False
                self._print_once(_("it tells no log-likelihoods, so the model writes its answers"))
            elif reply.known:
                self._print_once(_("some answers share their first tokens, and are written out"))
            return None
        chosen = max(reply.scores, key=reply.scores.__getitem__)
        return Answer(text=chosen, shows_passages=False, logprobs=reply.scores, usage=reply.usage)

    async def probe(self) -> None:
        """Raises InputError when the endpoint has no log-likelihoods; one that is down is no error here."""
        try:
            reply = await self._request(_PROBE, [{"role": "user", "content": " / ".join(_PROBE)}])
        except BotFailure:
            return
        if reply.known is False:
            msg = _(
                "--choosing likelihood: {where} tells no log-likelihoods; use --choosing auto.",
                where=self.where,
            )
            raise InputError(msg)

    async def _request(self, choices: Sequence[str], messages: Messages) -> LikelihoodReply:
        # Newer models refuse the older name, so the one that the settings use is kept.
        limit = "max_completion_tokens" if "max_completion_tokens" in self.body else "max_tokens"
        options = {"logprobs": True, "top_logprobs": self.top_logprobs, limit: tokens_needed(choices)}
        body = {"temperature": 0, **self.body, "messages": list(messages), **options}
        try:
            reply = await self.post(CHAT, body)
        except Unsupported as error:
            # Any other refusal concerns this row, and occurs again when the answer is written.
            return LikelihoodReply(known=False if "logprob" in str(error).lower() else None)
        places = places_of(reply)
        usage = usage_told(reply.get("usage") if isinstance(reply, dict) else None, str(self.body["model"]))
        return LikelihoodReply(scores_of(places, choices) if places else None, bool(places), usage)

    def _print_once(self, what: Message) -> None:
        if what not in self._printed:
            self._printed.add(what)
            say(_("{where}: {what}.", where=self.where, what=what))


# --- From the likeliest tokens of a chat answer ---


class LikelihoodToken(NamedTuple):
    """A token and the natural logarithm of its likelihood."""

    text: bytes
    logprob: float


class Place(NamedTuple):
    """One place of an answer: the token that was said, and all that are known to be likely there."""

    said: LikelihoodToken
    likely: tuple[LikelihoodToken, ...]


class _ChatToken(BaseModel):
    """A token of a chat completion as the endpoint tells it; the fields of OpenAI's API."""

    token: str
    logprob: float
    bytes: list[int] | None = None
    top_logprobs: list["_ChatToken"] | None = None

    def read(self) -> LikelihoodToken:
        """The token, by its bytes where they are told."""
        return LikelihoodToken(bytes(self.bytes) if self.bytes else self.token.encode(), self.logprob)


def places_of(reply: Any) -> list[Place] | None:
    """The places of a chat completion; None where the endpoint tells no log-likelihoods."""
    try:
        tokens = [_ChatToken.model_validate(token) for token in reply["choices"][0]["logprobs"]["content"]]
        places = []
        for token_of_chat in tokens:
            said = token_of_chat.read()
            likely = {
                token.text: token for token in (said, *(t.read() for t in token_of_chat.top_logprobs or ()))
            }
            places.append(Place(said, tuple(likely.values())))
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return places or None


def scores_of(places: Sequence[Place], choices: Sequence[str]) -> dict[str, float] | None:
    """The log-likelihood of each choice that is among the likely tokens; None where it cannot be told apart.

    While several choices begin alike, reading goes on along what was said.

        one place, 不 -0.1 and 適 -2.0, among 適切 and 不適切        -> 適切 -2.0, 不適切 -0.1
        問題 -0.1, 普 -2.0; then あり -0.5, なし -1.0, among 問題あり, 問題なし and 普通
                                                                    -> 問題あり -0.6, 問題なし -1.1, 普通 -2.0
        one place, 問題 -0.1 alone, among 問題あり and 問題なし      -> None

    What is lost in tokens that begin several choices beside the said one must stay below the best choice.
    """
    names = {choice: choice.strip().encode().lower() for choice in choices}
    logprobs: dict[str, list[float]] = {}
    lost: list[float] = []
    path, so_far = b"", 0.0
    for said, likely in places:
        # Whether to read on: the said token leaves more than one choice open.
        on = False
        for token in likely:
            begun = begins(path + token.text, names)
            if len(begun) == 1 and _without_marks(path + token.text):
                logprobs.setdefault(begun[0], []).append(so_far + token.logprob)
            elif token.text == said.text:
                on = bool(begun)
            elif begun:
                lost.append(so_far + token.logprob)
        if not on:
            break
        path, so_far = path + said.text, so_far + said.logprob
    else:
        # It ended where one choice does and others go on.
        text = _without_marks(path).lower()
        ended = next((choice for choice, name in names.items() if text and name == text), None)
        (lost if ended is None else logprobs.setdefault(ended, [])).append(so_far)
    # Several tokens may begin one choice (`1` and ` 1`); their likelihoods add up.
    scores = {choice: summed(logprobs[choice]) for choice in choices if choice in logprobs}
    return scores if scores and summed(lost) < max(scores.values()) else None


def begins(text: bytes, names: Mapping[str, bytes]) -> list[str]:
    """The choices that an answer which begins like this may be; the longest, where it has gone past some.

    "「適" -> 適切; "10" among 1 and 10 -> 10; "Yes, because" among Yes and No -> Yes.
    """
    start = _without_marks(text).lower()
    open_ = [choice for choice, name in names.items() if name.startswith(start)]
    if open_:
        return open_
    past = [choice for choice, name in names.items() if start.startswith(name) and _ends(name, start)]
    return sorted(past, key=lambda choice: -len(names[choice]))[:1]


def tokens_needed(choices: Sequence[str]) -> int:
    """How many tokens tell the choices apart: more where two of them begin with the same characters."""
    pairs = (zip(*pair, strict=False) for pair in combinations(map(str.lower, choices), 2))
    shared = (len(list(takewhile(lambda letters: letters[0] == letters[1], pair))) for pair in pairs)
    return min(_MOST_TOKENS, 3 + 2 * max(shared, default=0))


def likeliest(logprobs: Mapping[str, float], texts: Iterable[str]) -> str | None:
    """The likeliest of these texts; None where nobody says how likely they are, or on a tie."""
    ranked = sorted((logprobs[text], text) for text in texts if text in logprobs)
    is_tie = len(ranked) > 1 and ranked[-1][0] == ranked[-2][0]
    return ranked[-1][1] if ranked and not is_tie else None


def summed(values: Sequence[float]) -> float:
    """The logarithm of the sum of likelihoods that are given as logarithms."""
    top = max(values, default=-float("inf"))
    return top + log(sum(exp(value - top) for value in values)) if isfinite(top) else top


def _without_marks(text: bytes) -> bytes:
    while mark := next((mark for mark in _BEFORE if text.startswith(mark)), None):
        text = text[len(mark) :]
    return text


def _ends(name: bytes, start: bytes) -> bool:
    """Whether a word that was said is over: 1 is not the beginning of 10."""
    return not (name[-1:].isalnum() and start[len(name) : len(name) + 1].isalnum())
