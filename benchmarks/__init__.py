"""What is fast and what is right; each figure is reprinted by one command."""

import os
from pathlib import Path

# The folder of public label sets and corpora, which are not part of this checkout.
DATA = Path(os.environ.get("REHEARSAL_BENCH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
