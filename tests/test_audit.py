"""Dependencies: what is locked, under which licences, and that an audit of nothing does not pass."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

LOCK = ROOT / "requirements" / "dev.lock"
# Sunset, unsafe, or not to be had under an open licence.
FORBIDDEN = {
    "langchain-community", "langchain-faiss", "litellm", "instructor", "diskcache", "tiktoken", "sumeval",
    "pickle5", "cloudpickle-generators",
}  # fmt: skip
# Comes with lm-eval, an extra; nothing here imports it.
WITH_LM_EVAL = ("evaluate", "dill")
OPEN = re.compile(
    r"\b(?:MIT|MIT-0|Apache|BSD|0BSD|PSF|Python Software Foundation|ISC|MPL|Mozilla|Unlicense|Public Domain"
    r"|HPND|Zlib|CC0|CNRI|Lesser General Public)\b",
    re.IGNORECASE,
)
# Those of which the package itself says nothing; read from their files.
TOLD_ELSEWHERE = {"axe-playwright-python": "MIT"}


def requirements() -> Iterator[tuple[str, str]]:
    """The head of each requirement, and the lines that belong to it."""
    for block in re.split(r"\n(?=\S)", LOCK.read_text(encoding="utf-8")):
        head, _, rest = block.partition("\n")
        if head.strip() and not head.startswith("#"):
            yield head, rest


def test_every_requirement_is_exact_and_hashed() -> None:
    """One version, at least one sha256, nothing from an address."""
    found = list(requirements())
    assert len(found) > 50
    for head, rest in found:
        assert re.match(r"[a-z0-9][a-z0-9._-]*==\d[\w.!+-]*(?: ; .*)? \\$", head), head
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", rest), head


def test_the_lock_names_no_address() -> None:
    """Where packages come from is the user's own setting."""
    text = LOCK.read_text(encoding="utf-8")
    assert not re.search(r"https?://|--(?:extra-)?index-url|--find-links|--trusted-host|git\+|file:", text)


def test_nothing_forbidden_is_locked_or_imported() -> None:
    """What is sunset, pickles or is not open stays out, and of what lm-eval brings nothing is imported."""
    locked = {head.split("==")[0] for head, _ in requirements()}
    assert locked & FORBIDDEN == set()
    unsafe = re.compile(rf"^\s*(?:import|from) (?:pickle|{'|'.join(WITH_LM_EVAL)})\b", re.MULTILINE)
    code = [*(ROOT / "simulator").rglob("*.py"), *(ROOT / "rag_adapters").rglob("*.py")]
    assert [path.name for path in code if unsafe.search(path.read_text("utf-8"))] == []


def test_every_dependency_of_the_project_is_locked() -> None:
    """pyproject.toml asks for nothing that the lock leaves open."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    # A group may include another one.
    asked = [*project["project"]["dependencies"], *groups["install"]]
    asked += [each for each in groups["dev"] if each != {"include-group": "install"}]
    names = {re.sub(r"[-_.]+", "-", re.split(r"[<>=!~\[; ]", each)[0]).lower() for each in asked}
    locked = {head.split("==")[0] for head, _ in requirements()}
    assert names - locked == set()


def test_licences_are_known_and_open() -> None:
    """Of every locked package that is installed; GPL and AGPL are none of them, the Lesser GPL may be."""
    locked = {head.split("==")[0] for head, _ in requirements()}
    seen, wrong = 0, []
    for package in importlib.metadata.distributions():
        name = re.sub(r"[-_.]+", "-", package.name).lower()
        if name in locked:
            seen += 1
            licence = TOLD_ELSEWHERE.get(name) or _licence(package.metadata)
            is_open = name in TOLD_ELSEWHERE or bool(OPEN.search(licence))
            if not is_open or re.search(r"\bA?GPL|(?<!Lesser )General Public", licence):
                wrong.append(f"{name}: {licence[:60]}")
    assert seen > 50
    assert wrong == []


def _licence(metadata: Any) -> str:
    expression = metadata.get("License-Expression")
    named = [c for c in metadata.get_all("Classifier") or () if c.startswith("License ::")]
    return expression or " ".join(named) or str(metadata.get("License") or "")[:200]


def audited(tmp_path: Path, told: object, code: int = 0, lock: str = "") -> subprocess.CompletedProcess[str]:
    """The audit, with a command in place of pip-audit that prints this."""
    (tmp_path / "told.json").write_text(told if isinstance(told, str) else json.dumps(told), encoding="utf-8")
    script = "import sys; print(open(sys.argv[1]).read()); print('No known vulnerabilities', file=sys.stderr)"
    (tmp_path / "auditor.py").write_text(f"{script}\nsys.exit({code})\n", encoding="utf-8")
    lock = (
        lock or 'a-b==1.0 \\\n    --hash=sha256:0\nc==2.0 ; sys_platform == "win32" \\\n    --hash=sha256:0\n'
    )
    (tmp_path / "lock").write_text(lock if lock != "empty" else "", encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "audit.py"), "lock"], cwd=tmp_path, text=True, check=False,
        capture_output=True,
        env={**os.environ, "AUDIT": f"{sys.executable} auditor.py {tmp_path / 'told.json'}"},
    )  # fmt: skip


FINE = {"dependencies": [{"name": "A.b", "version": "1.0", "vulns": []}]}
SKIPPED = {"dependencies": [{"name": "a-b", "skip_reason": "not found"}]}
BAD = {"dependencies": [{"name": "a-b", "version": "1.0", "vulns": [{"id": "CVE-2026-1"}]}]}


@pytest.mark.parametrize(
    ("told", "auditors", "lock", "code", "said"),
    [
        (FINE, 0, "", 0, "1 packages were audited"),
        (BAD, 1, "", 1, "CVE-2026-1"),
        (SKIPPED, 0, "", 2, "not found"),
        ({"dependencies": []}, 0, "", 2, "0 of 2"),
        ("no network", 1, "", 2, "0 of 2"),
        ("", 0, "", 2, "0 of 2"),
        (FINE, 0, "empty", 2, "Nothing was audited"),
        (FINE, 0, "a-b==1.0 \\\nd==3 \\\n", 2, "not: d"),
    ],
)
def test_an_audit_that_asked_about_nothing_fails(  # noqa: PLR0917 - the columns of the table
    tmp_path: Path, told: object, auditors: int, lock: str, code: int, said: str
) -> None:
    """The auditor's own exit code 0 is no proof: every package of the lock has to be among its answers."""
    done = audited(tmp_path, told, auditors, lock)

    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done
