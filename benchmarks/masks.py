"""`make bench-masks`: what --redact takes for personal data in ordinary sentences, and is none.

Draws sentences of customers, desks and articles from public sets (none of which is part of this program),
and prints how many masks of each kind stand in 2,000 of each language. With --show each is printed: real
names and addresses in these sentences are masked rightly, so that somebody has to read them.
"""

import argparse
import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks import DATA
from simulator.core.types import Language
from simulator.privacy.redactor import Redactor

SETS: dict[Language, tuple[str, ...]] = {
    "ja": (
        "asdc/user_goals_asdc_ja_dev.jsonl.gz",
        "humans/jmultiwoz_ja_dev.jsonl.gz",
        "realpersonachat/personas_realpersonachat_ja.jsonl.gz",
        "jcola/judge_labels_jcola_dev.jsonl",
    ),
    "en": (
        "humans/star_en_dev.jsonl.gz",
        "humans/multidogo_en_dev.jsonl.gz",
        "humans/taskmaster4_en_dev.jsonl.gz",
        "topicalchat_usr/judge_labels_topicalchat_usr_dev.jsonl.gz",
        "tau2_banking/rag_corpus_tau2_banking_en.jsonl.gz",
    ),
}
DRAWN = 2_000
# What holds no sentence.
_NO_TEXT = frozenset(("id", "dataset", "language", "group", "meta", "labels", "scale", "role", "level"))


def main() -> None:
    """Prints masks by kind; with --show, each masked sentence."""
    parser = argparse.ArgumentParser(prog="bench-masks", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the sets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the masked sentences")
    options = parser.parse_args()
    for language, names in SETS.items():
        known = [options.data / name for name in names if (options.data / name).is_file()]
        if not known:
            print(f"{language}: no sets in {options.data} (or set REHEARSAL_BENCH_DATA)")
            continue
        texts = drawn(known, options.seed)
        counts: Counter[str] = Counter()
        masked = []
        for text in texts:
            found = Redactor().redact(text, language)
            counts.update(found.counts)
            if found.counts:
                masked.append(f"    {text}\n      -> {found.text}")
        kinds = ", ".join(f"{kind} {n}" for kind, n in counts.most_common()) or "none"
        print(f"{language}: masks in {len(texts)} sentences, {len(masked)} of them masked: {kinds}")
        if options.show:
            print("\n".join(masked))


def drawn(files: list[Path], seed: int) -> list[str]:
    """Different sentences, as many of each file as there are of the others."""
    rng, texts = random.Random(seed), list[str]()
    for file in files:
        sentences = sorted({one for text in _texts(file) for one in _sentences(text)})
        texts += rng.sample(sentences, min(DRAWN // len(files), len(sentences)))
    return texts


def _sentences(text: str) -> Iterator[str]:
    for piece in re.split(r"(?<=[。！？!?])|(?<=\.)\s+|\n+", text):
        if 6 <= len(piece.strip()) <= 300:
            yield piece.strip()


def _texts(file: Path) -> Iterator[str]:
    packed = file.read_bytes()
    text = (gzip.decompress(packed) if file.suffix == ".gz" else packed).decode("utf-8")
    for line in text.splitlines():
        yield from _strings(json.loads(line))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item) if key not in _NO_TEXT else ()
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


if __name__ == "__main__":
    main()
