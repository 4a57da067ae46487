"""The FAISS index of the demo bot and its place on disk."""

import json
import os
from pathlib import Path

import pytest

from rag_adapters.demo import build, content_hash, open_index
from simulator import Passage

PASSAGES = (
    Passage(id="fees", text="マンション1ギガは、月額4,180円です。", source="fees.md"),
    Passage(id="cancel", text="光の解約は、毎月20日までに申し込むと、その月の末日で完了します。"),
    Passage(id="router", text="E-205 means that the connection ID or password is wrong."),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [("月額はいくら", "fees"), ("解約したい", "cancel"), ("Router shows E-205", "router")],
)
def test_the_nearest_passage_comes_first(question: str, expected: str) -> None:
    """Scores fall from the first to the last and are cosines."""
    found = build(PASSAGES).search(question, 3)
    scores = [passage.score or 0.0 for passage in found]

    assert found[0].id == expected
    assert sorted(scores, reverse=True) == scores
    assert 0 < scores[0] <= 1


@pytest.mark.parametrize("question", ["", "😀", "ありえない語彙"])
def test_a_question_about_nothing_finds_something_without_similarity(question: str) -> None:
    """There is always an answer of the index; its score tells that it is none."""
    found = build(PASSAGES).search(question, 10)

    assert len(found) == 3
    assert all((passage.score or 0.0) < 0.1 for passage in found)


def test_an_index_is_kept_and_found_again(tmp_path: Path) -> None:
    """The second time the files are read, and searching gives the same."""
    made = open_index(PASSAGES, tmp_path)
    stamps = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.*")}
    again = open_index(PASSAGES, tmp_path)

    assert {file.name for file in stamps} == {"index.faiss", "passages.json"}
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.*")} == stamps
    assert again.search("解約したい", 2) == made.search("解約したい", 2)
    assert again.passages == PASSAGES


def test_other_knowledge_has_another_index(tmp_path: Path) -> None:
    """A changed text, id or source is other knowledge."""
    changed = [
        PASSAGES[0].model_copy(update=update) for update in ({"text": "別"}, {"id": "別"}, {"source": "別"})
    ]

    assert len({content_hash([passage]) for passage in (PASSAGES[0], *changed)}) == 4


@pytest.mark.parametrize("name", ["index.faiss", "passages.json"])
@pytest.mark.parametrize("content", [b"", b"broken", b"[]", b"{}"])
def test_a_broken_index_is_made_anew(tmp_path: Path, name: str, content: bytes) -> None:
    """Whatever happened to the files, the answers are right and the files are whole again."""
    open_index(PASSAGES, tmp_path)
    path = next(tmp_path.rglob(name))
    whole = path.read_bytes()
    path.write_bytes(content)
    found = open_index(PASSAGES, tmp_path).search("解約したい", 1)

    assert found[0].id == "cancel"
    assert path.read_bytes() == whole


def test_files_that_do_not_belong_together_are_made_anew(tmp_path: Path) -> None:
    """The passages of another index would be wrong answers."""
    open_index(PASSAGES, tmp_path)
    path = next(tmp_path.rglob("passages.json"))
    sidecar = json.loads(path.read_text(encoding="utf-8"))
    sidecar["passages"].pop()
    path.write_text(json.dumps(sidecar), encoding="utf-8")

    assert len(open_index(PASSAGES, tmp_path).passages) == 3


def test_a_cache_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    """The index then lives in memory only."""
    blocked = tmp_path / "file"
    blocked.write_text("a file where the folder would be", encoding="utf-8")

    assert open_index(PASSAGES, blocked).search("解約したい", 1)[0].id == "cancel"
    assert open_index(PASSAGES, None).search("解約したい", 1)[0].id == "cancel"


def test_nothing_is_left_beside_the_index(tmp_path: Path) -> None:
    """What was written aside is renamed, not copied; names with Japanese in them are fine."""
    cache = tmp_path / "山田さんの キャッシュ"
    open_index(PASSAGES, cache)

    assert [path.name for path in cache.iterdir()] == [content_hash(PASSAGES)]


def test_two_runs_at_once_do_not_harm_each_other(tmp_path: Path) -> None:
    """What another process has begun aside does not stand in the way."""
    aside = tmp_path / f"{content_hash(PASSAGES)}.{os.getpid()}.tmp"
    aside.mkdir()
    (aside / "index.faiss").write_bytes(b"half")

    assert open_index(PASSAGES, tmp_path).search("解約したい", 1)[0].id == "cancel"
    assert not aside.exists()


@pytest.mark.parametrize("count", [1, 500, 3000])
def test_large_knowledge_stays_small(count: int) -> None:
    """A vector has fewer places the more passages there are: 3,000 passages take at most 25 MB."""
    made = build([Passage(id=str(number), text=f"番号{number}の案内です。") for number in range(count)])

    assert made.vectors.d * 4 * count <= 25_000_000
    assert made.search(f"番号{count - 1}の案内", 1)[0].id == str(count - 1)
