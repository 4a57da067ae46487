"""Foreign values inside our own messages."""


def printable(text: str) -> str:
    """A text on one line, without control codes."""
    return "".join(character if character.isprintable() else " " for character in text)


def shown(value: object) -> str:
    """A value as an error message can show it: short, on one line, without control codes."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    line = printable(str(value))
    return f"'{line[:40]}…'" if len(line) > 40 else f"'{line}'"
