"""What the guides say to look for when something goes wrong, against what is printed in either language."""

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.messages import LOCALES, catalogue

ROWS = re.compile(r"^\| (`.*?`) \|", re.MULTILINE)


def fragments(path: Path, heading: str) -> list[str]:
    """The messages quoted in the first column of that section."""
    _, _, section = path.read_text(encoding="utf-8").partition(heading)
    return [quoted for row in ROWS.findall(section) for quoted in re.findall("`(.+?)`", row)]


def quoting(fragment: str) -> re.Pattern[str]:
    """Finds it as a part of a message; `…` stands for a value."""
    parts = [re.escape(part.strip()) for part in fragment.split("…")]
    return re.compile(r" ?\{\w+(?::[^}]*)?\} ?".join(parts))


def messages() -> Iterator[tuple[str, str]]:
    """What the program can say, in English and in Japanese; of a plural, its forms one after the other."""
    for message in catalogue(LOCALES / "ja" / "LC_MESSAGES" / "rehearsal.po"):
        english, japanese = (
            each if isinstance(each, str) else "\n".join(each or ()) for each in (message.id, message.string)
        )
        yield english, japanese


def test_both_pages_quote_the_same_messages_as_they_are_printed(root: Path) -> None:
    """Row by row: a message, in English and in Japanese."""
    english = fragments(root / "docs" / "review.md", "## When something goes wrong")
    japanese = fragments(root / "docs" / "review.ja.md", "## うまくいかないとき")
    pairs = list(zip(english, japanese, strict=True))
    can_say = list(messages())

    def is_known(said: str, told: str) -> bool:
        ours, theirs = quoting(said.partition("; ")[0]), quoting(told)
        return any(ours.search(one) and theirs.search(other) for one, other in can_say)

    assert len(pairs) > 2
    assert [pair for pair in pairs if not is_known(*pair)] == []
