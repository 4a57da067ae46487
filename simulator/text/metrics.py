"""Text metrics, right in Japanese and in English: pure functions, each naming what it was computed with.

`rouge_l("富士山です", ["富士山です。"]).value` is 1.0. What they are built of stands in the modules beside.
"""

from simulator.text.normalise import Tokenizer, folded, plain_form, tokenizer
from simulator.text.overlap import Measured, Overlap, chrf, contains, exact_match, rouge_l, token_f1

__all__ = [
    "Measured",
    "Overlap",
    "Tokenizer",
    "chrf",
    "contains",
    "exact_match",
    "folded",
    "plain_form",
    "rouge_l",
    "token_f1",
    "tokenizer",
]
