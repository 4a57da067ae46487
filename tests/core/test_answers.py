"""What bots return is read as an answer, in every shape that says for certain what was said."""

from types import SimpleNamespace
from typing import Any

import pytest

from simulator.core.answers import answer_of
from simulator.core.errors import BotFailure
from simulator.core.types import Answer, Passage, ToolCall

ONE = (Passage(id="1", text="全国一律550円"),)
PARTS = [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "550円"}]
CALL = {"name": "refund", "arguments": {"order": "A-1"}, "result": "ok"}
REFUND = ToolCall(name="refund", arguments='{"order": "A-1"}', result="ok")


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ("550円", Answer(text="550円", shows_passages=False)),
        (("550円", ["全国一律550円"]), Answer(text="550円", passages=ONE)),
        (("550円", []), Answer(text="550円")),
        ({"result": "550円", "source_documents": ["全国一律550円"]}, Answer(text="550円", passages=ONE)),
        ({"result": "x", "answer": "550円", "contexts": [], "documents": ["y"]}, Answer(text="550円")),
        ({"output": "550円"}, Answer(text="550円", shows_passages=False)),
        ({"answer": PARTS}, Answer(text="550円", shows_passages=False)),
        (PARTS, Answer(text="550円", shows_passages=False)),
        (SimpleNamespace(content=["55", {"text": "0円"}, 5]), Answer(text="550円", shows_passages=False)),
        (({}, [{"role": "user", "content": "?"}, {"role": "ai", "content": "550円"}], ONE),
         Answer(text="550円", passages=ONE)),
        ((0, [("?", "500円"), ("送料は", "550円")], None), Answer(text="550円")),
        ((0, [("assistant", "550円"), ("user", "?")], None), Answer(text="550円")),
        ((0, [SimpleNamespace(type="ai", content=None), SimpleNamespace(role="human", content="?")], None),
         Answer(text="")),
        ({"answer": "はい", "tools": [CALL]}, Answer(text="はい", shows_passages=False, tools=(REFUND,))),
        ({"answer": None, "tools": [CALL]}, Answer(text="", shows_passages=False, tools=(REFUND,))),
        ({"tool_calls": [CALL]}, Answer(text="", shows_passages=False, tools=(REFUND,))),
        ({"answer": "はい", "tools": []}, Answer(text="はい", shows_passages=False, tools=())),
        ({"answer": "はい", "tools": "hammer ", "tool_calls": 5},
         Answer(text="はい", shows_passages=False, tools=(ToolCall(name="hammer"),))),
        ({"answer": "はい", "tools": {"a": 1}}, Answer(text="はい", shows_passages=False)),
        (SimpleNamespace(content=None, role="assistant", tool_calls=[CALL]),
         Answer(text="", shows_passages=False, tools=(REFUND,))),
        (Answer(text="as it is"), Answer(text="as it is")),
    ],
)  # fmt: skip
def test_an_answer_is_read(result: Any, answer: Answer) -> None:
    """Texts, pairs, mappings, histories and messages, with the calls of tools that they show."""
    assert answer_of(result) == answer


KEYS = {f"{n:02}{'x' * 39}": n for n in range(21)}


@pytest.mark.parametrize(
    ("result", "kind", "told"),
    [
        (None, "empty", "the bot returned None in place of an answer"),
        (5, "malformed", "the bot answered with int; return a text, (text, passages) or {'answer': ...,"),
        ({}, "malformed", "the bot's mapping needs the key 'answer', but it is empty"),
        ({"x": 1, "tools": []},
        "malformed", "the bot's mapping needs the key 'answer', but it has the keys x, tools"),
        (KEYS, "malformed", "has the keys " + ", ".join(key[:40] for key in list(KEYS)[:20])),
        ((0, "text", None), "empty", "the returned history has no entry of the assistant"),
        ((0, [{"role": "user", "content": "?"}, ("user", "?"), 5], None),
        "empty", "has no entry of the assistant"),
        (("x", [KEYS]), "malformed", "there is " + ", ".join(key[:40] for key in list(KEYS)[:20])),
        (("x", [{"text": None}]), "malformed", "there is nothing"),
        (("x", 5), "malformed", "passages must be texts, mappings or documents, not int"),
    ],
)  # fmt: skip
def test_what_nobody_can_have_meant_is_told(result: Any, kind: str, told: str) -> None:
    """With what was expected, and what there is, within limits."""
    with pytest.raises(BotFailure) as met:
        answer_of(result)

    assert met.value.failure.kind == kind
    assert told in str(met.value)
