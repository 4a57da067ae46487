"""A model that writes and checks test questions, for tests: plausible, and wrong where a test wants it."""

import json
import re
from typing import Any

from tests.servers.faults import Reply
from tests.servers.replies import ChatRequest, text_of

_SENTENCE = {"ja": re.compile(r"[^。\n#>\]]{8,}。"), "en": re.compile(r"[A-Z][^.\n#>\]]{20,}\.(?=\s)")}
_DOCUMENT = re.compile(r"<document (\w+)>\n(.*?)\n</document \1>", re.DOTALL)
_QUESTION = re.compile(r"<question (\w+)>\n(.*?)\n</question \1>", re.DOTALL)
ASKED = {
    "ja": "{n}番の件で困っています。{word}のことを分かるように教えてもらえますか",
    "en": "I am stuck with matter {n}. Could you tell me how it is with {word}?",
}


class Author:
    """Answers requests to write, to check, and to distil; `wrong` maps a word in the prompt to a reply."""

    def __init__(self) -> None:
        self.wrong: dict[str, str | Reply | dict[str, Any]] = {}
        self.written: dict[str, str] = {}
        self.asked: list[str] = []

    def __call__(self, request: ChatRequest) -> str | Reply:
        """One reply."""
        texts = [text_of(message) for message in request["messages"]]
        prompt = texts[1]
        self.asked.append(prompt)
        keys = set(request["response_format"]["json_schema"]["schema"]["properties"])
        usual = self._reply(prompt, keys)
        for word, instead in self.wrong.items():
            if word in prompt:
                if isinstance(instead, dict):
                    usual |= {key: value for key, value in instead.items() if key in keys}
                else:
                    return instead
        return json.dumps(usual, ensure_ascii=False)

    def _reply(self, prompt: str, keys: set[str]) -> dict[str, Any]:
        language = "ja" if "# 文書" in prompt or "# 会話" in prompt or "話し方" in prompt else "en"
        if "personas" in keys:
            return {"personas": [_speaker()]}
        if "manner" in keys:
            return {
                "goal": "送料を知りたい。", "knows": ["会員です"], "unknown": [], "wording": "casual",
                "manner": "短く急いで話す。", "told": "at_once", "useless": "2", "left": "gave_up",
            }  # fmt: skip
        if "fact" in keys:
            return self._draft(prompt, language)
        return self._check(prompt, keys)

    def _draft(self, prompt: str, language: str) -> dict[str, Any]:
        documents = [text for _, text in _DOCUMENT.findall(prompt)]
        sentences = [each for text in documents for each in _SENTENCE[language].findall(text + " ")]
        number = len(self.written) + 1
        with_figure = [each for each in sentences if re.search(r"\d", each)] or sentences
        reference = with_figure[number % len(with_figure)].strip()
        word = re.sub(r"\W", "", reference)[:4] if language == "ja" else reference.split()[1]
        name = re.search(r"「([^」]+)」（架空|another company, \"([^\"]+)\"", prompt)
        question = ASKED[language].format(n=number * 37, word=(name[1] or name[2]) if name else word)
        self.written[question] = reference
        return {
            "fact": "f", "question": question, "reference": reference, "goal": question, "knows": [],
            "earlier_question": ASKED[language].format(n=number * 37 + 1, word=word),
            "earlier_answer": reference,
        }  # fmt: skip

    def _check(self, prompt: str, keys: set[str]) -> dict[str, Any]:
        asked = _QUESTION.search(prompt)
        question = asked[2] if asked else ""
        told = {
            "reason": "r", "differs": "d", "answer": self.written.get(question, ""),
            "answerable": "yes", "needed": 2,
            "clear_alone": False, "same": False, "names_document": False, "settled": "no",
        }  # fmt: skip
        return {key: value for key, value in told.items() if key in keys}


def _speaker() -> dict[str, Any]:
    return {
        "id": "In a Hurry", "members": ["1", 9, "x"], "like": "angry", "patience": "2", "name_ja": "急ぐ人",
        "voice_ja": "短く\n\"早く\"話す", "name_en": "In a hurry", "voice_en": "short",
    }  # fmt: skip
