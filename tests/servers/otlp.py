"""A receiver of traces by OTLP over HTTP, which keeps what it is sent; or answers as it is told to."""

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.servers.loopback import LoopbackServer


class OTLPServer(LoopbackServer):
    """Takes POST /v1/traces; `status` and `page` make it answer otherwise."""

    path = ""

    def __init__(self, *, status: int = 200, page: bool = False) -> None:
        super().__init__()
        self.status, self.page = status, page
        self.received: list[ExportTraceServiceRequest] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Decode the spans of one request."""
        raw = await request.read()
        self.keep(request, raw, raw)
        if self.page:
            return web.Response(text="<html>Welcome</html>", content_type="text/html", status=self.status)
        if self.status != 200:
            return web.Response(text="the key sk-otlp-4711-secret is unknown", status=self.status)
        self.received.append(ExportTraceServiceRequest.FromString(raw))
        return web.Response(content_type="application/x-protobuf")
