"""The door: `python run.py --persona angry` rehearses; `python run.py --help` shows the rest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from simulator.commands.app import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
