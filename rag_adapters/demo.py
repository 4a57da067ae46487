"""The bundled bot: LangChain and FAISS over demo/knowledge or your articles.

First the bot, which retrieves passages and answers from them; then how it answers without a model, in the
passages' own sentences; then the FAISS index; and last what texts are compared by: character n-grams and
words, weighted by how rare they are.

The index is made at the start and kept in memory. Vectors are dense float32: 88 bundled passages take 6 MB
and a tenth of a second, 10,000 passages 80 MB and a few seconds.
"""

import re
import tomllib
import unicodedata
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from simulator.extending import (
    Answer,
    Bot,
    Chat,
    InputError,
    Passage,
    Query,
    _,
    passages_of,
    read_knowledge,
    read_text_file,
)

if TYPE_CHECKING:
    import numpy as np
    from langchain_core.documents import Document
    from numpy.typing import NDArray

# Imported where an index is made and searched; that one is missing shows before a run begins.
for package in ("faiss", "langchain_core"):
    if find_spec(package) is None:
        raise ModuleNotFoundError(f"No module named '{package}'", name=package)

# numpy takes a tenth of a second to load: with --dry-run nobody searches.
Vector: TypeAlias = "NDArray[np.float32]"

BUNDLED = Path(__file__).resolve().parent.parent / "demo" / "knowledge"
PROMPT = Path(__file__).with_name("demo_prompt.toml")
# Characters of the earlier question that a follow-up ("And until when?") is searched with.
_EARLIER_LENGTH = 40
MOST_SENTENCES = 3
# Sentences that repeat less of the question than this share are taken to be about something else.
# Japanese is lower: endings and particles differ between a question and the sentence that answers it.
_LEAST_COVERAGE = {"ja": 0.08, "en": 0.2}
_ENDS = ("。", "！", "？", ".", "!", "?", "：", ":")
# A further sentence has to add this share of the question to what is said already.
_WORTH_SAYING = 0.12
_BULLET = re.compile(r"^\s*(?:[-*・]|\d+[.)])\s+")
_HEADING = re.compile(r"^\s*#+\s")
# At 。！？ unless a bracket closes behind it; in English before a capital, a digit or a quotation.
_SENTENCE_END = re.compile(r"(?<=[。！？])(?![」』）])\s*|(?<=[.!?])\s+(?=[\"“(A-Z0-9])")

# One query reads every vector: 4 million places take about a millisecond.
_PLACES, _FEWEST, _MOST = 4_000_000, 2_048, 16_384

# Runs of letters and digits that are not Japanese, with what joins them: two-step, E-205, 9:00.
_WORD = re.compile(r"[^\W_ぁ-ヿ㐀-鿿々]+(?:[-.,:][^\W_ぁ-ヿ㐀-鿿々]+)*")
_PART = re.compile(r"[^\W_]+")
# Endings of English words, so that cancellation and cancel meet; the stem keeps three letters.
_ENDING = re.compile(r"(?<=\w{3})(?:ations?|ing|ies|ed|es|s|e)$")
# Words that hold an English sentence together and say nothing of what it is about.
_FUNCTION_WORDS = frozenset(
    """
    a am an and any are as at be been but by can could did do does for from get got had has have he her
    him his how i if in into is it its just let me more my no not of on one or our out please she should
    so some than that the their them then there these they this those to too up us very want was we were
    what when where which who why will with would you your
    """.split()  # noqa: SIM905 - a hundred words are read as text, not as a list
)
# Japanese runs of hiragana are mostly endings and particles, runs within a word only catch its other forms.
_HIRAGANA, _KATAKANA, _KANJI, _OTHER = 1, 2, 3, 4
_GRAMMAR, _WORD_PART = 0.3, 0.5
_SPREAD = 0x9E3779B97F4A7C15  # makes 64 bits of 32, as evenly as they come
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)


def connect(*, knowledge: str = "", top: int = 4, chat: Chat | None = None) -> Bot:
    """The bot over the texts in `knowledge` (a folder or file; the bundled ones when empty).

    Each answer rests on the `top` nearest passages. Without `chat` it is made of their own sentences.
    """
    if top < 1:
        raise InputError(_("top={top}: at least one passage is needed to answer from.", top=top))
    wording = read_wording(PROMPT)
    indices = indices_of(knowledge) if knowledge else bundled()

    def retrieved(query: Query) -> tuple[PassageIndex, tuple[Passage, ...]]:
        index = indices.get(query.language) or next(iter(indices.values()))
        return index, passages_of(index.search(search_text(query), top))

    @lru_cache(1_024)  # several customers ask the same
    def extracted(language: str, text: str) -> tuple[tuple[Passage, ...], Extract]:
        index, passages = retrieved(Query(text=text, language=language))
        return passages, extract(text, passages, index.weighed)

    # Not on a thread: it takes milliseconds, and threads would contend for the interpreter.
    async def answer_offline(query: Query) -> Answer:
        passages, extract = extracted(query.language, search_text(query))
        return extractive_answer(query, passages, extract, wording[query.language])

    async def answer_by_model(query: Query, chat: Chat) -> Answer:
        return await generated_answer(query, retrieved(query)[1], wording[query.language], chat)

    return partial(answer_by_model, chat=chat) if chat else answer_offline


