"""Script-aware text measures without a dictionary, for Japanese and English alike.

The front door of simulator/counting: pure functions that judges and analyses may use too.
"""

from simulator.counting.dialogue_acts import claims, is_handover, is_refusal
from simulator.counting.evidence import agreement, best_agreement, coverage, support
from simulator.counting.quantities import quantities, unmatched
from simulator.counting.segments import clauses, normalise, sentences, tokens
from simulator.counting.units import content_units, mass, share, stem, topic_units, unit_weight

__all__ = [
    "agreement",
    "best_agreement",
    "claims",
    "clauses",
    "content_units",
    "coverage",
    "is_handover",
    "is_refusal",
    "mass",
    "normalise",
    "quantities",
    "sentences",
    "share",
    "stem",
    "support",
    "tokens",
    "topic_units",
    "unit_weight",
    "unmatched",
]
