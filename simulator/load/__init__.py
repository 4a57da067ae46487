"""Many customers at once: when they come, how long they think, and how long they wait."""
