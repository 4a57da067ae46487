"""The room that sends results to other systems, and gradings to a provider's batch API."""

from simulator.lab.export import otlp, webhook
from simulator.lab.export.batch import Batches
from simulator.lab.export.later import runner
from simulator.lab.export.settings import ExportSettings
from simulator.plugins import Destination, Plugin

PLUGIN = Plugin(
    name="export",
    settings=ExportSettings,
    destinations={
        "otlp": Destination(otlp.send, otlp.check),
        **dict.fromkeys(("https", "http"), Destination(webhook.send, webhook.check)),
    },
    batching=Batches,
    runner=runner,
)
