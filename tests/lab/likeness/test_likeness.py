"""How closely customers resemble real ones: what people reach, and what gives customers away."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from simulator.core.types import Language
from simulator.lab.likeness.figures import SEED, Likeness, Reference, likeness, shipped_reference
from simulator.lab.likeness.lines import FEATURES, People, line_features, people_of
from tests.commands import Command, held_once

LANGUAGES: tuple[Language, ...] = ("ja", "en")
PROSE = {
    "ja": "ご案内ありがとうございます。必要な書類について、もう少し詳しくご説明いただけますでしょうか。",
    "en": "Thank you for the information. Could you please clarify which documents are required to proceed?",
}


def drawn(language: Language, conversations: int = 50) -> People:
    """Customers who differ from those of the shipped desks by chance alone, eight lines each."""
    reference, random = shipped_reference(language), np.random.default_rng(SEED)
    centre = np.average(reference.means, axis=0, weights=reference.weights)
    rows = random.multivariate_normal(centre, reference.within, size=8 * conversations)
    return People(rows, np.repeat(np.arange(conversations), 8), {})


def points(people: People, language: Language, reference: Reference | None = None) -> float:
    """The figure, which there has to be."""
    figure = likeness(people, reference or shipped_reference(language), language).composite
    assert figure is not None
    return figure


@pytest.mark.parametrize("language", LANGUAGES)
def test_prose_costs_what_it_is_of_the_lines(language: Language) -> None:
    """People are near 98; half of the lines in assistant prose cost half of that, all of them all."""
    people = drawn(language)
    prose = people_of([["?", *[PROSE[language]] * 8]] * 50, language)
    half = people._replace(rows=np.where(np.arange(400)[:, None] % 2, people.rows, prose.rows))

    assert points(people, language) > 93
    assert 40 < points(half, language) < 60
    assert points(prose, language) < 5


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_line_is_good_enough_to_be_everybody_s(language: Language) -> None:
    """Whatever all customers say alike gives them away, even "yes" and "thanks", which people do say."""
    for line in {
        "ja": ("はい", "ありがとうございます", "いくらですか？"),
        "en": ("yes", "thanks!", "How much is it?"),
    }[language]:
        assert points(people_of([["?", *[line] * 5]] * 40, language), language) < 25


def test_what_desks_differ_in_costs_less() -> None:
    """The same trait costs most where no desk has it, and the interval is wider where desks differ."""
    people, one = drawn("en"), shipped_reference("en")
    at = FEATURES.index("asks")
    moved = people._replace(
        rows=people.rows + 2 * np.sqrt(one.within[at, at]) * (np.arange(len(FEATURES)) == at)
    )
    apart = one.between.copy()
    apart[at, at] += 4 * one.within[at, at]
    assert points(moved, "en") < 75
    assert points(moved, "en", one._replace(between=apart)) > 90

    alike = one._replace(means=np.repeat(one.means[:1], 5, axis=0), weights=np.ones(5))
    widths = [ends[1] - ends[0] for each in (alike, one) if (ends := likeness(moved, each, "en").interval)]
    assert widths[0] < widths[1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_interval_reaches_as_far_as_desks_differ(language: Language) -> None:
    """Of people of each desk it holds what people reach."""
    people, reference = drawn(language), shipped_reference(language)
    centre = np.average(reference.means, axis=0, weights=reference.weights)
    for desk in reference.means:
        ends = likeness(people._replace(rows=people.rows + desk - centre), reference, language).interval
        assert ends is not None
        assert ends[1] > 90


def test_few_lines_or_conversations_are_undecided() -> None:
    """It takes sixty lines after the first from twenty conversations; below that there is only the table."""
    for talks, lines in ((59, 1), (19, 10), (0, 0)):
        figure = likeness(people_of([["a", *["b"] * lines]] * talks, "en"), shipped_reference("en"), "en")
        assert (figure.composite, figure.interval, figure.lines) == (None, None, talks * lines)
    assert points(people_of([["a", "b"]] * 60, "en"), "en") < 25


@pytest.mark.parametrize(
    ("lines", "language", "expected"),
    [
        (["How much is it?", "ok thanks!"], "en", {"short", "thanks", "reacts", "agrees", "exclaims"}),
        (["x y", "Could you clarify that?"], "en", {"asks", "polite", "refers", "formal", "question_mark"}),
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
    assert {name for name, value in found.items() if value} - {"length", "sentences", "turns"} == expected


def test_the_table_is_of_conversations_and_lines() -> None:
    """Shares are of later lines, openings and leavings of conversations; empty lines are none."""
    talks = [["Hello", "ok", "", "thanks"], ["How much is it?", "how much is it?"], ["", " "]]
    figures = people_of(talks, "en").figures
    assert figures["turns"] == 2.5
    assert figures["opens_greeting"] == figures["leaves_thanking"] == 0.5
    assert figures["quotes_itself"] == figures["repeats_itself"] == figures["thanks"] == pytest.approx(1 / 3)
    assert figures["length"] == 1
    shares = {"asks": (0.5, (0.9, 1.0))}
    figure = Likeness(
        language="en", reference="r", composite=85.54, interval=(81.24, 88.86), lines=60, conversations=20,
        shares=shares, scale={},
    )  # fmt: skip
    assert figure.as_json()["shares"]["asks"] == {"ours": 0.5, "reference": [0.9, 1.0]}
    assert (figure.as_json()["composite"], figure.as_json()["interval"]) == (85.5, [81.2, 88.9])


RUN = ("--offline", "--language", "en", "--persona", "regular", "--turns", "5")


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with enough lines and conversations."""
    return held_once(tmp_path_factory, RUN)


