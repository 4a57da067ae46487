"""`python -m scripts.house`: the figures of the house, one a line; `--json` prints them as one object.

Size, names, and how modules hang together, with everything counted that loads a module of ours: imports at
the top, in functions, and strings that name one, whatever loads it. Figures to steer by; which may only fall
stands in tests/test_architecture.py. Rooms are those of tests/rooms.toml.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from babel.messages.pofile import read_po

from simulator.cli.app import COMMANDS
from simulator.core.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
ENGINE = ("simulator", "judges", "rag_adapters")
LAB = "simulator.lab"
ROOMS = ROOT / "tests" / "rooms.toml"
GONE = "gone"
# Calls that load a module by its name, or answer for names that a module does not define.
LOADERS = frozenset({"import_module", "__import__", "exec", "entry_points", "spec_from_file_location"})
# The same by other ways, which nobody has gone yet.
BYWAYS = frozenset({"eval", "exec_module", "load_module", "run_module", "run_path", "resolve_name", "locate"})
# One offline conversation; then the files of the modules that are loaded.
_CONVERSATION = """
import json, pathlib, runpy, sys
root, out = sys.argv[1:]
sys.argv = ["run.py", "--persona", "angry", "--offline", "--limit", "1", "--json"]
try:
    runpy.run_path(str(pathlib.Path(root) / "run.py"), run_name="__main__")
except SystemExit:
    pass
files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
pathlib.Path(out).write_text(json.dumps([file for file in files if file]))
"""
# Seconds of CPU until our modules are imported; those of others are there before.
_IMPORTS = """
import contextlib, gc, importlib, json, sys, time
ours, others, out = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
for name in others:
    with contextlib.suppress(Exception):
        importlib.import_module(name)
gc.freeze()  # or each collection of ours would go through all objects of others
before = time.process_time()
for name in ours:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
seconds = time.process_time() - before
with open(out, "w") as file:
    json.dump([seconds, [name for name in sys.modules if name.partition(".")[0] != "simulator"]], file)
"""


class Source(NamedTuple):
    """A module of ours: its name, its file, its text and tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Whether it is the `__init__.py` of one."""
        return self.path.name == "__init__.py"


class Import(NamedTuple):
    """A module of ours that another one imports, and whether a function does."""

    module: str
    inside: bool


@cache
def sources() -> Mapping[str, Source]:
    """Our modules by name, in the order of their files."""
    modules = {}
    for path in (path for folder in ENGINE for path in sorted((ROOT / folder).rglob("*.py"))):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        modules[name] = Source(name, path, text, ast.parse(text))
    return modules


@cache
def _nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All that is in it, kept: each figure looks at all of them."""
    return tuple(ast.walk(tree))


@cache
def imports(source: Source) -> tuple[Import, ...]:
    """Our modules that import statements of this one name; those for type checkers alone are left out."""
    modules = sources()

    def look(node: ast.AST, inside: bool) -> Iterator[Import]:
        if isinstance(node, ast.expr) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        ):
            return
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = _absolute(node, source)
            names = [whole if (whole := f"{stem}.{alias.name}") in modules else stem for alias in node.names]
        for name in names:
            while name and name not in modules:
                name = name.rpartition(".")[0]  # noqa: PLW2901
            if name and name != source.name:
                yield Import(name, inside)
        for child in ast.iter_child_nodes(node):
            yield from look(child, inside)

    return tuple(look(source.tree, False))


def _absolute(node: ast.ImportFrom, source: Source) -> str:
    package = source.name.split(".")[: None if source.is_package else -1]
    start = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*start, *filter(None, [node.module])])


@cache
def _texts(source: Source) -> tuple[str, ...]:
    """The texts in the code of a module, those within f-strings among them; no docstrings."""
    documentation = {id(text.value) for _, text in _documented(source.tree)}
    constants = (node for node in _nodes(source.tree) if isinstance(node, ast.Constant))
    return tuple(n.value for n in constants if isinstance(n.value, str) and id(n) not in documentation)


