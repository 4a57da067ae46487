"""Starts the program: `python run.py --persona angry` runs customers, `--help` shows the rest."""

import gc
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
gc.disable()  # modules make many objects and no garbage

try:
    from simulator.cli.app import main
    from simulator.core.given_up import leave_behind
    from simulator.core.messages import call_program
except ModuleNotFoundError as missing:
    # In both languages: what knows the reader's may need the very package.
    sys.stderr.write(f"error: {missing}. Run `make install` once, then: .venv/bin/python run.py\n")
    sys.stderr.write(f"エラー：{missing}。一度 `make install` を実行してから：.venv/bin/python run.py\n")
    sys.exit(2)
except KeyboardInterrupt:
    sys.stderr.write("error: interrupted.\n")
    sys.exit(3)

if __name__ == "__main__":
    gc.freeze()  # nor are modules looked through for garbage later
    gc.enable()
    call_program(f"python {shlex.quote(Path(sys.argv[0]).as_posix())}")  # ../rehearsal/run.py, say
    code = main(sys.argv[1:])
    leave_behind(code)
    gc.freeze()  # the process ends: no last collection of cycles
    sys.exit(code)
