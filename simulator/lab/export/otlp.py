"""`--to otlp`: the spans of a run to whatever takes OpenTelemetry's protocol over HTTP.

Where to, with which headers and for how long is said by OpenTelemetry's own environment variables.
"""

import logging
import os
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import unquote

from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, encodable, localised, ngettext, safe_text, system_error
from simulator.core.roles import is_http_address
from simulator.core.secrets import known_secrets, mask_secrets, without_url_secrets
from simulator.core.settings import Settings
from simulator.core.version import __version__
from simulator.lab.export.spans import RESULT, Spans, TraceSpan
from simulator.report.context import ReportContext

if TYPE_CHECKING:  # half a second, and only where spans are sent
    from opentelemetry.sdk.trace import ReadableSpan
    from requests import Response
    from requests.models import PreparedRequest

# Spans of one request.
_BATCH = 500
_PATH = "/v1/traces"
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def check(name: str) -> None:
    """Raises InputError where the extra is missing, or OpenTelemetry's variables name what cannot be used."""
    if not _is_installed():
        msg = _(
            "--to otlp needs the extra 'otlp': pip install opentelemetry-sdk"
            " opentelemetry-exporter-otlp-proto-http."
        )
        raise InputError(msg)
    if not is_http_address(_address()):
        msg = _(
            "--to otlp: {address} is not an address. OTEL_EXPORTER_OTLP_ENDPOINT takes one such "
            "as http://localhost:6006.",
            address=without_url_secrets(_address()),
        )
        raise InputError(msg)
    if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf") != "http/protobuf":
        msg = _(
            "--to otlp speaks http/protobuf alone: unset OTEL_EXPORTER_OTLP_PROTOCOL, and name the receiver's"
            " port for HTTP (often 4318)."
        )
        raise InputError(msg)


def send(name: str, context: ReportContext, settings: Settings) -> str:
    """Sends all spans of a run; returns how many conversations went where.

    Raises InputError for a receiver that refuses them, RehearsalError for one that cannot be reached.
    """
    check(name)
    has_content = os.environ.get(_CONTENT, "").lower() in {"true", "1", "span_only", "span_and_event"}
    spans = iter(Spans(context.results, context.summary.red.answers, content=has_content))
    receiver, traces = _Receiver(), set[int]()
    while batch := list(islice(spans, _BATCH)):
        receiver.take(batch)
        traces.update(span.trace for span in batch)
    sent = ngettext(
        "{n} conversation sent to {address}", "{n} conversations sent to {address}",
        n=len(traces), address=without_url_secrets(_address()),
    )  # fmt: skip
    bare = _("{sent}, without what was said: {variable}=true sends that, too.", sent=sent, variable=_CONTENT)
    return f"otlp: {safe_text(localised(sent if has_content else bare))}"


class _Receiver:
    """Takes spans by the SDK's exporter, which reads address, headers and timeout from the environment."""

    def __init__(self) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from requests import RequestException, Session

        # What it has to say is said here, in a line.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._answer: Response | None = None
        self._error: BaseException | None = None
        receiver = self

        class Listening(Session):
            """Keeps what the receiver answered: of the exporter one learns only that it failed."""

            def send(self, request: "PreparedRequest", **options: object) -> "Response":
                receiver._answer = receiver._error = None
                try:
                    receiver._answer = super().send(request, **options)
                except RequestException as error:
                    receiver._error = error
                    raise
                return receiver._answer

        self._exporter = OTLPSpanExporter(session=Listening())
        ours = Resource({"service.name": "rehearsal", "service.version": __version__})
        self._resource = ours.merge(OTELResourceDetector().detect())

    def take(self, spans: Iterable[TraceSpan]) -> None:
        """Sends spans in one request. Raises InputError and RehearsalError, as `send` does."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        result = self._exporter.export([self._readable(span) for span in spans])
        answer = self._answer
        # What answers with a page is some other server.
        is_page = answer is not None and "html" in answer.headers.get("Content-Type", "")
        if result is SpanExportResult.SUCCESS and not is_page:
            return
        why: Message | str
        if answer is None:
            why = _("no answer ({why}).", why=system_error(_innermost(self._error)))
        elif answer.status_code in {401, 403}:
            why = _("refused the key ({code}). Look at OTEL_EXPORTER_OTLP_HEADERS.", code=answer.status_code)
        elif is_page or answer.status_code in {404, 405}:
            why = _("takes no traces ({code}). Look at OTEL_EXPORTER_OTLP_ENDPOINT.", code=answer.status_code)
        else:
            said = " ".join(answer.text.split())[:160]
            why = _("answered with {code}. {said}", code=answer.status_code, said=said)
        is_passing = answer is None or answer.status_code == 429 or answer.status_code >= 500
        msg = _(
            "--to otlp: {address}: {why} The run is safe: send it again with `report`.",
            address=without_url_secrets(_address()),
            why=mask_secrets(safe_text(localised(why)), known_secrets({"headers": _headers()})),
        )
        raise (RehearsalError if is_passing else InputError)(msg)

    def _readable(self, span: TraceSpan) -> "ReadableSpan":
        from opentelemetry.sdk.trace import Event, ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

        flags = TraceFlags(TraceFlags.SAMPLED)
        parent = span.parent and SpanContext(span.trace, span.parent, is_remote=False, trace_flags=flags)
        return ReadableSpan(
            name=encodable(span.name),
            context=SpanContext(span.trace, span.id, is_remote=False, trace_flags=flags),
            parent=parent or None,
            resource=self._resource,
            attributes=encodable(span.attributes),
            events=[Event(RESULT, encodable(event), span.end) for event in span.events],
            kind=SpanKind.CLIENT if span.is_client else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=InstrumentationScope("rehearsal", __version__),
        )


def _innermost(error: BaseException | None) -> BaseException | None:
    """What the system said, below what requests and urllib3 wrap around it."""
    wrapped = (getattr(error, "reason", None), error.__cause__, *error.args[:1]) if error else ()
    inner = next((inside for inside in wrapped if isinstance(inside, BaseException)), None)
    return _innermost(inner) if inner else error


def _is_installed() -> bool:
    """Whether the SDK and its exporter are here; other packages bring parts of OpenTelemetry alone."""
    try:
        return all(map(find_spec, ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")))
    except ModuleNotFoundError:
        return False


def _headers() -> str:
    """The headers that the exporter sends, a line each: what a receiver quotes of them is masked."""
    names = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
    given = (header.partition("=") for name in names for header in os.environ.get(name, "").split(","))
    return "\n".join(f"{name.strip()}: {unquote(value.strip())}" for name, _equals, value in given if value)


def _address() -> str:
    """Where the exporter sends traces to, by the variables that it reads."""
    whole = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    base = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or "http://localhost:4318"
    return whole or f"{base.rstrip('/')}{_PATH}"
