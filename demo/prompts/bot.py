"""A stand-in for a model, so that these prompts run without a key: it looks for words, and no more."""

import json
import re

# The first of these that stands in the enquiry decides.
MATTERS = {
    "billing": r"料金|請求|金額|bill|charge|fee|pay",
    "cancel": r"解約|やめ|cancel|leave",
    "network": r"つながら|遅い|切れ|connect|slow|drop",
}
URGENT = r"急|今すぐ|仕事|now|urgent|work"


def answer(question: str, system: str) -> str:
    """What a small model would say to the prompts of this folder."""
    if "JSON" in system:
        matter = next((name for name, words in MATTERS.items() if re.search(words, question)), "network")
        return json.dumps({"category": matter, "urgent": "yes" if re.search(URGENT, question) else "no"})
    matter = re.search(r"(?:用件：|Matter: )(\w+)", question)
    steps = dict(re.findall(r"^(\w+)(?:：|: )(.+)$", system, re.MULTILINE))
    return steps[matter[1]] if matter and matter[1] in steps else "?"
