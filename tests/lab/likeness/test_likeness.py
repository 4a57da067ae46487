"""How closely customers resemble real ones, between nothing and what people reach among themselves."""

import json
from pathlib import Path

import numpy as np
import pytest

from simulator.core.types import Language
from simulator.lab.likeness.figures import (
    SEED,
    Reference,
    ceilings,
    drawn,
    like,
    likeness,
    reference_of,
    shipped_reference,
)
from simulator.results.lines import FEATURES, People, line_features, people_of
from simulator.storage.run_file import run_ids
from tests.commands import Command

LANGUAGES: tuple[Language, ...] = ("ja", "en")
TEMPLATE = {
    "ja": "料金の件ですが、詳しく教えていただけますか？",
    "en": "Could you tell me more about the fee?",
}


def half(people: People, at: int) -> People:
    """Every other conversation of a set."""
    chosen = people.talks % 2 == at
    return people._replace(rows=people.rows[chosen], talks=people.talks[chosen])


@pytest.mark.parametrize("language", LANGUAGES)
def test_people_are_like_people_and_one_template_is_not(language: Language) -> None:
    """Half of a set beside its other half is near 100, customers who all say one thing are near 0."""
    shipped = shipped_reference(language)
    own = reference_of("own", [half(shipped.sets[0], 0)])
    assert max(own.ceilings) >= 100
    found = likeness(half(shipped.sets[0], 1), own, language)
    assert (found.composite or 0) > 85
    alike = people_of([[TEMPLATE[language], *[TEMPLATE[language]] * 3]] * 100, language)
    found = likeness(alike, shipped, language)
    assert (found.n, found.lines) == (250, 300)
    assert found.composite is not None
    assert found.interval is not None
    assert found.interval[0] <= found.composite <= min(10, found.interval[1])
    assert found == likeness(alike, shipped, language)


def test_both_sides_count_the_same() -> None:
    """Nothing changes when the sets are swapped; as many lines of each are compared."""
    one, other = (drawn(each, 150, np.random.default_rng(SEED)) for each in shipped_reference("en").sets)
    assert len(one.rows) == len(other.rows) == 150
    assert like(one, other) == pytest.approx(like(other, one), abs=1e-6)
    assert like(one, one) > 85
    sizes = np.unique(one.talks, return_counts=True)[1]
    every = dict(zip(*np.unique(shipped_reference("en").sets[0].talks, return_counts=True), strict=True))
    cut = [t for t, n in zip(np.unique(one.talks), sizes, strict=True) if n != every[t]]
    assert len(cut) <= 1


def test_few_lines_have_shares_but_no_figure() -> None:
    """Under 60 lines after the first there is only the table; without any line there is not even that."""
    few = people_of([["a", "b"]] * 59, "en")
    found = likeness(few, shipped_reference("en"), "en")
    assert (found.composite, found.interval, found.n, found.lines) == (None, None, 0, 59)
    assert found.shares["short"] == (1.0, shipped_reference("en").figures["short"])
    assert likeness(people_of([["a", "b"]] * 60, "en"), shipped_reference("en"), "en").n == 60
    none = likeness(people_of([], "en"), Reference("r", (), {}, {}), "en")
    assert (none.shares, none.largest) == ({}, ())


@pytest.mark.parametrize(
    ("lines", "language", "expected"),
    [
        (["How much is it?", "ok thanks!"], "en", {"short", "thanks", "reacts", "agrees", "exclaims"}),
        (["How much is it?", "how much is it"], "en", {"asks", "refers", "own_words", "repeats"}),
        (["Hi", "I'm upset, maybe 2"], "en", {"upset", "hesitates", "self", "softens", "digits", "commas"}),
        (["料金は？", "はい、ありがとう。"], "ja", {"thanks", "reacts", "agrees", "commas"}),
        (["料金は？", "それは困る…"], "ja", {"short", "reacts", "upset", "hesitates", "refers"}),
        (["料金は？", "ok"], "ja", {"short", "agrees"}),
        (["料金は？", "なに" * 20], "ja", {"long"}),
        (["x y", "what " * 20], "en", {"long", "asks"}),
    ],
)  # fmt: skip
def test_features_of_a_line(lines: list[str], language: Language, expected: set[str]) -> None:
    """What a line has besides length and sentences, by name; overlaps are with lines before it alone."""
    found = dict(zip(FEATURES, line_features(lines, 1, language), strict=True))
    assert {name for name, value in found.items() if value} - {"length", "sentences"} == expected


