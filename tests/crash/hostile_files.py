"""Files that are no files, bombs and what breaks off: what the program says of each, and what it takes.

`python -m tests.crash.hostile_files FOLDER MEGABYTES` makes them, and has a process of its own read each.
"""

import gzip
import io
import json
import os
import resource
import shutil
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import xlsxwriter

from tests.run_helpers import a_case, a_run, a_talk

MEGABYTE = 1 << 20
# No child may take more of the addresses than this, whatever it reads.
_ADDRESSES = 6 << 30
# Loaded once, not in each child: for tables, and then for documents, whose memory no table pays for.
_FOR_TABLES = (
    "simulator.cli.simulate", "simulator.cli.run_or_resume", "simulator.cli.report", "simulator.api.make",
    "simulator.report.estimate", "simulator.cases.openpyxl_reader", "simulator.cli.publish",
    "simulator.cli.our_errors", "simulator.cli.forecast", "simulator.api.team_words",
    "simulator.shelves.rag_adapters.recorded", "simulator.shelves.judges.cosine",
)  # fmt: skip
_FOR_DOCUMENTS = (
    "simulator.shelves.rag_adapters.demo", "langchain_core.vectorstores", "faiss", "docx", "pypdf",
)  # fmt: skip
_HARMLESS = {"rows.csv.gz", "log.jsonl.gz", "list.json", "page.json", "cp932.csv"}
_DOCUMENTS = {".md", ".html", ".pdf", ".docx"}
_TALK = {"messages": [{"role": "user", "content": "q" * 80}, {"role": "assistant", "content": "a" * 80}]}


def packed(head: bytes, body: bytes, times: int, tail: bytes = b"") -> bytes:
    """A gzip file whose content repeats itself."""
    into = io.BytesIO()
    with gzip.GzipFile(fileobj=into, mode="wb", mtime=0) as file:
        file.write(head)
        for _ in range(times):
            file.write(body)
        file.write(tail)
    return into.getvalue()