@cache
def named(source: Source) -> tuple[str, ...]:
    """Our modules that texts name: "simulator.results.gate:decide", "results.gate"."""
    return tuple(name for text in _texts(source) for name in _named_by(text) if name != source.name)


def _named_by(text: str) -> tuple[str, ...]:
    name = text.partition(":")[0]
    if "." not in name or " " in name:
        return ()
    return tuple(full for full in (name, f"simulator.{name}") if full in sources())


def joined(source: Source) -> int:
    """How many names of our modules are put together: f"simulator.cli.{word}", "simulator." + name.

    Counted are texts that end within a name, also within an f-string.
    """
    ends = (text.rpartition(" ")[2] for text in _texts(source))
    return sum(end.endswith(".") and end[:-1] in _packages() for end in ends)


@cache
def _packages() -> frozenset[str]:
    """All packages of ours below and with `simulator`."""
    names = (name.split(".") for name in sources() if name.startswith("simulator"))
    return frozenset(".".join(parts[:end]) for parts in names for end in range(1, len(parts) + 1))


def in_toml() -> Iterator[str]:
    """Our modules that values of TOML files name, those that tests read left out."""

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from (text for items in value.items() for part in items for text in texts(part))
        elif isinstance(value, list):
            yield from (text for item in value for text in texts(item))
        elif isinstance(value, str):
            yield value

    folders = (*ENGINE, "personas", "prompts", "demo")
    for path in (
        ROOT / "pyproject.toml",
        *(p for folder in folders for p in (ROOT / folder).rglob("*.toml")),
    ):
        for text in texts(tomllib.loads(path.read_text(encoding="utf-8"))):
            yield from _named_by(text)


def doors(source: Source) -> Counter[str]:
    """The calls of a module that load another one by its name, under whichever name they are imported.

    With `load` of an entry point, and `__getattr__` of the module itself.
    """
    names = {name: name for name in LOADERS | BYWAYS}
    for node in _nodes(source.tree):
        if isinstance(node, ast.ImportFrom):
            names |= {
                alias.asname: alias.name for alias in node.names if alias.asname and alias.name in names
            }
    counts = Counter[str]()
    for node in _nodes(source.tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            counts[names.get(called, "")] += 1
    if counts["entry_points"]:
        counts["load"] = sum(isinstance(n, ast.Attribute) and n.attr == "load" for n in _nodes(source.tree))
    # Handed to somebody else who calls it: `to_thread(import_module, "openai")`.
    counts["handed on"] = sum(
        names.get(getattr(argument, "id", "")) in LOADERS
        for node in _nodes(source.tree)
        if isinstance(node, ast.Call)
        for argument in node.args
    )
    counts["__getattr__"] = sum(
        isinstance(n, ast.FunctionDef) and n.name == "__getattr__" for n in source.tree.body
    )
    del counts[""]
    return +counts


def package(module: str) -> str:
    """`simulator.results.gate` is of simulator.results, `simulator.lab.load.pace` of simulator.lab.load."""
    parts = module.split(".")
    if parts[0] != "simulator" or len(parts) < 2:
        return parts[0]
    return ".".join(parts[:3]) if parts[1] == "lab" else ".".join(parts[:2])


def graph() -> dict[str, set[str]]:
    """Who loads whom at all: by imports at the top, in functions, and by strings."""
    return {
        name: {statement.module for statement in imports(source)} | set(named(source))
        for name, source in sources().items()
    }


def packages(edges: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """The same of packages."""
    edges_of: dict[str, set[str]] = {}
    for name, targets in edges.items():
        edges_of.setdefault(package(name), set()).update(
            {package(target) for target in targets} - {package(name)}
        )
    return edges_of


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of names of which each reaches each other: strongly connected ones, by Tarjan."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in edges.get(name, ()):
            if target not in index:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], index[target])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[-len(group) :]
            groups.append(sorted(group))

    for name in edges:
        if name not in index:
            visit(name)
    return sorted(group for group in groups if len(group) > 1)