def indices_of(knowledge: str | Path) -> "dict[str, PassageIndex]":
    """The index of the texts of each language in a folder or file."""
    passages = list(read_knowledge(knowledge))
    return {language: build(texts) for language, texts in by_language(passages).items()}


@cache
def bundled() -> "dict[str, PassageIndex]":
    """The indices of the bundled texts, made once for all runs of a process."""
    return indices_of(BUNDLED)


def by_language(passages: Sequence[Passage]) -> dict[str, list[Passage]]:
    """The passages per language when every id starts with `ja/` or `en/`, else all of them under ''.

    So a Japanese question is not answered from an English article, where a folder is kept in both.
    """
    groups: dict[str, list[Passage]] = {}
    for passage in passages:
        groups.setdefault(passage.id.partition("/")[0], []).append(passage)
    return groups if set(groups) <= {"ja", "en"} else {"": list(passages)}


def read_wording(path: Path) -> dict[str, Any]:
    """The texts of a prompt file, per language; raises InputError for one that does not hold together."""
    try:
        wording = tomllib.loads(read_text_file(path))
        for language in ("ja", "en"):
            texts = {key: wording[language][key] for key in ("opening", "refusal", "system", "user")}
            Template(texts["system"]).substitute()
            Template(texts["user"]).substitute(passages="", question="")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        msg = _("{path}: not usable as the demo bot's prompts ({error}).", path=path, error=error)
        raise InputError(msg) from None
    return wording


def search_text(query: Query) -> str:
    """The question, and the first 40 characters of the customer's line before it.

    "And until when?" finds nothing by itself; with the whole line before it, the old topic would win.
    """
    earlier = [message.content for message in query.history if message.role == "user"]
    return f"{query.text}\n{earlier[-1][:_EARLIER_LENGTH]}" if earlier else query.text


async def generated_answer(
    query: Query, passages: Sequence[Passage], texts: Mapping[str, str], chat: Chat
) -> Answer:
    """The answer of the model, which sees the passages, the dialogue so far and the question."""
    shown = "\n\n".join(f"[{number}]\n{passage.text}" for number, passage in enumerate(passages, 1))
    asked = Template(texts["user"]).substitute(passages=shown, question=query.text).strip()
    messages = [
        {"role": "system", "content": Template(texts["system"]).substitute().strip()},
        *({"role": line.role, "content": line.content} for line in query.history),
        {"role": "user", "content": asked},
    ]
    text, usage = await chat(messages)
    return Answer(text=text, passages=tuple(passages), usage=usage)


# --- Without a model: the sentences of the passages that say most of the question ---


def extractive_answer(
    query: Query, passages: Sequence[Passage], extract: "Extract", texts: Mapping[str, str]
) -> Answer:
    """An answer in the passages' own sentences; it thanks the customer once, and knows no other courtesy."""
    if extract.coverage < _LEAST_COVERAGE[query.language]:
        return Answer(text=texts["refusal"], passages=tuple(passages))
    said = extract.sentences if query.history else (texts["opening"], *extract.sentences)
    stop, joint = ("。", "") if query.language == "ja" else (".", " ")
    text = joint.join(sentence if sentence.endswith(_ENDS) else sentence + stop for sentence in said)
    return Answer(text=text, passages=tuple(passages))


class Extract(NamedTuple):
    """The chosen sentences, in the order in which the passages have them.

    `coverage` is the share (0..1) of the question, weighed by rarity, that they repeat.
    """

    sentences: tuple[str, ...]
    coverage: float


def sentences(text: str) -> list[list[str]]:
    """The sentences of a Markdown text, per line that has any; headings and bullet marks are left out."""
    lines = [_BULLET.sub("", line).strip() for line in text.splitlines() if not _HEADING.match(line)]
    return [[part.strip() for part in _SENTENCE_END.split(line) if part.strip()] for line in lines if line]