def archive(**entries: bytes) -> bytes:
    """An office file of these entries, with `__` for a slash."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name.replace("__", "/") + ".xml", content)
    return into.getvalue()


def pdf(megabytes: int) -> bytes:
    """A page whose stream unpacks to so much."""
    packer = zlib.compressobj(9)
    stream = b"".join(packer.compress(b" " * MEGABYTE) for _ in range(megabytes)) + packer.flush()
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<<>>>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n" % len(stream) + stream + b"\nendstream",
    ]  # fmt: skip
    body = b"".join(b"%d 0 obj" % n + part + b"endobj\n" for n, part in enumerate(parts, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n0\n%%EOF"


def workbook(megabytes: int) -> bytes:
    """An Excel file that reads as so much text."""
    into = io.BytesIO()
    book = xlsxwriter.Workbook(into, {"constant_memory": True})
    sheet = book.add_worksheet()
    for number in range(1 + megabytes * 128):
        sheet.write_row(number, 0, ["question", os.urandom(100).hex() * 40])
    book.close()
    return into.getvalue()


def with_entry(name: str, content: bytes, office: bytes = b"") -> bytes:
    """An office file with this entry, and noise: it would be packed too well."""
    into = io.BytesIO(office)
    with zipfile.ZipFile(into, "a", zipfile.ZIP_DEFLATED) as file:
        with warnings.catch_warnings(action="ignore"):  # of two entries with one name the last one counts
            file.writestr(name, content)
        file.writestr("noise", os.urandom(len(content) // 60))
    return into.getvalue()


def with_cells(cells: bytes, end: bytes = b"</row>") -> bytes:
    """An Excel file with these cells at the end of its first row, or before another tag."""
    book, name = workbook(0), "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(io.BytesIO(book)) as file:
        head, end, tail = file.read(name).partition(end)
    return with_entry(name, head + cells + end + tail, book)


def long_text(megabytes: int, tag: bytes = b"t") -> bytes:
    """An XML element of so much text."""
    size = min(megabytes, 300) if megabytes > 1000 else 3
    return b"<%b>" % tag + b"a" * (size * MEGABYTE) + b"</%b>" % tag


def no_tags(megabytes: int, start: bytes, end: bytes) -> bytes:
    """An XML element of so much text that looks like tags here and there."""
    pieces = min(megabytes, 300) * MEGABYTE // 99 if megabytes > 1000 else 5000
    return b"<t>" + start + (b"a" * 96 + b"<a>") * pieces + end + b"</t>"


def elements(megabytes: int, element: bytes) -> bytes:
    """So much of an XML element that repeats itself, in another one; little where the file is to be small."""
    size = min(megabytes, 300) * MEGABYTE if megabytes > 1000 else MEGABYTE // 16
    return b"<a>" + element * (size // len(element)) + b"</a>"


# Says that the list of worksheets is one of them.
_MOVED = b"""<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Override PartName="/xl/worksheets/sheet9.xml"
ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"""

# The content of each file, of so many megabytes where that is what is wrong with it.
FILES: dict[str, Callable[[int], bytes]] = {
    "rows.csv.gz": lambda n: packed(
        b"question,answer\n", b"how much?,550 yen\n" * 600, n * 100 if n > 1000 else 1
    ),
    "log.jsonl.gz": lambda n: packed(
        b"", (json.dumps(_TALK).encode() + b"\n") * 440, n * 10 if n > 1000 else 1
    ),
    "zeros.jsonl.gz": lambda n: packed(b"", bytes(MEGABYTE), n),
    "cell.csv.gz": lambda n: packed(b'question\n"', b"a" * MEGABYTE, n, b'"\n'),
    "nest.json.gz": lambda n: packed(b"", b"[" * MEGABYTE, n),
    "page.html.gz": lambda n: packed(b"<p>", b"<p>a" * (MEGABYTE // 4), n),
    "broken.csv.gz": lambda _: gzip.compress(os.urandom(9999))[:5000],
    "plain.csv.gz": lambda _: b"question\nq\n",
    "cell.csv": lambda n: b'question,answer\n"' + b"a" * (min(n, 100) * MEGABYTE) + b'",x\n',
    "open.csv": lambda n: b'question,answer\n"' + b"a\n" * (min(n // 3, 100) * MEGABYTE // 2),
    "log.csv": lambda n: b'id,role,content\n1,user,"' + b"a" * (min(n, 100) * MEGABYTE) + b'"\n',
    "columns.csv": lambda _: b",".join(b"c%d" % i for i in range(100_000)) + b",question\n" + b"x\n",
    "zero.csv": lambda _: b"question\nq\0q\n",
    "escape.csv": lambda _: b"question,an\x1b[31mswer\n\x1b]0;own\x07q,a\n",
    "\x1b[31mred.csv": lambda _: b"q,a\n1,2\n",
    "magic.csv": lambda _: b"PK\x03\x04rest",
    "empty.csv": lambda _: b"",
    "deep.json": lambda _: b'[{"question":' + b"[" * 100_000 + b"]" * 100_000 + b"}]",
    "number.json": lambda _: b'[{"question": ' + b"9" * 1_000_000 + b"}]",
    "keys.json": lambda _: b"[{" + b",".join(b'"k%d":1' % i for i in range(50_000)) + b',"question":"q"}]',
    "cut.json": lambda _: b'[{"question":"a"},{"que',
    "surrogate.jsonl": lambda _: rb'{"question":"q \ud800","answer":"a"}',
    "talk.jsonl": lambda _: rb'{"messages":[{"role":"user","content":"\u001b[2J"}],"id":"\u001b[2J"}',
    "nested.json": lambda _: b'{"messages":[{"role":"user","content":' + b"[" * 900 + b"]" * 900 + b"}]}",
    "list.json": lambda n: (
        b"[" + b",".join([b'{"question":"' + b"q" * 990 + b'"}'] * max(1, n * 1000 // 8)) + b"]"
    ),
    "object.json": lambda n: (
        json.dumps(_TALK).encode()[:-1] + b',"x":[' + b"[]," * (33 if n > 1000 else 2) * MEGABYTE + b"[]]}"
    ),
    "page.json": lambda n: json.dumps({"data": [_TALK] * (48_000 if n > 1000 else 500)}).encode(),
    "cp932.csv": lambda n: b"question,answer\n" + (("料金はa" * 400 + ",b\n") * (n * 30)).encode("cp932"),
    "rows.xlsx": lambda n: workbook(n // 8),
    "wide.xlsx": lambda n: with_cells(b"<c><v>1</v></c>" * 17_000),
    "long.xlsx": lambda n: with_cells(b'<c t="inlineStr"><is>' + long_text(n) + b"</is></c>"),
    "strings.xlsx": lambda n: with_entry("xl/sharedStrings.xml", long_text(n), workbook(0)),
    "remark.xlsx": lambda n: with_cells(no_tags(n, b"<!--", b"-->")),
    "texts.xlsx": lambda n: with_entry(
        "xl/sharedStrings.xml", elements(n, b"<si><t>a</t></si>"), workbook(0)
    ),
    "styles.xlsx": lambda n: with_entry("xl/styles.xml", elements(n, b"<a/>"), workbook(0)),
    "list.xlsx": lambda n: with_entry(
        "xl/worksheets/sheet9.xml",
        elements(n, b"<a/>"),
        with_entry("[Content_Types].xml", _MOVED, workbook(0)),
    ),
    "blank.xlsx": lambda n: with_cells(elements(n, b"<row/>"), b"</sheetData>"),
    "faults.xlsx": lambda n: with_cells(
        elements(n, b"<row>" + b'<c t="e"><v>#N/A</v></c>' * 99 + b"</row>"), b"</sheetData>"
    ),
    "merged.xlsx": lambda n: with_cells(elements(n, b'<mergeCell ref="A1:B1"/>'), b"</worksheet>"),
    "cdata.docx": lambda n: with_entry("word/document.xml", no_tags(n, b"<![CDATA[", b"]]>")),
    "elements.docx": lambda n: with_entry("word/document.xml", elements(n, b"<p/>")),
    "long.docx": lambda n: with_entry("word/document.xml", long_text(n, b"w:t")),
    "spaces.xlsx": lambda n: archive(xl__workbook=b" " * (max(n, 65) * MEGABYTE)),
    "torn.xlsx": lambda _: (whole := archive(xl__workbook=b"a"))[:45] + b"\xff" + whole[46:],
    "noise.xlsx": lambda _: os.urandom(99_999),
    "spaces.docx": lambda n: archive(word__document=b" " * (n * MEGABYTE)),
    "noise.docx": lambda _: b"%PDF-1.4",
    "stream.pdf": pdf,
    "cut.pdf": lambda _: pdf(1)[:300],
    "comments.html": lambda _: b"<!--" * 500_000,
    "attributes.html": lambda _: b"<p " + b"a=b " * 500_000 + b">x",
    "large.md": lambda n: b"a " * (min(n, 100) * MEGABYTE // 2),
}

AS_REPORTS = ("remark.xlsx", "blank.xlsx", "faults.xlsx", "noise.xlsx")


def make(folder: Path, megabytes: int) -> list[Path]:
    """Writes all files, and what only looks like one: a pipe, links to itself and to nothing, a folder.

    Some workbooks also stand where the report of a run is to go.
    """
    (folder / "good.csv").write_bytes(b"question,answer\nq,a\n")
    for name, content in FILES.items():
        (folder / name).write_bytes(content(megabytes))
    os.mkfifo(folder / "pipe.csv")
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "nowhere.csv").symlink_to("gone.csv")
    (folder / "folder.csv").mkdir()
    (folder / "folder.csv" / "up").symlink_to("..")
    reports = [folder / f"{name}.reports" / "report.xlsx" for name in AS_REPORTS]
    run = a_run(folder / "runs", (a_talk(a_case()),), "20261121-090400-angry-0001")
    run.close()
    for report in reports:
        report.parent.mkdir()
        shutil.copy(run.path, report.with_name("run.sqlite"))
        shutil.copy(folder / report.parent.stem, report)
    return [
        *(folder / name for name in (*FILES, "pipe.csv", "loop.csv", "nowhere.csv", "folder.csv")),
        *reports,
    ]


def is_document(path: Path) -> bool:
    """Whether it is knowledge of a bot rather than questions."""
    return not _DOCUMENTS.isdisjoint(path.suffixes)


def command(path: Path) -> list[str]:
    """How the program is asked to read a file: as questions, or as the bot's knowledge, or as a report."""
    if path.name == "report.xlsx":
        return ["report", str(path.parent), "--to", "xlsx"]
    good = path.with_name("good.csv")
    shared = ["--offline", "--limit", "1", "--turns", "1", "--runs", f"{path}.runs"]
    if is_document(path):
        return ["--adapter", "demo", "--set", f"knowledge={path}", "--cases", str(good), *shared]
    # All of it is read before the first question: what holds no text of its own need not be asked.
    forecast = ["--dry-run"] if path.name in _HARMLESS else []
    return ["--adapter", "recorded", "--cases", str(path), *shared, *forecast]


