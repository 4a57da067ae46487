"""What is known of judges where their scores are held against thresholds."""

from pathlib import Path

from simulator.core.templates import read_toml

_TABLES = read_toml(Path(__file__).with_suffix(".toml"))

# Judges that say right or wrong, and those that compare texts.
WHOLE: frozenset[str] = frozenset(_TABLES["whole"])
COMPARES: frozenset[str] = frozenset(_TABLES["compares"])
