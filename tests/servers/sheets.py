"""A Sheets v4 endpoint over real HTTP: spreadsheets with worksheets of text, for gspread to read."""

import re
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from tests.servers.loopback import LoopbackServer

Sheets = dict[str, dict[str, list[list[str]]]]
_METADATA = re.compile(r"/v4/spreadsheets/([\w-]+)")
_VALUES = re.compile(r"/v4/spreadsheets/([\w-]+)/values/(.+)")


class SheetsServer(LoopbackServer):
    """`sheets` maps a key to its worksheets; `refusals` are statuses answered before anything else."""

    path = ""

    def __init__(self, sheets: Sheets) -> None:
        """Starts with these spreadsheets."""
        super().__init__()
        self.sheets = sheets
        self.refusals: list[int] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        self.keep(request, b"", None)
        if self.refusals:
            return _error(self.refusals.pop(0))
        path = unquote(request.path)
        if found := _VALUES.fullmatch(path):
            name = found[2].split("!")[0].strip("'").replace("''", "'")
            return web.json_response({"range": found[2], "values": self.sheets[found[1]][name]})
        metadata = _METADATA.fullmatch(path)
        if metadata is None or metadata[1] not in self.sheets:
            return _error(404)
        names = self.sheets[metadata[1]]
        tabs = [{"properties": _properties(number, name)} for number, name in enumerate(names)]
        return web.json_response({"spreadsheetId": metadata[1], "properties": {"title": "t"}, "sheets": tabs})


def _properties(number: int, name: str) -> dict[str, Any]:
    grid = {"rowCount": 1000, "columnCount": 26}
    return {"sheetId": number, "title": name, "index": number, "sheetType": "GRID", "gridProperties": grid}


def _error(status: int) -> web.Response:
    if status == 502:
        return web.Response(status=502, text="<html>Bad Gateway</html>", content_type="text/html")
    body = {"error": {"code": status, "message": f"status {status}", "status": "FAILED"}}
    return web.json_response(body, status=status, headers={"Retry-After": "0"})