def extract(question: str, passages: Sequence[Passage], weigh: Callable[[str], "Grams"]) -> Extract:
    """One to three sentences that repeat most of the question, and what follows the first of them.

    Greedy cover: always the sentence that adds most of the question's weight to what is said already, times
    the trust in its passage, until a further one adds less than `_WORTH_SAYING`.
    """
    import numpy as np

    asked = weigh(question)
    total = float(asked.weights.sum())
    best = max((passage.score or 0.0 for passage in passages), default=0.0)
    candidates = [
        (sentence, (passage.score or 0.0) / best if best else 0.0)
        for passage in passages
        for sentence in _sentences_of(passage.text)
    ]
    if not candidates or not total:
        return Extract((), 0.0)
    codes = asked.codes.tolist()
    shares = asked.weights / total
    says = np.array([[code in sentence.codes for code in codes] for sentence, _trust in candidates])
    trust = np.array([trust for _sentence, trust in candidates])
    said, chosen = np.zeros(len(shares), dtype=np.bool_), list[int]()
    while len(chosen) < MOST_SENTENCES:
        # Ties go to the first.
        gains = np.array([shares[new].sum() for new in says & ~said]) * trust
        best_place = int(gains.argmax())
        # The first sentence is always said: how little it covers decides whether the bot declines.
        if chosen and gains[best_place] < _WORTH_SAYING:
            break
        chosen.append(best_place)
        said |= says[best_place]
    after = chosen[0] + 1
    if len(chosen) < MOST_SENTENCES and after < len(candidates) and candidates[after][0].follows:
        chosen.append(after)
    return Extract(tuple(candidates[at][0].text for at in sorted(set(chosen))), float(shares[said].sum()))


class _Sentence(NamedTuple):
    """A sentence, whether it follows the one before it in a line, and the codes of its n-grams."""

    text: str
    follows: bool
    codes: frozenset[int]


@lru_cache(1_024)
def _sentences_of(text: str) -> tuple[_Sentence, ...]:
    """The sentences of a passage; the same few passages are asked for all the time."""
    return tuple(
        _Sentence(sentence, place > 0, frozenset(grams(sentence).codes.tolist()))
        for line in sentences(text)
        for place, sentence in enumerate(line)
    )


# --- The index ---


class PassageIndex(NamedTuple):
    """LangChain's documents to be searched by cosine; `rarity` is the inverse document frequency per place.

    Called by nobody but this bot, it is none of LangChain's retrievers: to import these takes a third of a
    second, half of what an offline run does.
    """

    documents: "tuple[Document, ...]"
    rarity: Vector
    vectors: Any

    def search(self, text: str, top: int) -> "list[tuple[Document, float]]":
        """The `top` nearest documents, best first, with their cosine (0..1)."""
        query = unit_vector(grams(text), self.rarity)
        scores, places = self.vectors.search(query[None, :], min(top, len(self.documents)))
        ranked = zip(places[0].tolist(), scores[0].tolist(), strict=True)
        return [(self.documents[at], round(score, 4)) for at, score in ranked]

    def weighed(self, text: str) -> "Grams":
        """The n-grams of a text, each weighed by how rare it is among the passages."""
        codes, weights = grams(text)
        return Grams(codes, weights * self.rarity[places(codes, len(self.rarity))])


def unit_vector(counted: "Grams", rarity: Vector) -> Vector:
    """The n-grams as a vector of length 1; all zeros when there is nothing to go by."""
    import numpy as np

    summed = np.bincount(places(counted.codes, len(rarity)), counted.weights, minlength=len(rarity))
    vector = summed.astype(np.float32) * rarity
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector


