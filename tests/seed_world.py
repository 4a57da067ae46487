"""What tests/test_seed_systems.py stands on: the command as a process, a scripted endpoint, sheets.

Nothing of the program is imported here. Files are read by their contents (texts, numbers, colours), not by
headings or places, so that these tests outlive other words and other columns.
"""

import base64
import json
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openpyxl

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Done:
    """What a process left: exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which is one JSON object and nothing else."""
        return json.loads(self.out)


@dataclass
class Desk:
    """A folder of somebody's with nothing of this machine's environment: no keys, no endpoints, no caches."""

    folder: Path
    language: str = "en"
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, text: str) -> str:
        """A file of the folder; its name."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    def rows(self, name: str, rows: Sequence[Mapping[str, object]]) -> str:
        """A JSON Lines file of the folder; its name."""
        return self.write(name, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

    def run(self, *arguments: str, **variables: str) -> Done:
        """`python run.py ...`, started in the folder."""
        return self.python(str(ROOT / "run.py"), *arguments, **variables)

    def python(self, *arguments: str, **variables: str) -> Done:
        """`python ...`, started in the folder."""
        locale = {"en": "en_US.UTF-8", "ja": "ja_JP.UTF-8"}[self.language]
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= {"LC_ALL": locale, "LANG": locale, "TZ": "UTC", "NO_COLOR": "1", "COLUMNS": "110"}
        environment |= {"HOME": str(self.folder / "home"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        environment |= self.environment | variables
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, encoding="utf-8", check=False
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def made(self, shown: Mapping[str, Any], name: str) -> Path:
        """The file of this name beside the run's or the comparison's own, by its `--json`."""
        store: str = shown["store"]
        return (self.folder / store).parent / name

    def report(self, shown: Mapping[str, Any]) -> Any:
        """The run's report.json."""
        return json.loads(self.made(shown, "report.json").read_text(encoding="utf-8"))


# The endpoint.


@dataclass(frozen=True)
class Asked:
    """One chat request: its model, all that was said in it, and the form that is wanted."""

    body: dict[str, Any]
    at: float

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.body["model"])

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Who says what."""
        return [(message["role"], _text(message["content"])) for message in self.body["messages"]]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(text for _, text in self.messages)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply."""
        return dict(self.body["response_format"]["json_schema"]["schema"])


