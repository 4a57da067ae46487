"""What a model at an endpoint supports, learnt from what it refuses.

No endpoint supports everything that others do, and none says so before it is asked. So a call begins with the
best form (a strict JSON schema, a seed, a temperature, a system message), and `Abilities` remembers what was
refused: the next call, of any role with this model, begins without it.

What is named is left out from then on, whatever the status: gateways say 404, 500 or 501 of a parameter. A
5xx teaches only where it says by words that something is not supported, for it may also be a passing fault.
Names count only in the first words and not in a quoted request, which holds all of them; of several the
first one counts, for those that are supported may follow.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.core.patterns import LazyPattern
from simulator.models.refusals import Refusal

# How a structured reply is requested, best first; an endpoint that refuses one gets the next.
FORMATS = ("schema", "json", "text")
# How embeddings are requested, best first: as base64, as numbers, and a single text that is no list.
EMBEDDING_FORMS = ("base64", "numbers", "text")
# The names of the limit of a reply, the usual one first; what reasons calls it otherwise.
LIMITS = ("max_tokens", "max_completion_tokens")
# Parameters that are left out for an endpoint that refuses them.
DROPPABLE = ("temperature", "seed", "encoding_format", *LIMITS)
# So many things can be learnt one after the other: what is left out, another name of the limit, two forms
# less, and the system role. A form of the user's own is never learnt.
MOST_LESSONS = 9
# Replies in a form in a row that the endpoint itself could not complete; until then it is a passing fault.
MOST_INVALID = 3

# Statuses that say nothing of the request's form: keys, money, pace.
_OF_THE_ACCOUNT = frozenset({401, 402, 403, 408, 409, 425, 429, 503, 504, 529})
# Characters of an endpoint's words in which a name counts.
_FIRST_WORDS = 500
# A quoted request: from its first key on, an object of some length.
_QUOTED = LazyPattern(r'\{\s*"\w+"\s*:.{100,}', re.DOTALL)
_NOT_SUPPORTED = LazyPattern(
    r"unsupported|not (?:be )?(?:support|permit|allow|implement|enabl|available|recogni)|n't support"
    r"|unknown|unrecogni[sz]ed|unexpected|extra (?:input|field)|invalid|deprecated|unimplemented"
    r"|(?:failed|unable|not) to (?:parse|compile|initiali[sz]e)|(?:not|n't) (?:parse|compile)"
    r"|サポートされて|対応して(?:い)?ません|不明な|無効な|不支持"
)
_FORM = LazyPattern(r"response_?format|json_?\s?(?:schema|object|mode)|structured output|guided|grammar")
# Of a request that was refused; a server that failed may have met any JSON.
_OF_A_FORM = LazyPattern(r"json|schema")
_LIMIT = LazyPattern(r"max_?(?:output|new|completion)?_?tokens")
_SYSTEM = LazyPattern(
    r"system[ _](?:role|message|prompt|instruction)|role[^a-z]{1,4}(?:is )?[\"'`]?system|[\"'`]system[\"'`]"
    r"|developer instruction|roles must alternate"
    # "Only user and assistant roles are supported", "a valid role: user, model", "should be 'user' or ...".
    r"|\broles?\b[^.]{0,40}\buser\b|\buser\b[\"'`]? (?:and|or) [\"'`]?(?:assistant|model)\b"
)


@dataclass
class Abilities:
    """What one model at one endpoint supports, as far as it has shown.

    `reply_format` is one of FORMATS and only ever goes down; `limit` is what the limit of a reply is called
    there; `refused` are parameters that are left out; without `has_system` the system text begins the first
    message of the user. `embedding_form` is one of EMBEDDING_FORMS, and `embeds` whether any text was.
    """

    reply_format: str = FORMATS[0]
    limit: str = LIMITS[0]
    refused: set[str] = field(default_factory=set)
    has_system: bool = True
    embedding_form: str = EMBEDDING_FORMS[0]
    embeds: bool = False
    _invalid: int = 0
    _limits_tried: set[str] = field(default_factory=set)

    def fitted(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A body without what this model refuses."""
        sent = {key: value for key, value in body.items() if key not in self.refused}
        if not self.has_system and "messages" in sent:
            sent["messages"] = without_system(sent["messages"])
        return sent

    def succeeded(self) -> None:
        """A reply came: what failed before was a passing fault."""
        self._invalid = 0

    def learn(self, refusal: Refusal, sent: Mapping[str, Any]) -> bool:
        """Whether the refusal of a body names something to do without; remembers it."""
        if refusal.status in _OF_THE_ACCOUNT:
            return False
        if refusal.is_passing:
            self._invalid += 1
            return self._invalid >= MOST_INVALID and self._take_form_down(sent)
        said = _QUOTED.sub(" ", refusal.words)[:_FIRST_WORDS].lower()
        has_failed = refusal.status >= 500 and refusal.status != 501
        if has_failed and not _NOT_SUPPORTED.search(said):
            # A template that fails on a role has words of its own: "roles must alternate".
            return self._do_without_system(said, refusal.named, sent)
        names_form = "response_format" in refusal.named or bool(_FORM.search(said))
        names_form = names_form or (not has_failed and bool(_OF_A_FORM.search(said)))
        return (
            self._rename_limit(said, sent)
            or self._drop(said, refusal.named, sent)
            or self._do_without_system(said, refusal.named, sent)
            or (names_form and self._take_form_down(sent))
        )

    def _rename_limit(self, said: str, sent: Mapping[str, Any]) -> bool:
        """By "use 'max_completion_tokens' instead", which names both; each name is tried once."""
        for name, other in (LIMITS, LIMITS[::-1]):
            if name in sent and other in said and other not in self._limits_tried:
                self._limits_tried |= {name, other}
                self.limit = other
                return True
        limits = sent.keys() & set(LIMITS)
        if limits and ("context length" in said or (_LIMIT.search(said) and not _named_first(said, sent))):
            # It counts the limit as if it were written: a long prompt leaves no room for it. And some call
            # it by the name that it has behind them.
            self.refused |= limits
            return True
        return False

    def _drop(self, said: str, named: Collection[str], sent: Mapping[str, Any]) -> bool:
        by_field = (name for name in DROPPABLE if name in sent and name in named)
        if name := next(by_field, "") or _named_first(said, sent):
            self.refused.add(name)
            return True
        # Of embeddings as base64 some name the format, others what they expected in its place.
        if "encoding_format" in sent and "base64" in said:
            self.refused.add("encoding_format")
            return True
        return False

    def _do_without_system(self, said: str, named: Collection[str], sent: Mapping[str, Any]) -> bool:
        roles = {message["role"] for message in sent.get("messages", ())}
        if "system" not in roles or not ("role" in named or _SYSTEM.search(said)):
            return False
        self.has_system = False
        return True

    def _take_form_down(self, sent: Mapping[str, Any]) -> bool:
        if "response_format" not in sent:
            return False
        # Several calls may be refused at once: go on from what was sent, not from what is known by now.
        # It may be the user's own, of any shape.
        now = "schema" if "json_schema" in str(sent["response_format"]) else "json"
        following = FORMATS[FORMATS.index(now) + 1]
        self.reply_format = max(self.reply_format, following, key=FORMATS.index)
        self._invalid = 0
        return True


def _named_first(said: str, sent: Mapping[str, Any]) -> str:
    """The parameter of a request that may be left out and is named first; "" for none."""
    names = "|".join(name for name in DROPPABLE if name in sent)
    met = re.search(rf"(?<!\w)(?:{names})(?!\w)", said) if names else None
    return met[0] if met else ""


def without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    r"""The messages with what the system says at the beginning of the user's, and roles that alternate.

    system "Grade." and user "Hi" -> user "Grade.\n\nHi"; two lines of the same role become one.
    """
    joined: list[dict[str, str]] = []
    for message in messages:
        role = "user" if message["role"] == "system" else message["role"]
        if joined and joined[-1]["role"] == role:
            joined[-1] = {**joined[-1], "content": f"{joined[-1]['content']}\n\n{message['content']}"}
        else:
            joined.append({**message, "role": role})
    return joined
