"""The room that sends results to other systems: traces to tools that take OpenTelemetry."""

from simulator.lab.export import otlp
from simulator.plugins import Destination, Plugin

PLUGIN = Plugin(name="export", destinations={"otlp": Destination(otlp.send, otlp.check)})
