"""Checks every package of the lock file against a database of known vulnerabilities, with pip-audit.

Exit codes: 0 all were checked and none is known to be vulnerable, 1 some are, 2 not all could be checked: an
audit of nothing (no database, an empty list) is no audit. AUDIT names another command than pip-audit.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CLEAN, VULNERABLE, NOT_AUDITED = 0, 1, 2
# A package, its version, and whether it belongs to some systems only.
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)[ ]*(;[^\\]*)?", re.MULTILINE)
_OPTIONS = ("--disable-pip", "--no-deps", "--progress-spinner", "off", "--format", "json")
_MINUTES = 10


def main(lock: Path) -> int:
    """Audits a lock file, and says what came of it."""
    pinned = {_plain(name): bool(only) for name, _, only in _PINNED.findall(_text(lock))}
    if not pinned:
        return _say(NOT_AUDITED, f"{lock}: names no packages. Nothing was audited.")
    command = _command()
    if not command:
        return _say(NOT_AUDITED, "pip-audit is missing: uv tool install pip-audit. Nothing was audited.")
    packages, problem = _audited([*command, "-r", str(lock), *_OPTIONS])
    checked = {
        _plain(package["name"])
        for package in packages
        if package.get("version") and "skip_reason" not in package
    }
    vulnerable = [package for package in packages if package.get("vulns")]
    for package in vulnerable:
        ids = ", ".join(str(vuln.get("id")) for vuln in package["vulns"])
        _say(VULNERABLE, f"{package['name']} {package.get('version')}: {ids}")
    left = sorted(name for name, only_some in pinned.items() if name not in checked and not only_some)
    if not checked or left:
        problem = next((package["skip_reason"] for package in packages if "skip_reason" in package), problem)
        shown = ", ".join(left[:8]) + (" ..." if len(left) > 8 else "")
        why = f" ({problem})" if problem else ""
        return _say(NOT_AUDITED, f"{len(checked)} of {len(pinned)} packages were audited{why}; not: {shown}.")
    if vulnerable:
        return _say(VULNERABLE, f"{len(vulnerable)} of {len(checked)} packages are known to be vulnerable.")
    elsewhere = len(pinned) - len(checked & set(pinned))
    rest = f" {elsewhere} belong to other systems." if elsewhere else ""
    return _say(CLEAN, f"{len(checked)} packages were audited; none is known to be vulnerable.{rest}")


def _command() -> list[str]:
    if named := os.environ.get("AUDIT"):
        return shlex.split(named)
    if shutil.which("pip-audit"):
        return ["pip-audit"]
    return ["uvx", "pip-audit"] if shutil.which("uvx") else []


def _audited(command: list[str]) -> tuple[list[dict[str, Any]], str]:
    """What was looked up, and what kept the command from it."""
    try:
        done = subprocess.run(  # noqa: S603 - the auditor itself
            command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=60 * _MINUTES
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], type(error).__name__
    errors = done.stderr.strip().splitlines()
    try:
        report = json.loads(done.stdout)
        return [dependency for dependency in report["dependencies"] if "name" in dependency], errors[
            -1
        ] if errors else ""
    except (ValueError, KeyError, TypeError):
        return [], errors[-1] if errors else f"{command[0]} gave no result"


def _text(lock: Path) -> str:
    try:
        return lock.read_text(encoding="utf-8")
    except OSError:
        return ""


def _plain(name: str) -> str:
    """The normalised name of a package."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _say(code: int, text: str) -> int:
    stream = sys.stdout if code == CLEAN else sys.stderr
    stream.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "requirements/dev.lock")))
