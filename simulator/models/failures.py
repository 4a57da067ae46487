"""What a failed call is: its kind, whose model it was, the endpoint's own words, and what to do about it.

judge model gpt-4.1-mini at https://api.openai.com/v1: 401: Incorrect API key. Check REHEARSAL_JUDGE_KEY, ...

The key is in none of them: an endpoint may repeat it in its refusal, or a proxy the whole address.
"""

import re

from simulator.core.errors import AccessDenied, ModelFailure, OutOfPatience
from simulator.core.messages import Message, _, changed, encodable, sentences
from simulator.core.patterns import LazyPattern
from simulator.core.roles import Endpoint
from simulator.models.abilities import DROPPABLE
from simulator.models.network import OF_PROXIES, proxy_for, through
from simulator.models.refusals import CallError, Refused, reason_of

# Of a refusal: a header that it wants, a field of the request that it wants, and how fields are named.
_NAMES_HEADER = LazyPattern(r"subscription.?key|api-key|x-[a-z-]+|\bheaders?\b", re.IGNORECASE)
_ASKS_FOR_FIELD = LazyPattern(
    r"\b(?:required|requires?|missing|must|should|needs?|only supports?|expected|provide|specify)\b",
    re.IGNORECASE,
)
_FIELD = LazyPattern(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b|['\"`]([A-Za-z]\w+)['\"`]")
_OUR_FIELDS = frozenset((
    *DROPPABLE, "model", "messages", "input", "response_format", "json_schema", "json_object", "body",
    "prompt", "role", "content", "user", "system", "assistant", "text", "index", "type", "name", "schema",
    "strict", "invalid_request_error", "context_length_exceeded",
))  # fmt: skip
# Characters of an endpoint's own words in an error.
LONGEST_MESSAGE = 300


def failure_at(
    endpoint: Endpoint, kind: str, message: Message | str, *, advice: Message | str | None = None
) -> ModelFailure:
    """A failure that names the model and its role, and never contains the key.

    `advice` is what to do; None: the settings to check, where access is denied.
    """

    def short(text: str) -> str:
        # Masked before it is cut: half a key is one, too.
        return " ".join(str(encodable(endpoint.concealed(text))).split())[:LONGEST_MESSAGE]

    text = _(
        "{role} model {model} at {address}: {reason}",
        role=endpoint.role,
        model=endpoint.model,
        address=endpoint.address,
        reason=changed(message, short),
    )
    if kind == "denied" and advice is None:
        advice = _check(endpoint)
    if advice:
        ended = str(text).rstrip().endswith((".", "!", "?", "。", "！", "？"))
        text = sentences(text, advice) if ended else _("{failure}. {advice}", failure=text, advice=advice)
    return (AccessDenied if kind == "denied" else ModelFailure)(kind, text)


def failure_of(endpoint: Endpoint, error: CallError, gave_up: Message | str = "") -> ModelFailure:
    """The failure for an error of the endpoint; OutOfPatience when `gave_up` says why nobody waits."""
    if isinstance(error, Refused):
        kind, words, advice = error.refusal.kind, words_of(endpoint, error), _advice(endpoint, error)
    else:
        kind, words = getattr(error, "kind", "error"), error.args[0]
        # A proxy or a certificate that stands in between has nothing to do with the key.
        advice = "" if kind == "denied" else None
    failure = failure_at(endpoint, kind, words, advice=advice)
    if not gave_up:
        return failure
    message = failure.message
    if str(gave_up) not in str(message):
        message = _("{failure} ({why})", failure=message, why=gave_up)
    return OutOfPatience(failure.failure.kind, message)


def words_of(endpoint: Endpoint, error: Refused) -> Message | str:
    """The status and the endpoint's reason, with the proxy that may have said it."""
    words = _("{status:d}: {reason}", status=error.refusal.status, reason=reason_of(error))
    proxy = proxy_for(endpoint.url) if error.refusal.status in OF_PROXIES else None
    # Within TLS nobody but the endpoint answers.
    return through(proxy if endpoint.url.startswith("http:") else None, words)


def _check(endpoint: Endpoint) -> Message:
    check = _("Check REHEARSAL_{name}_KEY, _URL and _MODEL.", name=endpoint.role.upper())
    if endpoint.role == "judge":
        common = _("Without a key there, OPENAI_API_KEY counts.") if endpoint.takes_common_key else None
        return sentences(check, common)
    return sentences(check, _("Without a key there, REHEARSAL_JUDGE_KEY counts, then OPENAI_API_KEY."))


def _advice(endpoint: Endpoint, error: Refused) -> Message | str | None:
    """What to do about a refusal; None for what is said of every one of its kind."""
    reason, name = str(reason_of(error)), endpoint.role.upper()
    if error.refusal.status in (404, 405) and "model" not in reason.lower():
        lacks = endpoint.missing_of_address
        return sentences(lacks, _check(endpoint)) if lacks else None
    if error.refusal.status in (401, 403) and _NAMES_HEADER.search(reason):
        headers = _("Headers are set in REHEARSAL_{name}_HEADERS='api-key: ${{VARIABLE}}'.", name=name)
        return sentences(headers, _check(endpoint))
    if (
        error.refusal.kind == "error"
        and error.status in (400, 422)
        and (field := _field_of(endpoint, error, reason))
    ):
        return _(
            "Request fields are set in REHEARSAL_{name}_EXTRA='{{\"{field}\": ...}}'.",
            name=name,
            field=field,
        )
    return None


def _field_of(endpoint: Endpoint, error: Refused, reason: str) -> str:
    """The field that a refusal asks for, or that came from the user's own; empty where it names none."""
    said = [*sorted(error.refusal.named), *(a or b for a, b in _FIELD.findall(reason))]
    users = next((field for field in endpoint.extra if field in said or field in reason), "")
    named = (field for field in said if field.isidentifier() and field not in _OUR_FIELDS)
    return users or (next(named, "") if _ASKS_FOR_FIELD.search(reason) else "")