def read_all(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """By file the exit code, the megabytes at the peak, and what was said; each in a child of its own."""
    from simulator.cli.app import main

    for path in sorted(paths, key=is_document):
        for name in _FOR_DOCUMENTS if is_document(path) else _FOR_TABLES:
            import_module(name)
        said = path.with_name("said.txt")
        if not (child := os.fork()):
            code = 70
            try:
                resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
                resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
                into = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(into, 1)
                os.dup2(into, 2)
                sys.argv = ["run.py", *command(path)]
                code = int(main() or 0)
            except SystemExit as end:
                code = int(end.code or 0)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _child, status, used = os.wait4(child, 0)
        left = [str(each) for each in Path(f"{path}.runs").rglob(".*.[0-9]*")]
        code, text = os.waitstatus_to_exitcode(status), said.read_bytes().decode(errors="replace")
        yield {
            "name": f"{path.parent.name}/{path.name}",
            "code": code,
            "megabytes": used.ru_maxrss >> 10,
            "said": text,
            "left": left,
        }


def faults(seen: dict[str, Any]) -> list[str]:
    """What must not have happened."""
    said = seen["said"]
    wrong = {
        f"exit code {seen['code']}": seen["code"] not in {0, 2, 3},
        "a traceback": "Traceback" in said,
        "not one line": seen["code"] == 2 and said.count("error: ") != 1,
        f"{seen['megabytes']} MB": seen["megabytes"] >= 300,
        "control codes": any(not each.isprintable() and each not in "\n\t" for each in said),
        f"left behind {seen['left']}": bool(seen["left"]),
    }
    return [what for what, is_so in wrong.items() if is_so]


if __name__ == "__main__":
    for seen in read_all(make(Path(sys.argv[1]), int(sys.argv[2]))):
        print(json.dumps(seen), flush=True)