@dataclass(frozen=True)
class Failure:
    """A reply that is an HTTP error."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = "Not now."


Scripted = Callable[[Asked], str | Failure]


class Endpoint:
    """An OpenAI-compatible endpoint on loopback: a scripted model by each name, embeddings by a function."""

    def __init__(self, embedding: Callable[[str], Sequence[float]] | None = None, **models: Scripted) -> None:
        self.models, self.embedding = models, embedding or (lambda _: (1.0, 0.0))
        self.asked: list[Asked] = []
        self.lock = threading.Lock()
        self.url = ""

    def of(self, model: str) -> list[Asked]:
        """What a model was asked."""
        return [asked for asked in self.asked if asked.model == model]

    @contextmanager
    def open(self) -> Iterator["Endpoint"]:
        """Serves until the block ends."""
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                endpoint.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answers one request."""
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        if handler.path.endswith("/embeddings"):
            _send(handler, self._embeddings(body))
        elif handler.path.endswith("/chat/completions"):
            reply = self._chat(Asked(body, time.monotonic()))
            if isinstance(reply, Failure):
                error = {"message": reply.text, "type": "server_error", "code": None, "param": None}
                _send(handler, {"error": error}, reply.status, reply.headers)
            elif body.get("stream"):
                _stream(handler, body, reply)
            else:
                _send(handler, _completion(body, reply))
        else:
            _send(handler, {"error": {"message": "no such address", "type": "invalid_request_error"}}, 404)

    def _chat(self, asked: Asked) -> "str | Failure":
        with self.lock:
            self.asked.append(asked)
            try:
                return self.models[asked.model](asked)
            except Exception as error:
                # A script that does not fit: whoever asked shall say so, and not ask again.
                return Failure(400, text=f"The script of {asked.model} has no answer: {error!r}")

    def _embeddings(self, body: Mapping[str, Any]) -> dict[str, Any]:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = []
        for index, text in enumerate(texts):
            vector: Any = [float(number) for number in self.embedding(text)]
            if body.get("encoding_format") == "base64":
                vector = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
            data.append({"object": "embedding", "index": index, "embedding": vector})
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def _completion(body: Mapping[str, Any], text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    told = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"]}
    return {**told, "choices": [choice], "usage": usage}


def _send(
    handler: BaseHTTPRequestHandler, body: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    raw = json.dumps(body, ensure_ascii=False).encode()
    handler.send_response(status)
    for name, value in {"content-type": "application/json", "content-length": str(len(raw))}.items():
        handler.send_header(name, value)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(raw)


def _stream(handler: BaseHTTPRequestHandler, body: Mapping[str, Any], text: str) -> None:
    told = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    said = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    over = {"index": 0, "delta": {}, "finish_reason": "stop"}
    events = [json.dumps({**told, "choices": [choice]}, ensure_ascii=False) for choice in (said, over)]
    raw = "".join(f"data: {event}\n\n" for event in (*events, "[DONE]")).encode()
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("content-length", str(len(raw)))
    handler.end_headers()
    handler.wfile.write(raw)


Leaf = Callable[[tuple[str, ...], dict[str, Any]], Any]


def filled(schema: Mapping[str, Any], leaf: Leaf) -> str:
    """A form filled in, as JSON; `leaf` says what stands at a place, or None for what `usual` says."""
    return json.dumps(_filled(schema, (), leaf, schema.get("$defs", {})), ensure_ascii=False)


def _filled(schema: Mapping[str, Any], path: tuple[str, ...], leaf: Leaf, named: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, named)
    if "properties" in schema:
        parts = schema["properties"].items()
        return {name: _filled(part, (*path, name), leaf, named) for name, part in parts}
    value = leaf(path, schema)
    if value is None and (least := schema.get("minItems")):
        return [_filled(schema["items"], path, leaf, named)] * least
    return usual(schema) if value is None else value


def _resolved(schema: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The schema itself, of several the first that is no null."""
    while True:
        if "$ref" in schema:
            schema = named[schema["$ref"].rpartition("/")[2]]
        elif options := schema.get("anyOf") or schema.get("allOf") or schema.get("oneOf"):
            schema = next(option for option in options if option.get("type") != "null")
        else:
            return dict(schema)


def usual(schema: Mapping[str, Any]) -> Any:
    """The first of several choices, the top of a scale, a no, a word, a list without anything in it."""
    if "const" in schema or "enum" in schema:
        choices = schema.get("enum") or [schema["const"]]
        return choices[-1] if numeric(schema) else choices[0]
    if numeric(schema):
        return schema.get("maximum", 1)
    return {"array": [], "boolean": False, "null": None}.get(str(schema.get("type")), "…")


def numeric(schema: Mapping[str, Any]) -> bool:
    """Whether a number is wanted."""
    choices = schema.get("enum") or [schema.get("const")]
    numbers = all(isinstance(choice, int | float) for choice in choices)
    return schema.get("type") in ("integer", "number") or numbers


def forms(schema: Mapping[str, Any]) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """The fields of every object in a schema, in their order."""
    named = schema.get("$defs", {})
    waiting = [dict(schema)]
    while waiting:
        parts = [(name, _resolved(part, named)) for name, part in waiting.pop()["properties"].items()]
        waiting += [part for _, part in parts if "properties" in part]
        yield parts


# Sheets and workbooks.


@dataclass(frozen=True)
class Cell:
    """A cell as people see it."""

    text: str
    red: bool


Grid = list[list[Cell]]


def is_red(red: float, green: float, blue: float) -> bool:
    """Whether a colour (each part 0 to 1) is one, however pale."""
    return red > 0.5 and red - max(green, blue) > 0.06 and abs(green - blue) < 0.2


def workbook(path: Path) -> dict[str, Grid]:
    """The worksheets of an Excel file."""
    book: Any = openpyxl.load_workbook(path)
    return {sheet.title: [[_excel_cell(cell) for cell in row] for row in sheet.iter_rows()] for sheet in book}


def _excel_cell(cell: Any) -> Cell:
    colour = cell.fill.fgColor.rgb if cell.fill.fill_type == "solid" else None
    parts = [int(colour[at : at + 2], 16) / 255 for at in (2, 4, 6)] if isinstance(colour, str) else [1, 1, 1]
    return Cell("" if cell.value is None else str(cell.value), is_red(*parts))


def google_sheet(answer: Mapping[str, Any]) -> dict[str, Grid]:
    """The worksheets of a spreadsheet as Google's API tells it with `includeGridData`."""
    sheets: dict[str, Grid] = {}
    for sheet in answer["sheets"]:
        grid = sheets[sheet["properties"]["title"]] = []
        for block in sheet.get("data", ()):
            rows = block.get("rowData", ())
            grid.extend([_google_cell(cell) for cell in row.get("values", ())] for row in rows)
    return sheets


def _google_cell(cell: Mapping[str, Any]) -> Cell:
    look = cell.get("effectiveFormat") or cell.get("userEnteredFormat") or {}
    colour = look.get("backgroundColor") or look.get("backgroundColorStyle", {}).get("rgbColor") or {}
    value = cell.get("effectiveValue") or cell.get("userEnteredValue") or {}
    text = cell.get("formattedValue") or next(iter(value.values()), "")
    white = 0.0 if colour else 1.0
    return Cell(str(text), is_red(*(colour.get(part, white) for part in ("red", "green", "blue"))))


def in_order(row: Sequence[Cell], texts: Sequence[str]) -> list[Cell] | None:
    """The first cells that hold these texts one after the other, with others between them; None without."""
    cells, rest = [], iter(row)
    for text in texts:
        cell = next((cell for cell in rest if text in cell.text), None)
        if cell is None:
            return None
        cells.append(cell)
    return cells
