"""Which models are of one family; a model grades texts of its own family too kindly."""

import re

_STARTS = r"(?<![a-z])"
# The makers of models and the names they go by; a name may belong to two (a distilled model).
FAMILIES: dict[str, re.Pattern[str]] = {
    family: re.compile(_STARTS + f"(?:{names})")
    for family, names in {
        "gpt": r"(?:chat)?gpt|o[1-9](?![a-z0-9])|davinci|openai(?=[:/])",
        "claude": r"claude|anthropic(?=[:/])",
        "gemini": r"gemini|gemma|palm-?2|google(?:_genai|_vertexai)?(?=[:/])",
        "llama": r"(?:code)?llama|vicuna|elyza|swallow",
        "qwen": r"qwen|qwq",
        "mistral": r"mistral|mixtral|ministral|magistral|codestral|devstral",
        "deepseek": r"deepseek",
        "phi": r"phi-?\d",
        "command": r"command-|c4ai-|cohere(?=[:/])",
        "grok": r"grok|xai(?=[:/])",
        "nova": r"nova-(?:micro|lite|pro|premier)",
        "plamo": r"plamo",
        "sarashina": r"sarashina",
        "llm-jp": r"llm-?jp",
        "calm": r"(?:open-)?calm\d?(?![a-z])",
        "glm": r"(?:chat)?glm",
        "kimi": r"kimi|moonshot",
        "granite": r"granite",
    }.items()
}
# Names of stand-ins, which belong to no family.
_NO_MODEL = frozenset(("", "lexical", "none"))


def families(model: str) -> frozenset[str]:
    """The families of a model by its name; an unknown model is a family of its own."""
    name = model.strip().lower()
    if name in _NO_MODEL:
        return frozenset()
    known = frozenset(family for family, names in FAMILIES.items() if names.search(name))
    return known or frozenset((re.split(r"[:/]", name)[-1],))


def same_family(judge_model: str, bot_model: str) -> bool:
    """Whether the judge may favour the bot because both are of one family (gpt-4.1 and gpt-4o-mini).

    Self-preference: Panickssery et al., 2024. Worth a warning, not an error. False for stand-ins.
    """
    return bool(families(judge_model) & families(bot_model))
