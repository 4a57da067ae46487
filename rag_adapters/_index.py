"""Passages in a FAISS index, made once per content and kept in the user's cache folder.

The index file stands beside a JSON file with the passages; nothing is pickled. Vectors are dense
float32: 88 bundled passages take 6 MB, 10,000 passages 80 MB.
"""

import contextlib
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_adapters._ngrams import VERSION, Grams, grams, places
from simulator import Passage, _, close_to_others, private_file, private_folder

with warnings.catch_warnings():
    # Its bindings warn about themselves on import; nobody here can fix that.
    warnings.simplefilter("ignore", DeprecationWarning)
    import faiss

Vector = NDArray[np.float32]

# One query reads every vector: 4 million places take about a millisecond.
_PLACES, _FEWEST, _MOST = 4_000_000, 2_048, 16_384
_BATCH = 256


@dataclass(frozen=True)
class PassageIndex:
    """Passages to be searched by cosine; `rarity` is the inverse document frequency per place."""

    passages: tuple[Passage, ...]
    rarity: Vector
    vectors: Any

    def search(self, text: str, top: int) -> list[Passage]:
        """The `top` nearest passages, best first, with their cosine (0..1) as score."""
        query = unit_vector(grams(text), self.rarity)
        scores, found = self.vectors.search(query[None, :], min(top, len(self.passages)))
        ranked = zip(found[0].tolist(), scores[0].tolist(), strict=True)
        return [self.passages[at].model_copy(update={"score": round(score, 4)}) for at, score in ranked]

    def weighed(self, text: str) -> Grams:
        """The n-grams of a text, each weighed by how rare it is among the passages."""
        codes, weights = grams(text)
        return Grams(codes, weights * self.rarity[places(codes, len(self.rarity))])


def unit_vector(counted: Grams, rarity: Vector) -> Vector:
    """The n-grams as a vector of length 1; all zeros when there is nothing to go by."""
    summed = np.bincount(places(counted.codes, len(rarity)), counted.weights, minlength=len(rarity))
    vector = summed.astype(np.float32) * rarity
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector


def open_index(passages: Sequence[Passage], cache: Path | None) -> PassageIndex:
    """The index of these passages: from `cache` when it is there and whole, else made and kept there."""
    folder = cache / content_hash(passages) if cache else None
    if folder is not None:
        # A cache never costs a run: what cannot be read is made anew, what cannot be written is not kept.
        with contextlib.suppress(OSError, RuntimeError, MemoryError, ValueError, KeyError, TypeError):
            for place in (folder, *folder.iterdir()):
                close_to_others(place)
            private_folder(folder)
            return _read(folder)
    made = build(passages)
    if folder is not None:
        with contextlib.suppress(OSError, RuntimeError):
            _write(made, folder)
    return made


def content_hash(passages: Sequence[Passage]) -> str:
    """A name for this knowledge and this way of counting; the same whenever both are the same."""
    digest = hashlib.sha256(VERSION.encode())
    for passage in passages:
        row = json.dumps([passage.id, passage.text, passage.source], ensure_ascii=False)
        digest.update(row.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:32]


def build(passages: Sequence[Passage]) -> PassageIndex:
    """The index, made in memory; the texts are counted twice so that the counts need not be held."""
    dimensions = _dimensions(len(passages))
    rarity = _rarity(passages, dimensions)
    vectors = faiss.IndexFlatIP(dimensions)
    texts = iter(passages)
    while batch := list(islice(texts, _BATCH)):
        vectors.add(np.stack([unit_vector(grams(passage.text), rarity) for passage in batch]))
    return PassageIndex(tuple(passages), rarity, vectors)


def _dimensions(count: int) -> int:
    fitting: int = 1 << (_PLACES // max(count, 1)).bit_length() - 1
    return min(max(fitting, _FEWEST), _MOST)


def _rarity(passages: Sequence[Passage], dimensions: int) -> Vector:
    having = np.zeros(dimensions, dtype=np.float32)
    for passage in passages:
        having[places(grams(passage.text).codes, dimensions)] += 1
    return np.log((len(passages) + 1) / (having + 1)).astype(np.float32)


def _write(index: PassageIndex, folder: Path) -> None:
    """Both files appear together: they are written aside and the folder is then renamed."""
    aside = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    try:
        private_folder(aside)
        for name in ("index.faiss", "passages.json"):
            private_file(aside / name)
        # Through our own handle: the library cannot open paths with Japanese in them everywhere.
        with (aside / "index.faiss").open("wb") as file:
            faiss.write_index(index.vectors, faiss.PyCallbackIOWriter(file.write))  # type: ignore[attr-defined]
        with (aside / "passages.json").open("w", encoding="utf-8", errors="surrogatepass") as text:
            json.dump(_sidecar(index), text, ensure_ascii=False)
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _sidecar(index: PassageIndex) -> dict[str, Any]:
    passages = [passage.model_dump(exclude_none=True) for passage in index.passages]
    return {"passages": passages, "rarity": index.rarity.tolist()}


def _read(folder: Path) -> PassageIndex:
    with (folder / "passages.json").open(encoding="utf-8", errors="surrogatepass") as text:
        sidecar = json.load(text)
    with (folder / "index.faiss").open("rb") as file:
        vectors = faiss.read_index(faiss.PyCallbackIOReader(file.read))  # type: ignore[attr-defined]
    passages = tuple(Passage.model_validate(row) for row in sidecar["passages"])
    rarity = np.array(sidecar["rarity"], dtype=np.float32)
    if (vectors.ntotal, vectors.d) != (len(passages), len(rarity)):
        msg = _("the index and its passages do not belong together")
        raise ValueError(msg)
    return PassageIndex(passages, rarity, vectors)
