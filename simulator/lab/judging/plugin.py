"""The room about judges: what sways them, and whether they still grade as when they were calibrated."""

from simulator.lab.judging.command import probe
from simulator.lab.judging.drift import checking
from simulator.plugins import Plugin

PLUGIN = Plugin(name="judging", preparation=checking, probing=probe)
