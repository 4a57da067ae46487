from pathlib import Path

# The program's own folder, on whichever machine this is.
ROOT = Path(__file__).resolve().parent.parent.parent
