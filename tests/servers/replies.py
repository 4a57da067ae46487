"""Replies of the fake model: plausible, and the same for the same request."""

import json
import re
from collections import ChainMap
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

ChatRequest = dict[str, Any]

_JAPANESE = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff\uff66-\uff9f]")
_DESK = {
    "ja": (
        "お問い合わせありがとうございます。返品は到着後30日以内に承っております。",
        "ご不便をおかけしております。設定画面の「アカウント」からお手続きいただけます。",
        "確認いたしました。担当の者より2営業日以内にご連絡いたします。",
        "恐れ入りますが、ご注文番号をお知らせいただけますでしょうか。",
    ),
    "en": (
        "Thank you for contacting us. Returns are accepted within 30 days of delivery.",
        "Sorry for the trouble. You can change this under Account in the settings.",
        "We have checked it, and a colleague will contact you within two business days.",
        "Could you tell us your order number, please?",
    ),
}
_CUSTOMER = {
    "ja": (
        "もう少し詳しく教えてください。",
        "手順がよくわかりません。",
        "先ほどの説明で合っていますか。",
        "急いでいます。",
        "それはいつまでですか。",
        "費用はかかりますか。",
    ),
    "en": (
        "Could you explain that in more detail?",
        "I do not understand the steps.",
        "Is what I read earlier still right?",
        "I am in a hurry.",
        "Until when is that possible?",
        "Does it cost anything?",
    ),
}
_ABOUT = {"ja": "注文番号は{}です。", "en": " My order number is {}."}
_COMMENT = {
    "ja": (
        "質問に沿って答えており、おおむね妥当です。",
        "要点は押さえていますが、手順の説明が少し足りません。",
        "資料の内容と一致しています。",
        "質問の一部に答えていません。",
    ),
    "en": (
        "The answer addresses the question and is mostly sound.",
        "The main point is there, but the steps are a little thin.",
        "It agrees with the passages.",
        "Part of the question is left unanswered.",
    ),
}
_DEEPEST = 12  # levels of a recursive schema before the shortest branch is taken


def play(request: ChatRequest) -> str:
    """The default answer, the same for the same request.

    With a JSON schema, from `response_format` or written out in a message, it is an object that fits it
    (`pattern` and `format` of strings aside). In JSON mode without one it is
    `{"message", "next": "stay", "reason"}`. Otherwise it is one sentence of a support desk.
    The language is that of the last user message.
    """
    messages = request["messages"]
    texts = [text_of(message) for message in messages]
    said = [text for text, message in zip(texts, messages, strict=True) if message.get("role") == "user"]
    language = "ja" if said and _JAPANESE.search(said[-1]) else "en"
    seed = blake2b("\x00".join(texts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    schema = _schema_asked(request, texts)
    if schema is None:
        return _DESK[language][draw(seed, "desk") % 4]
    return json.dumps(_Sampler(schema, seed, language).value(schema, ""), ensure_ascii=False)


def text_of(message: Mapping[str, Any]) -> str:
    """A message's text, whether it is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def draw(seed: str, path: str) -> int:
    """A number in 0..2**48 that depends on nothing but the two."""
    return int.from_bytes(blake2b(f"{seed}{path}".encode(), digest_size=6).digest())


_STAYS = {"next": "stay", "got": "partly"}
_JSON_MODE = {"properties": {name: {"type": "string"} for name in ("message", "next", "reason")}}


def _schema_asked(request: ChatRequest, texts: list[str]) -> dict[str, Any] | None:
    wanted = request.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        schema: dict[str, Any] = wanted["json_schema"]["schema"]
        return schema
    for text in texts:
        if '"properties"' in text and (found := _schema_within(text)):
            return found
    return _JSON_MODE if wanted.get("type") == "json_object" else None


def _schema_within(text: str) -> dict[str, Any] | None:
    for brace in re.finditer(r"\{", text):
        try:
            found, _ = json.JSONDecoder().raw_decode(text, brace.start())
        except ValueError:
            continue
        if "properties" in found:
            return dict(found)
    return None


class _Sampler:
    """Walks a JSON schema and picks one fitting value, by a hash of the conversation and of the place."""

    def __init__(self, root: dict[str, Any], seed: str, language: str) -> None:
        self.root, self.seed, self.language = root, seed, language

    def value(self, schema: dict[str, Any], path: str) -> Any:
        schema = self._resolved(schema, deep=path.count("/") > _DEEPEST)
        if "const" in schema:
            return schema["const"]
        if options := schema.get("enum"):
            stays = _STAYS.get(path.rpartition("/")[2])  # customers talk to the end
            return stays if stays in options else options[draw(self.seed, path) % len(options)]
        kind = schema.get("type") or ("object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), "null")
        pick: Any = getattr(self, f"_{kind}")
        return pick(schema, path)

    def _resolved(self, schema: dict[str, Any], deep: bool) -> dict[str, Any]:
        while True:
            if "$ref" in schema:
                node: Any = self.root
                for key in schema["$ref"].lstrip("#").split("/")[1:]:
                    node = node[key]
                schema = node
            elif options := schema.get("anyOf") or schema.get("oneOf"):
                # The null branch ends a recursive schema; elsewhere a value says more.
                nulls = [option for option in options if option.get("type") == "null"]
                others = [option for option in options if option.get("type") != "null"]
                schema = (nulls + others if deep else others + nulls)[0]
            elif "allOf" in schema:
                schema = dict(ChainMap(*(self._resolved(part, deep) for part in schema["allOf"])))
            else:
                return schema

    def _object(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        properties = schema.get("properties", {})
        return {name: self.value(part, f"{path}/{name}") for name, part in properties.items()}

    def _array(self, schema: dict[str, Any], path: str) -> list[Any]:
        if path.endswith("/conflicts"):  # references and passages seldom contradict each other
            return []
        fixed: list[dict[str, Any]] = schema.get("prefixItems", [])
        least = 0 if path.count("/") > _DEEPEST or fixed else 1
        more = min(schema.get("minItems", least), schema.get("maxItems", 10**6)) - len(fixed)
        parts = fixed + [schema.get("items", {"type": "string"})] * max(0, more)
        return [self.value(part, f"{path}/{index}") for index, part in enumerate(parts)]

    def _string(self, schema: dict[str, Any], path: str) -> str:
        if path.endswith("/next"):
            return "stay"
        drawn, choices = draw(self.seed, path), _COMMENT[self.language]
        text = choices[drawn % len(choices)]
        if path.endswith("/message"):
            # The number keeps a customer from repeating itself within a conversation.
            customer = _CUSTOMER[self.language]
            text = customer[drawn % len(customer)] + _ABOUT[self.language].format(1000 + drawn // 8 % 9000)
        return text.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]

    def _integer(self, schema: dict[str, Any], path: str) -> int:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 5) - 1)
        return int(high) - draw(self.seed, path) % max(1, int(high) - int(low) + 1)

    def _number(self, schema: dict[str, Any], path: str) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 1))
        return float(low + (high - low) * (draw(self.seed, path) % 99 + 1) / 100)

    def _boolean(self, _schema: dict[str, Any], path: str) -> bool:
        return draw(self.seed, path) % 2 == 0

    def _null(self, _schema: dict[str, Any], _path: str) -> None:
        return None