def test_the_table_is_of_conversations_and_lines() -> None:
    """Shares are of later lines, openings and leavings of conversations; empty lines are none."""
    talks = [["Hello", "ok", "", "thanks"], ["How much is it?", "how much is it?"], ["", " "]]
    figures = people_of(talks, "en").figures
    assert figures["turns"] == 2.5
    assert figures["opens_greeting"] == figures["leaves_thanking"] == 0.5
    assert figures["quotes_itself"] == figures["repeats_itself"] == figures["thanks"] == pytest.approx(1 / 3)
    assert figures["length"] == 1
    compared = likeness(people_of(talks, "en"), Reference("r", (), {}, {"asks": 1.0, "short": 0.6}), "en")
    assert compared.largest == ("asks", "short")
    told = compared.model_copy(update={"composite": 85.54, "interval": (81.24, 88.86)}).as_json()
    assert told["shares"]["asks"] == {"ours": 0.3333, "reference": 1.0}
    assert (told["composite"], told["interval"]) == (85.5, [81.2, 88.9])


def test_a_run_is_held_against_people_and_against_logs(command: Command) -> None:
    """The page has the table and JSON the figures, beside the desk's own customers where logs are named."""
    few = command("--offline", "--language", "en", "--limit", "2", "--persona", "calm", "--json")
    assert few.json["simulator"]["likeness"] is None
    assert "Likeness to real customers" not in Path("runs", few.json["run"], "report.html").read_text()
    asked = ("How much", "And when", "Is it", "Why")
    roles = ("user", "assistant")
    rows = [
        {"turns": [{"role": role, "content": f"{text} {n}?"} for text in asked for role in roles]}
        for n in range(50)
    ]
    Path("logs.jsonl").write_text("".join(map("{}\n".format, map(json.dumps, rows))))
    ran = ("--offline", "--language", "en", "--persona", "regular", "--turns", "5", "--json")
    done = command(*ran)
    found = done.json["simulator"]["likeness"]
    assert (found["language"], found["reference"], found["n"]) == ("en", "STAR, MultiDoGO", 150)
    assert found["interval"][0] <= found["composite"] <= found["interval"][1]
    assert found["shares"]["asks"]["reference"] == pytest.approx(0.12, abs=0.02)
    ended = sum(each["ours"] for name, each in found["shares"].items() if name.startswith("ended_"))
    assert ended == pytest.approx(1)
    page = Path("runs", done.json["run"], "report.html").read_text()
    told = ("Likeness to real customers", "Largest differences from people: ", "%, people ")
    for text in (*told, "(c) 2020 Rasa Technologies GmbH", "Lines until leaving (median)"):
        assert text in page
    logged = command("report", "latest", "--likeness", "logs.jsonl", "--json").json["simulator"]["likeness"]
    assert (logged["reference"], logged["n"]) == ("logs.jsonl", 60)
    assert logged["shares"]["asks"]["reference"] == 1


@pytest.mark.parametrize(
    "target", ["likeness >= 85", "likeness>=.9", "score >= 80 and likeness > 50", "likeness == 1"]
)
@pytest.mark.parametrize("words", [("--offline", "--limit", "1"), ("report", "latest")])
def test_likeness_is_no_target(target: str, words: tuple[str, ...], command: Command) -> None:
    """It is no figure that a target can name, of a run or of an earlier one; in a run's settings, too."""
    if "report" in words:
        command("--offline", "--limit", "1")
    runs = len(run_ids(Path("runs")))
    done = command(*words, "--target", target)
    Path("rehearsal.toml").write_text(f"target = '{target}'\n", encoding="utf-8")

    for refused in (done, *([] if "report" in words else [command(*words)])):
        assert refused.code == 2
        assert "figure in --target" in refused.error
        assert "likeness" in refused.error
    assert len(run_ids(Path("runs"))) == runs


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the file is empty"),
        ('{"a": 1}', "no question column"),
        ('{"question": "one line?", "answer": "yes"}', "no customer says more than one line"),
    ],
)
def test_logs_without_customers_are_refused(command: Command, text: str, reason: str) -> None:
    """One line and exit code 2, before anything is run."""
    Path("logs.jsonl").write_text(text)
    done = command("--offline", "--limit", "1", "--likeness", "logs.jsonl")
    assert done.code == 2
    assert reason in done.error
    assert not list(Path().rglob("run.sqlite"))


def test_the_ceiling_is_what_people_reach_beside_other_people() -> None:
    """Not beside themselves: two desks differ, the halves of one hardly do."""
    sets = shipped_reference("en").sets

    assert max(ceilings(sets).values()) < 60 < min(ceilings(sets[:1]).values())