def test_a_run_is_held_against_people(command: Command, held: Path) -> None:
    """The page has the table and JSON the figures."""
    few = command("--offline", "--language", "en", "--limit", "2", "--persona", "calm", "--json")
    assert few.json["simulator"]["likeness"] is None
    assert "Likeness to real customers" not in Path("runs", few.json["run"], "report.html").read_text()
    shutil.copytree(held, Path(), dirs_exist_ok=True)
    [run] = (path.name for path in (held / "runs").iterdir())
    done = command("report", run, "--json")
    found = done.json["simulator"]["likeness"]
    assert (found["language"], found["reference"]) == ("en", "STAR, MultiDoGO, Taskmaster-4")
    assert found["interval"][0] <= found["composite"] <= found["interval"][1]
    assert found["lines"] >= 60
    low, high = found["shares"]["asks"]["reference"]
    assert low < high
    ended = sum(each["ours"] for name, each in found["shares"].items() if name.startswith("ended_"))
    assert ended == pytest.approx(1)
    page = Path("runs", done.json["run"], "report.html").read_text()
    told = (
        "Likeness to real customers",
        "of 100 lines of these customers could be a person",
        "On this scale",
    )
    for text in (*told, "(c) 2020 Rasa Technologies GmbH", "Lines until leaving (median)"):
        assert text in page


def test_a_target_takes_likeness(command: Command, held: Path) -> None:
    """It is held against the figure of the report, and undecided where there are too few conversations."""
    shutil.copytree(held, Path(), dirs_exist_ok=True)
    figure = command("report", "latest", "--json").json["simulator"]["likeness"]["composite"]
    for threshold, is_met in ((figure - 5, True), (figure + 5, False)):
        done = command("report", "latest", "--target", f"likeness >= {threshold:.0f}", "--json")
        condition, _major = done.json["conditions"]
        assert condition["value"] == pytest.approx(figure / 100, abs=1e-3)
        assert (condition["decision"] == "passed") is is_met

    few = command(*RUN, "--limit", "1", "--target", "likeness >= 50", "--max-major", "100")
    assert "Likeness not known (50 required)" in few.out
    assert "Likeness undecided: it takes 60 lines" in max(Path().rglob("report.html")).read_text("utf-8")