def build(passages: Sequence[Passage]) -> PassageIndex:
    """The index, made in memory.

    The places of a vector are a power of two between `_FEWEST` and `_MOST`, so many that all vectors together
    have about `_PLACES`: that is what one query reads.
    """
    import numpy as np
    from langchain_core.documents import Document

    with warnings.catch_warnings():
        # Its bindings warn about themselves on import; nobody here can fix that.
        warnings.simplefilter("ignore", DeprecationWarning)
        import faiss

    counts = [grams(passage.text) for passage in passages]
    fitting = 1 << (_PLACES // max(len(passages), 1)).bit_length() - 1
    dimensions = min(max(fitting, _FEWEST), _MOST)
    having = np.zeros(dimensions, dtype=np.float32)
    for counted in counts:
        having[places(counted.codes, dimensions)] += 1
    rarity = np.log((len(passages) + 1) / (having + 1)).astype(np.float32)
    vectors = faiss.IndexFlatIP(dimensions)
    for counted in counts:
        vectors.add(unit_vector(counted, rarity)[None, :])
    documents = (
        Document(id=passage.id, page_content=passage.text, metadata={"source": passage.source})
        for passage in passages
    )
    return PassageIndex(tuple(documents), rarity, vectors)


# --- What texts are compared by ---
#
# Japanese has no spaces, so it is cut into single kanji and runs of two and three characters; other scripts
# into words, with their runs of three characters beside them so that word forms meet.


class Grams(NamedTuple):
    """What a text is made of: each n-gram's 64-bit code once, and how much it counts."""

    codes: "NDArray[np.uint64]"
    weights: "NDArray[np.float32]"


@lru_cache(32)
def grams(text: str) -> Grams:
    """The n-grams of a text; a repeated one counts by the logarithm of its number."""
    import numpy as np

    shown = unicodedata.normalize("NFKC", text).lower()
    words = np.array([code for word in _WORD.findall(shown) for code in _word_codes(word)], dtype=np.uint64)
    runs, weighed = _runs(shown)
    codes = np.concatenate([words, runs])
    weights = np.concatenate([np.ones(len(words), dtype=np.float32), weighed])
    unique, where = np.unique(codes, return_inverse=True)
    summed = np.bincount(where, weights=weights, minlength=len(unique))
    return Grams(unique, np.log1p(summed).astype(np.float32))


def places(codes: "NDArray[np.uint64]", dimensions: int) -> "NDArray[np.int64]":
    """Where the codes stand in a vector of `dimensions` places, a power of two: the hashing trick."""
    import numpy as np

    shift = np.uint64(64 - (dimensions.bit_length() - 1))
    return (codes >> shift).astype(np.int64)


@lru_cache(16_384)
def _word_codes(word: str) -> tuple[int, ...]:
    """A word without its ending; of a compound ("two-step", "e-205") the whole and the parts."""
    parts = {word, *_PART.findall(word)} - _FUNCTION_WORDS
    kept = {_ENDING.sub("", part) for part in parts if len(part) > 1 or part.isdigit()}
    return tuple(zlib.crc32(part.encode("utf-8", "surrogatepass")) * _SPREAD % 2**64 for part in sorted(kept))


def _runs(text: str) -> "tuple[NDArray[np.uint64], NDArray[np.float32]]":
    """Codes of all runs of one to three characters of one script, or of Japanese; how much each counts."""
    import numpy as np

    # One number a character, so that all runs of a text are hashed at once.
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    # The lowest and highest script in a run tell whether it crosses from one into another.
    lowest = highest = scripts = _scripts(text, points)
    points = points.astype(np.uint64)
    mixed = np.zeros(len(points), dtype=np.uint64)
    codes, weighed = [], []
    for length, multiplier in enumerate(np.array(_MULTIPLIERS, dtype=np.uint64), 1):
        size = max(len(points) - length + 1, 0)
        mixed = mixed[:size] + points[length - 1 :] * multiplier
        lowest = np.minimum(lowest[:size], scripts[length - 1 :])
        highest = np.maximum(highest[:size], scripts[length - 1 :])
        weights = _weights(lowest, highest, length)
        kept = mixed[weights > 0]
        codes.append((kept ^ (kept >> np.uint64(29))) * multiplier | np.uint64(1))
        weighed.append(weights[weights > 0])
    return np.concatenate(codes), np.concatenate(weighed)


def _scripts(text: str, points: "NDArray[np.uint32]") -> "NDArray[np.uint8]":
    """Per character which script it is of, 0 for spaces and marks."""
    import numpy as np

    scripts = _script_table()[np.minimum(points, 0xFFFF)]
    for at in np.flatnonzero(points > 0xFFFF):
        scripts[at] = _OTHER * text[at].isalnum()
    return scripts


@cache
def _script_table() -> "NDArray[np.uint8]":
    """The script of every character that one UTF-16 unit can be."""
    import numpy as np

    scripts = np.array([_OTHER * chr(point).isalnum() for point in range(0x10000)], dtype=np.uint8)
    scripts[0x3041:0x30A0] = _HIRAGANA
    scripts[0x30A0:0x30FB] = scripts[0x30FC:0x3100] = _KATAKANA
    scripts[0x3400:0xA000] = scripts[0x3005] = _KANJI
    return scripts


def _weights(lowest: "NDArray[np.uint8]", highest: "NDArray[np.uint8]", length: int) -> "NDArray[np.float32]":
    """How much each run counts, by the lowest and the highest script in it."""
    import numpy as np

    weights = np.zeros(len(lowest), dtype=np.float32)
    if length == 1:
        weights[lowest == _KANJI] = _GRAMMAR
        return weights
    weights[(lowest >= _HIRAGANA) & (highest <= _KANJI)] = 1
    weights[(lowest == _HIRAGANA) & (highest == _HIRAGANA)] = _GRAMMAR
    if length == 3:
        weights[(lowest == _OTHER)] = _WORD_PART
    return weights
