"""What the names say: which judges only count, and whether judge and bot are models of one family."""

import re
from collections.abc import Mapping
from typing import Any

from simulator.core.document import Line
from simulator.core.messages import _
from simulator.core.shelves import canonical_judge
from simulator.core.types import PASSED

# These compare with the row by rule, and claim no more.
BY_RULE = frozenset((
    "exact_match", "contains", "token_f1", "rouge_l", "meteor", "chrf", "label", "choice", PASSED,
))  # fmt: skip

# The names that makers give their models; a name may have two (a distilled model).
_FAMILIES = re.compile(r"gpt|claude|gem(?=ini|ma)|(?<!o)llama|qwen|mi[sx]tral|deepseek|grok|command|plamo")
# Names of stand-ins, which belong to no family.
_NO_MODEL = frozenset(("", "lexical", "none"))


def by_rule(name: str) -> bool:
    """Whether a judge compares by rule and needs no calibration; `path.em` is such a judge of one output."""
    judge = name.partition("@")[0]
    return canonical_judge(judge) in BY_RULE or canonical_judge(judge.rpartition(".")[2]) in BY_RULE


def families(model: str) -> frozenset[str]:
    """The families of a model by its name; an unknown one is a family of its own, without its provider.

        azure/gpt-4o -> gpt    deepseek-r1-distill-qwen-32b -> deepseek, qwen    my/own-model -> own-model

    Empty for stand-ins, which are of no family, not even of each other's.
    """
    name = model.strip().lower()
    if name in _NO_MODEL:
        return frozenset()
    return frozenset(_FAMILIES.findall(name)) or frozenset((re.split(r"[:/]", name)[-1],))


def same_family(judge_model: str, bot_model: str) -> bool:
    """Whether the judge may favour the bot because both are of one family (gpt-4.1 and gpt-4o-mini).

    Self-preference: Panickssery et al., 2024. Worth a warning, not an error. False for stand-ins.
    """
    return bool(families(judge_model) & families(bot_model))


def family_notes(settings: Mapping[str, Any], models: Mapping[str, str]) -> list[Line]:
    """A warning where the judge grades a bot of its own family."""
    judge = models.get("judge", "")
    # The bundled bot's model, or the one that `--set model` names for an adapter.
    adapter_settings = settings.get("set")
    bot = str(adapter_settings.get("model", "")) if isinstance(adapter_settings, Mapping) else ""
    if settings.get("adapter", "demo") == "demo":
        bot = models.get("demo", "")
    if same_family(judge, bot):
        text = _(
            "The judge rates its own family (judge {judge}, bot {other}). Models tend to grade their own kind"
            " more kindly."
        )
        return [Line(text.format(judge=judge, other=bot), "alarm")]
    return []