def longest_chain(edges: Mapping[str, Iterable[str]]) -> int:
    """How many modules the longest chain has; a circle on it counts with all of its modules."""
    groups = circles(edges)
    circle = {name: group[0] for group in groups for name in group}
    size = Counter({group[0]: len(group) for group in groups})
    merged: dict[str, set[str]] = {}
    for name, targets in edges.items():
        circle_of_name = circle.get(name, name)
        merged.setdefault(circle_of_name, set()).update(
            {circle.get(target, target) for target in targets} - {circle_of_name}
        )

    @cache
    def depth(name: str) -> int:
        return (size[name] or 1) + max(map(depth, merged.get(name, ())), default=0)

    return max(map(depth, merged), default=0)


def _documented(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.Expr]]:
    """What has a docstring, and that."""
    for node in _nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                yield node, first


def code(source: Source) -> int:
    """Lines that are neither docstring nor comment nor blank."""
    lines = source.text.splitlines()
    other = sum(not line.strip() or line.lstrip().startswith("#") for line in lines)
    for _, text in _documented(source.tree):
        other += sum(bool(line.strip()) for line in lines[text.lineno - 1 : text.end_lineno])
    return len(lines) - other


def rooms() -> dict[str, str]:
    """The room of each module, "core/text": that of its longest beginning in the table; empty without any."""
    table = tomllib.loads(ROOMS.read_text(encoding="utf-8"))
    placed = {
        name: f"{part}/{room}"
        for part in ("core", "lab")
        for room, names in table[part].items()
        for name in names
    }
    placed |= dict.fromkeys(table[GONE], GONE)

    def of(module: str) -> str:
        if module in placed:
            return placed[module]
        parent = module.rpartition(".")[0]
        # The root stands for itself alone, or every module would have a room.
        return of(parent) if parent not in ("", "simulator") else ""

    return {name: of(name) for name in sources()}


def core_on_lab() -> list[str]:
    """Where a module of the core loads one of the lab, or one that goes: `module -> module`."""
    room = rooms()
    return sorted(
        f"{name} -> {target}"
        for name, targets in graph().items()
        for target in targets
        if room[name].startswith("core") and not room[target].startswith("core")
    )


