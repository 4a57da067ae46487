"""`python -m simulator`: the same program as the command `rehearsal`."""

import sys

from simulator.cli.app import main

sys.exit(main())
