"""How a chat model chooses among given answers: by log-likelihood where the endpoint tells, else in words."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from rag_adapters._likelihood import echoed, places_of, scores_of, tokens_needed
from simulator import Answer, BotFailure, InputError, Query, Usage

Choosing = Literal["auto", "likelihood", "generation"]
Messages = Sequence[Mapping[str, str]]
Post = Callable[[str, dict[str, Any]], Awaitable[Any]]

CHAT, COMPLETIONS = "/chat/completions", "/completions"
_PROBE = ("A", "B")
# Of a whole request these belong to the dialogue alone.
_NOT_HERE = frozenset({"stream", "stream_options", "messages", "n", "stop"})


class Way(NamedTuple):
    """How an endpoint is asked: for so many likely tokens, by echoed completions, per token of the answer."""

    choosing: Choosing = "auto"
    top_logprobs: int = 20
    completions: bool = False
    per_token: bool = False


USUAL = Way()


class Told(NamedTuple):
    """What an endpoint told: scores, if any, and whether it tells log-likelihoods at all (None: unknown)."""

    scores: dict[str, float] | None = None
    known: bool | None = None
    usage: Usage | None = None


class Chooser:
    """Asks for log-likelihoods, and remembers when an endpoint has none; what it does then is said once."""

    def __init__(self, way: Way, body: Mapping[str, Any], post: Post, where: str) -> None:
        """`body` holds the model and what else goes with every request; `where` names the endpoint."""
        self.way, self.post, self.where = way, post, where
        self.body = {key: value for key, value in body.items() if key not in _NOT_HERE}
        self.tells = True
        self._said: set[str] = set()

    async def __call__(self, query: Query, messages: Messages) -> Answer | None:
        """The likeliest choice with the score of each; None where the model has to write its answer."""
        if not query.choices or self.way.choosing == "generation" or not self.tells:
            return None
        told = await self._ask(query.choices, messages)
        if told.scores is None:
            self._note(told)
            return None
        chosen = max(told.scores, key=told.scores.__getitem__)
        return Answer(text=chosen, shows_passages=False, logprobs=told.scores, usage=told.usage)

    async def probe(self) -> None:
        """Raises InputError when the endpoint tells none; that it is away is each row's own finding."""
        try:
            told = await self._ask(_PROBE, [{"role": "user", "content": " / ".join(_PROBE)}])
        except BotFailure:
            return
        if told.known is False:
            other = "" if self.way.completions else ", or --set completions=on where it can echo a prompt"
            what = f"{self.where} tells no log-likelihoods; use --choosing auto{other}"
            msg = f"--choosing likelihood: {what}."
            raise InputError(msg)

    async def _ask(self, choices: Sequence[str], messages: Messages) -> Told:
        try:
            return await (self._echoed if self.way.completions else self._likely)(choices, messages)
        except Refused as error:
            # Any other refusal is about this row, and met again when the answer is to be written.
            return Told(known=False if error.about_logprobs or self.way.completions else None)

    async def _likely(self, choices: Sequence[str], messages: Messages) -> Told:
        """From the likeliest tokens of a chat completion."""
        limit = "max_completion_tokens" if "max_completion_tokens" in self.body else "max_tokens"
        wanted = {"logprobs": True, "top_logprobs": self.way.top_logprobs, limit: tokens_needed(choices)}
        reply = await self.post(CHAT, {"temperature": 0, **self.body, "messages": list(messages), **wanted})
        places = places_of(reply)
        scores = scores_of(places, choices) if places else None
        return Told(scores, bool(places), self._usage(reply))

    async def _echoed(self, choices: Sequence[str], messages: Messages) -> Told:
        """From prompts that are echoed with each of the choices at their end."""
        prompt = as_text(messages)
        wholes = [prompt + between(prompt) + choice for choice in choices]
        wanted = {"prompt": wholes, "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0}
        reply = await self.post(COMPLETIONS, {**self.body, **wanted})
        listed = reply.get("choices") if isinstance(reply, dict) else None
        told = sorted(listed, key=lambda each: each.get("index", 0)) if isinstance(listed, list) else []
        sums = [echoed(each, prompt, whole) for each, whole in zip(told, wholes, strict=False)]
        known = [each for each in sums if each is not None]
        if len(known) < len(wholes):
            return Told(known=False)
        scores = {
            c: value / (n if self.way.per_token else 1) for c, (value, n) in zip(choices, known, strict=True)
        }
        return Told(scores, True, self._usage(reply))

    def _note(self, told: Told) -> None:
        if told.known is False:
            self.tells = False
            self._say("it tells no log-likelihoods, so the model writes its answers")
        elif told.known:
            self._say("some answers could not be told apart by their first tokens, and are written out")

    def _say(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            sys.stderr.write(f"{self.where}: {what}.\n")

    def _usage(self, reply: Any) -> Usage | None:
        return usage_of(reply.get("usage") if isinstance(reply, dict) else None, str(self.body["model"]))


class Refused(Exception):
    """An endpoint that answered 400 or the like to the way it was asked."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.about_logprobs = "logprob" in message.lower()


def usage_of(counted: Any, model: str) -> Usage | None:
    """The tokens of a reply, where they were counted."""
    if not isinstance(counted, dict):
        return None
    tokens = [counted.get(name) for name in ("prompt_tokens", "completion_tokens")]
    asked, said = (number if isinstance(number, int) else 0 for number in tokens)
    return Usage(model=model, tokens_in=asked, tokens_out=said)


def as_text(messages: Sequence[Mapping[str, str]]) -> str:
    """A dialogue as one text that a model without roles goes on with."""
    text = ""
    for message in messages:
        gap = between(text) if message["role"] == "assistant" else "\n\n" if text else ""
        text += gap + message["content"]
    return text


def between(text: str) -> str:
    """What stands between a prompt and its answer: a space after a Latin sign, nothing in Japanese."""
    return " " if text and not text[-1].isspace() and text[-1].isascii() else ""