def _run(program: str, *arguments: str) -> Any:
    """What a program of its own Python process writes as JSON into its last argument; None where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [sys.executable, "-c", program, *arguments, str(out)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, timeout=300)
        return json.loads(out.read_text(encoding="utf-8")) if out.exists() else None


def _loaded() -> dict[str, int]:
    """How many of our modules one offline conversation loads, and their code."""
    by_path = {str(source.path): source for source in sources().values()}
    mine = {file for file in _run(_CONVERSATION, str(ROOT)) or () if file in by_path}
    return {"modules": len(mine), "code": sum(code(by_path[file]) for file in mine)}


def _import_seconds() -> float:
    """Seconds of CPU that importing our modules takes by itself: the less of two times."""
    names = [name for name in sources() if name.startswith("simulator") and not name.startswith(LAB)]
    names.remove("simulator.__main__")
    _seconds, others = _run(_IMPORTS, json.dumps(names), "[]") or (0.0, [])
    times = [_run(_IMPORTS, json.dumps(names), json.dumps(others)) for _ in range(2)]
    return round(float(min(seconds for seconds, _ in times)), 2)


def sentences() -> int:
    """Sentences that the program says: those of the Japanese catalogue, a plural as a second one."""
    place = ROOT / "simulator" / "core" / "locale" / "ja" / "LC_MESSAGES" / "rehearsal.po"
    with place.open("rb") as file:
        return sum(1 + bool(message.pluralizable) for message in read_po(file) if message.id)


def words() -> int:
    """Words of the English pages in docs/."""
    pages = (path for path in (ROOT / "docs").rglob("*.md") if not path.name.endswith(".ja.md"))
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


@cache
def hanging() -> dict[str, int]:
    """How modules hang together, in numbers that may only fall."""
    every = graph()
    circled = circles(every)
    return {
        "longest_chain": longest_chain(every),
        "package_cycles": len(circles(packages(every))),
        "module_cycles": len(circled),
        "modules_in_cycles": sum(map(len, circled)),
        "own_imports_in_functions": sum(e.inside for source in sources().values() for e in imports(source)),
        "own_imports_as_strings": sum(len(named(source)) for source in sources().values()),
        "own_names_joined": sum(map(joined, sources().values())),
        "own_names_in_toml": len(list(in_toml())),
    }


def figures() -> dict[str, Any]:
    """All figures, but those that take a run of the program."""
    every = list(sources().values())
    lines = sum(source.text.count("\n") for source in every)
    lab = [source for source in every if source.name.startswith(LAB)]
    classes = Counter(n.name for s in every for n in _nodes(s.tree) if isinstance(n, ast.ClassDef))
    functions = sum(
        isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) for s in every for n in _nodes(s.tree)
    )
    comments = sum(bool(re.match(r"\s*#", line)) for s in every for line in s.text.splitlines())
    documented = (text for s in every for _, text in _documented(s.tree))
    docstrings = sum((text.end_lineno or 0) - text.lineno + 1 for text in documented)
    return {
        "lab_code": sum(map(code, lab)),
        "lines": lines,
        "core_code": sum(map(code, every)) - sum(map(code, lab)),
        "modules": len(every),
        "modules_simulator": sum(source.name.startswith("simulator") for source in every),
        "tests_lines": sum(path.read_bytes().count(b"\n") for path in (ROOT / "tests").rglob("*.py")),
        **hanging(),
        "doors": sorted(
            name for name, source in sources().items() if {*doors(source)} & {*LOADERS, "__getattr__"}
        ),
        "classes": sum(classes.values()),
        "class_names_twice_or_more": sorted(name for name, count in classes.items() if count > 1),
        "functions_per_1000": round(1000 * functions / lines, 1),
        "comments_per_100": round(100 * comments / lines, 1),
        "docstring_share": round(docstrings / lines, 3),
        "settings": len(Settings.model_fields),
        "commands": len(COMMANDS),
        "sentences": sentences(),
        "words_of_docs": words(),
    }


def per_room() -> dict[str, dict[str, int]]:
    """Code and modules of each room, the largest first."""
    sizes: dict[str, Counter[str]] = {}
    for name, room in rooms().items():
        sizes.setdefault(room, Counter()).update(code=code(sources()[name]), modules=1)
    return {room: dict(sizes[room]) for room in sorted(sizes, key=lambda room: -sizes[room]["code"])}


def main() -> None:
    """Prints all figures, and those of the rooms."""
    report = {
        **figures(),
        "loaded_by_one_offline_conversation": _loaded(),
        "import_cpu_seconds": _import_seconds(),
        "core_on_lab": len(core_on_lab()),
        "rooms": per_room(),
    }
    if "--edges" in sys.argv:
        print(*core_on_lab(), sep="\n")
        return
    if "--json" in sys.argv:
        print(json.dumps(report))
        return
    for key, value in report.items():
        if key != "rooms":
            print(f"{key:36} {value}")
    parts = Counter[str]()
    for room, size in report["rooms"].items():
        parts[room.partition("/")[0]] += size["code"]
    print("\n", ", ".join(f"{part} {count}" for part, count in parts.items()), sep="")
    for room, size in report["rooms"].items():
        print(f"{size['code']:7} lines of code {size['modules']:4} modules  {room}")


if __name__ == "__main__":
    main()
