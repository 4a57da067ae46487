"""Templates and paths of the JSON adapters."""

import json
from typing import Any

import pytest
from simulator.shelves.rag_adapters._json import AnswerCondition, JsonPath, filled, parsed, variables_in

from simulator import BotFailure, InputError

QUESTION = 'He said "no", \\ $session }'
REPLY = {
    "data": {"reply": "はい", "sources": [{"text": "a"}, {"text": "b"}, {"image": "c"}]},
    "choices": [{"message": {"content": "yes"}}],
    "0": "zero",
    "size": 3,
    "none": None,
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("data.reply", "はい"),
        ("$.data.reply", "はい"),
        ("choices.0.message.content", "yes"),
        ("choices[0].message.content", "yes"),
        ("data.sources[*].text", ["a", "b"]),
        ("choices[*].message.content", ["yes"]),
        ("0", "zero"),
        ("data.sources[-2].text", "b"),
        ("choices.-1.message.content", "yes"),
        ("$", REPLY),
    ],
)
def test_a_path_leads_to_its_value(path: str, expected: Any) -> None:
    """Dots, brackets, numbers and stars; entries that lack the rest of the path are left out."""
    assert JsonPath("answer", path).of(REPLY) == expected


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("reply", "no 'reply' in the reply, which has the keys data, choices, 0, size, none"),
        ("data.answer", "no 'answer' in data, which has the keys reply, sources"),
        ("choices.1", "no '1' in choices, which is a list of 1"),
        ("choices[-2]", "no '-2' in choices, which is a list of 1"),
        ("data.reply.text", "no 'text' in data.reply, which is a text"),
        ("size.unit", "no 'unit' in size, which is a number or a truth value"),
        ("none.text", "no 'text' in none, which is null"),
        ("data[*]", r"no list in data, which has the keys reply, sources"),
        ("data.sources[*].title", r"no 'title' in data.sources.\*, which has the keys text"),
    ],
)
def test_a_path_that_leads_nowhere_says_what_is_there(path: str, said: str) -> None:
    """The message names the place and lists its keys, so that the path can be mended without a debugger."""
    with pytest.raises(BotFailure, match=said) as caught:
        JsonPath("answer", path).of(REPLY)

    assert caught.value.failure.kind == "malformed"


@pytest.mark.parametrize("path", ["", "data[", "data[x]", "data..reply", "data.[0"])
def test_what_is_no_path_is_refused(path: str) -> None:
    """A path with a slip is found before anything is sent."""
    with pytest.raises(InputError, match="answer="):
        JsonPath("answer", path)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        # Quotation marks, backslashes and dollars of a question stay inside its text.
        ({"a": {"m": "$question"}, "n": 1, "d": "$$5"}, {"a": {"m": QUESTION}, "n": 1, "d": "$5"}),
        # Alone a list is itself, within a list it is its entries, within a longer text it is its JSON.
        ({"history": "$history"}, {"history": [{"role": "user"}]}),
        (["$history", "$question"], [{"role": "user"}, QUESTION]),
        ({"text": "so far: $history"}, {"text": 'so far: [{"role": "user"}]'}),
        # What nothing fills is left out where a field is nothing but that; within a text it is empty.
        ({"id": "$conversation", "a": [{"id": "${conversation}"}]}, {"a": [{}]}),
        ({"text": "<$conversation>"}, {"text": "<>"}),
    ],
)
def test_a_template_is_filled_after_parsing(template: Any, expected: Any) -> None:
    """So that no value can break the request."""
    texts = {"question": QUESTION, "history": '[{"role": "user"}]', "conversation": ""}
    parsed_again = parsed("request", json.dumps(template))

    assert filled(parsed_again, texts, {"history": [{"role": "user"}]}, ["conversation"]) == expected


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("data.reply=はい", True),
        ("data.reply = no | はい", True),
        ("data.reply=no", False),
        ("data.nothing=", False),
        ("size=3", True),
        ("done=true", True),
        ("open=true", False),
        ("done", True),
        ("open", False),
        ("size", True),
        ("none", False),
        ("nothing", False),
        ("data", True),
    ],
)
def test_a_condition_holds_or_not(condition: str, holds: bool) -> None:
    """A path has one of the values; without values, it has any but null, false and nothing."""
    assert AnswerCondition("until", condition).holds({**REPLY, "done": True, "open": False}) is holds


def test_a_lone_dollar_is_refused() -> None:
    """The message says how to write a plain one."""
    with pytest.raises(InputError, match=r"lone dollar; write \$\$"):
        variables_in("request", {"a": "5 $ each"})
