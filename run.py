"""Starts the program: `python run.py --persona angry` runs customers, `--help` shows the rest."""

import gc
import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
gc.disable()  # modules make many objects and no garbage

try:
    for package in ("aiohttp", "rich"):  # what a run imports later, and another Python may not have
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named '{package}'")
    from simulator.cli.app import main
    from simulator.core.given_up import leave_behind
    from simulator.core.messages import call_program
except ModuleNotFoundError as missing:
    folder = Path(os.path.relpath(Path(__file__).resolve().parent))  # as it is called from here
    environment = folder / ".venv"
    command = f"{environment}/bin/python {folder / 'run.py'}"
    once = "make install" if folder == Path() else f"make -C {folder} install"
    # In both languages: what knows the reader's may need the very package.
    if environment.exists() and environment.resolve() != Path(sys.executable).parents[1].resolve():
        sys.stderr.write(f"error: {missing}. The program has its own environment; type: {command}\n")
        sys.stderr.write(
            f"エラー：{missing}。このプログラムには専用の環境があります。次を入力してください：{command}\n"
        )
    else:
        sys.stderr.write(f"error: {missing}. Run `{once}` once, then: {command}\n")
        sys.stderr.write(f"エラー：{missing}。一度 `{once}` を実行してから：{command}\n")
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
