"""Judges, personas, prompts, adapters and the demo: here once installed, in a checkout at its top.

`simulator.shelves.judges.rouge_l` is the same module in both, and a user's own judges.py is never in its way.
"""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
FOLDER = _HERE if (_HERE / "judges").is_dir() else _HERE.parent.parent

__path__ = [str(FOLDER)]
