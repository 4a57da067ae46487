"""Files are read whatever they were saved with, or refused with one line that says what to do."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.cases.files import read_text
from simulator.core.errors import CaseFileError, InputError
from tests.properties import examples

SAMPLE = "番号,質問\n1,髙橋①㈱の領収書は～いつ届きますか\n2,ﾊﾟｽﾜｰﾄﾞを忘れた\n"
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\ufeff"), min_size=1)
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))


def saved(folder: Path, data: bytes, name: str = "cases.csv") -> Path:
    """The path of a new file with these bytes."""
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "utf-16"])
def test_encodings_of_japanese_offices(tmp_path: Path, encoding: str) -> None:
    """The same text comes out of every encoding and with every line end that Excel and editors write."""
    for ends in ("\n", "\r\n", "\r"):
        assert read_text(saved(tmp_path, SAMPLE.replace("\n", ends).encode(encoding))) == SAMPLE


def test_a_file_of_kanji_alone(tmp_path: Path) -> None:
    """A list without kana, as Excel on Windows saves it, is read like any other."""
    text = "氏名,部署\n山田,経理課\n"

    assert read_text(saved(tmp_path, text.encode("cp932"))) == text


@given(text=ANY_TEXT)
@SAME_FOLDER
def test_any_unicode_text_survives(tmp_path: Path, text: str) -> None:
    """UTF-8, with or without BOM, gzipped or not, gives back every character."""
    for encoding in ("utf-8", "utf-8-sig"):
        data = text.encode(encoding)

        assert read_text(saved(tmp_path, data), may_be_empty=True) == text
        assert read_text(saved(tmp_path, gzip.compress(data), "cases.csv.gz"), may_be_empty=True) == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            "質問\n料金は\n解約".encode("cp932") + b"\xff\n",
            "line 3: neither UTF-8 nor CP932.*save it as UTF-8",
        ),
        # CP932 would turn these quotation marks and accents into kanji.
        ("id,question\n1,I don’t know “why”\n".encode("cp1252"), "save it as UTF-8"),
        (b"\xef\xbb\xbf\r\n ", "empty"),
        (b"question\r\nwhy\0\n", "line 2: a NUL byte.*save it as UTF-8"),
        ("質問".encode("utf-16-le"), "UTF-8"),
        ("質問\n料金".encode("euc-jp"), "save it as UTF-8"),
        ("質問\n料金".encode("iso-2022-jp"), "line 1: neither UTF-8 nor CP932"),
        (b"PK\x03\x04rest", "Excel.*CSV"),
        (b"\xff\xfea", "save it as UTF-8"),
    ],
)
def test_what_is_no_text(tmp_path: Path, data: bytes, message: str) -> None:
    """Files without text are one line that names the file and what is wrong."""
    with pytest.raises(CaseFileError, match=message) as caught:
        read_text(saved(tmp_path, data))

    assert str(tmp_path / "cases.csv") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """A missing file and a folder are told apart."""
    with pytest.raises(InputError, match="no such file"):
        read_text(tmp_path / "none.csv")
    with pytest.raises(InputError, match="this is a folder"):
        read_text(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_text("a\0b.csv")
    with pytest.raises(InputError, match="no file but a pipe or a device"):
        read_text("/dev/null")


def test_size_limit(tmp_path: Path) -> None:
    """The limit counts content bytes, also of what a packed file unpacks to."""
    for name, pack in (("a.csv", bytes), ("a.csv.gz", gzip.compress)):
        path = saved(tmp_path, pack(b"1" * 2_000_001), name)

        assert len(read_text(path, most_bytes=2_000_001)) == 2_000_001
        with pytest.raises(CaseFileError, match="larger than 2 MB; split"):
            read_text(path, most_bytes=2_000_000)


@pytest.mark.parametrize(
    "cut", [b"not gzip", gzip.compress(b"question\n" * 99, mtime=0)[:-9], b"\x1f\x8b\x08\x00", b""]
)
def test_broken_gzip(tmp_path: Path, cut: bytes) -> None:
    """A cut-off or mislabelled .gz is one line."""
    with pytest.raises(CaseFileError, match=r"gzip|empty"):
        read_text(saved(tmp_path, cut, "a.csv.gz"))
