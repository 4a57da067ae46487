"""Generated pairs with a known direction, to find out what moves a judge that should not, and the reverse."""

from simulator.models.families import same_family
from simulator.probes.making import probes
from simulator.probes.sources import bundled
from simulator.stats.bias import EXPECTED, KINDS, Probe

__all__ = ["EXPECTED", "KINDS", "Probe", "bundled", "probes", "same_family"]
