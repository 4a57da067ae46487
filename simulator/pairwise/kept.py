"""Verdicts that were paid for, line by line beside the later run: pairwise.jsonl. Nothing is asked twice."""

import json
from pathlib import Path

from simulator.core.errors import InputError
from simulator.pairwise.outcome import Read

NAME = "pairwise.jsonl"


class Kept:
    """What one folder holds of one rubric; a verdict is filed under a hash of all that the model was sent."""

    def __init__(self, folder: Path, rubric: str) -> None:
        """Reads what is there; lines of other rubrics stay where they are."""
        self.path, self.rubric = folder / NAME, rubric
        self._known = dict(self._read())

    def get(self, key: str) -> Read | None:
        """The verdict of an earlier sitting."""
        return self._known.get(key)

    def put(self, key: str, read: Read, **about: object) -> None:
        """Keeps a verdict at once; `about` is for people who read the file."""
        self._known[key] = read
        line = {"key": key, "rubric": self.rubric, **about, **read.model_dump(mode="json")}
        try:
            self.path.touch(mode=0o600)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            msg = f"{self.path}: cannot be written ({error.strerror})."
            raise InputError(msg) from None

    def _read(self) -> list[tuple[str, Read]]:
        if not self.path.is_file():
            return []
        found = []
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                kept = json.loads(line)
                if kept["rubric"] == self.rubric:
                    found.append((str(kept["key"]), Read(verdict=kept["verdict"], reason=kept["reason"])))
            except (ValueError, KeyError, TypeError):  # the last line may be cut off
                continue
        return found
