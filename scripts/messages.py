"""`make messages`: brings the catalogues of every language up to date with the source, and compiles them.

A new sentence is added without a translation, one that is said no longer goes. What is missing then is told.
"""

import sys
from io import BytesIO
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("simulator", "judges", "rag_adapters")
LOCALES = ROOT / "simulator" / "core" / "locale"
KEYWORDS = {"_": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2)}


def extracted() -> Catalog:
    """Every sentence of the source, and the files it stands in."""
    found = Catalog(fuzzy=False)
    for path in sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py")):
        for _, message, _, context in extract_from_file("python", path, keywords=KEYWORDS):
            place = path.relative_to(ROOT).as_posix()
            # A share such as "{n} % of the rows" is no format of another kind.
            found.add(message, locations=[(place, 0)], context=context).flags.discard("python-format")
    return found


def catalogue(path: Path) -> Catalog:
    """The catalogue in a .po file."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parent.parent.name)


def update(path: Path, source: Catalog) -> Catalog:
    """The catalogue with the sentences of the source: written, compiled and returned."""
    known = catalogue(path)
    source.creation_date = known.creation_date
    known.update(source, no_fuzzy_matching=True, update_creation_date=False)
    for message in known:
        message.flags.discard("python-format")
    with path.open("wb") as file:
        write_po(file, known, width=110, include_lineno=False, ignore_obsolete=True, sort_by_file=True)
    path.with_suffix(".mo").write_bytes(compiled(catalogue(path)))
    return known


def compiled(known: Catalog) -> bytes:
    """The catalogue as the program reads it."""
    file = BytesIO()
    write_mo(file, known)
    return file.getvalue()


def main() -> int:
    """Says how many sentences are without a translation; 1 if there are any."""
    source = extracted()
    missing = 0
    for path in sorted(LOCALES.rglob("*.po")):
        known = update(path, source)
        without = sum(not all(_strings(message.string)) for message in known if message.id)
        missing += without
        place = path.relative_to(ROOT)
        sys.stdout.write(f"{place}: {len(known)} sentences, {without} without a translation\n")
    return 1 if missing else 0


def _strings(string: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return tuple(string) if isinstance(string, (tuple, list)) else (string or "",)


if __name__ == "__main__":
    sys.exit(main())
