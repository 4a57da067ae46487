"""What an editor offers after `rehearse(`: asked of a language server, and drawn as a picture.

The server is Pyright (`pip install basedpyright`), which editors use; without it the picture stays as it is.
"""

import html
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from simulator.core.shelves import ROOT

SERVER = "basedpyright-langserver"
CODE = """from simulator import rehearse

from shop import answer

result = rehearse(answer, "questions.csv", persona="angry", ju)"""
# Those whose name begins with the last letters of the code, before its bracket.
TYPED = "ju"
STYLE = """body { margin: 0; padding: 18px; width: 820px; font: 15px/1.6 monospace; color: #222 }
pre { margin: 0 } li { padding: 0 8px } li:first-child { background: #d6ebff }
ul { margin: 2px 0 0 36em; padding: 4px 0; width: 15em; border: 1px solid #bbb; list-style: none }
p { margin: 14px 0 0; padding: 6px 10px; background: #f3f3f3; border: 1px solid #ccc; font-size: 13px }"""


class LanguageServer:
    """A language server that is asked over its standard streams."""

    def __init__(self, folder: Path) -> None:
        """Starts it, and opens the code in this folder."""
        self.process = subprocess.Popen([SERVER, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        self.number, self.uri = 0, (folder / "check.py").as_uri()
        folders = [{"uri": folder.as_uri(), "name": "checkout"}]
        self.ask("initialize", {"processId": None, "workspaceFolders": folders, "capabilities": {}})
        self._send({"method": "initialized", "params": {}})
        document = {"uri": self.uri, "languageId": "python", "version": 1, "text": CODE}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def at_the_end(self, method: str) -> Any:
        """What it answers about the place before the last bracket."""
        *before, last = CODE.splitlines()
        position = {"line": len(before), "character": len(last) - 1}
        return self.ask(method, {"textDocument": {"uri": self.uri}, "position": position})

    def ask(self, method: str, parameters: dict[str, Any]) -> Any:
        """Its answer; what it asks in between is answered with nothing."""
        self.number += 1
        self._send({"id": self.number, "method": method, "params": parameters})
        while (message := self._read()).get("id") != self.number or "method" in message:
            if "id" in message and "method" in message:
                self._send({"id": message["id"], "result": None})
        return message.get("result")

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None  # noqa: S101 - it was started with one
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None  # noqa: S101 - it was started with one
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _colon, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message


def completion(browser: Browser, picture: Path) -> None:
    """Draws what the server offers, and the type of the keyword that is offered first."""
    if shutil.which(SERVER) is None:
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "shop.py").write_text("def answer(question: str) -> str: ...\n", encoding="utf-8")
        (folder / "pyrightconfig.json").write_text(
            json.dumps({"extraPaths": [str(ROOT)], "venvPath": str(ROOT), "venv": ".venv"}), encoding="utf-8"
        )
        server = LanguageServer(folder)
        labels = [item["label"] for item in server.at_the_end("textDocument/completion")["items"]]
        parameters = server.at_the_end("textDocument/signatureHelp")["signatures"][0]["parameters"]
        server.process.kill()
    keywords = [label for label in labels if label.startswith(TYPED) and label.endswith("=")]
    types = [parameter["label"] for parameter in parameters if parameter["label"].startswith(TYPED)]
    page = browser.new_page(viewport={"width": 860, "height": 330})
    offered = "".join(f"<li>{html.escape(keyword)}</li>" for keyword in keywords)
    signatures = "<br>".join(map(html.escape, types))
    page.set_content(
        f"<style>{STYLE}</style><pre>{html.escape(CODE)}</pre><ul>{offered}</ul><p>{signatures}</p>"
    )
    page.locator("body").screenshot(path=picture)
