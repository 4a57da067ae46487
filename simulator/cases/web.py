"""Reads HTML as text, without scripts and styles.

    <h2>Fees</h2><ul><li>Home: 5<li>Flat: 4</ul>   -> "## Fees", "- Home: 5", "- Flat: 4"

By the parser of the standard library, which forgives what browsers do. Comments and attributes are taken out
before it sees them: it takes the square of the time for some of them, and nobody reads them.
"""

import re
from html.parser import HTMLParser

from simulator.cases.documents import Document

_SKIPPED_TAGS = frozenset({"script", "style", "noscript", "template", "svg"})
_BLOCK_TAGS = frozenset(
    {"address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figure"}
    | {"footer", "form", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "ul"}
)
# What stands in the text before the content of an element, and behind that of a block.
_OPENINGS = {
    **{f"h{level}": "\n\n" + "#" * level + " " for level in range(1, 7)},
    **dict.fromkeys(_BLOCK_TAGS, "\n\n"),
    **dict.fromkeys(("br", "tr", "option"), "\n"),
    **{"li": "\n- ", "td": " | ", "th": " | "},
}
_WIDE = "[ぁ-ヿ㐀-鿿、。「」（）！？]"
# A line break in the source is a space in English and nothing in Japanese.
# Compiled at the first use: for a large class of characters that takes milliseconds.
_BREAK_IN_JAPANESE = rf"(?<={_WIDE})[ \t]*\n\s*(?={_WIDE})"
# What the standard parser gives up on, or takes very long for: comments and attributes, which no reader sees.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<!\[[^>]*(?:>|\Z)", re.DOTALL)
_ATTRIBUTES = re.compile(r"""(<[a-zA-Z][^\s/<>]*)\s(?>[^<>"']+|"[^"]*"|'[^']*')*+>""")


# What makes a text HTML: a tag of a message or a mail, or an entity, not any sign between words.
HTML = re.compile(
    r"</?(?:p|br|div|span|li|ul|ol|a|b|i|em|strong|h\d|table|tr|td|blockquote)\b[^<>]{0,2000}>"
    r"|&(?:amp|lt|gt|quot|nbsp|#\d{1,6});",
    re.IGNORECASE,
)


def web_document(html: str) -> Document:
    """The text of an HTML page without scripts and styles; the title is <title> or the first heading."""
    page = _VisibleText()
    page.feed(_ATTRIBUTES.sub(r"\1>", _COMMENT.sub("", html)))
    page.close()
    # A row of a table begins with the bar of its first cell, which is stripped.
    text = "\n".join(re.sub(r"[ \t]+", " ", line).strip(" |") for line in "".join(page.parts).split("\n"))
    heading = re.search(r"(?m)^#+ (.+)$", text)
    title = " ".join("".join(page.title).split()) or (heading[1] if heading else "")
    return Document(title, re.sub(r"\n{3,}", "\n\n", text).strip())


class _VisibleText(HTMLParser):
    """Collects the visible text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._skipping = 0
        self._in_title = False
        self._in_pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begins a heading, a block, a line or skipped content."""
        if tag in _SKIPPED_TAGS:
            # They may stand within each other: an svg in a template.
            self._skipping += 1
        elif tag == "title" and not self._skipping:
            self._in_title = True
        else:
            self._in_pre = self._in_pre or tag == "pre"
            self.parts.append(_OPENINGS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        """Ends it; an end tag without a start tag is ignored."""
        if tag in _SKIPPED_TAGS:
            self._skipping = max(0, self._skipping - 1)
        elif tag == "title":
            self._in_title = False
        else:
            self._in_pre = self._in_pre and tag != "pre"
            self.parts.append("\n\n" if _OPENINGS.get(tag, "").startswith("\n\n") else "")

    def handle_data(self, data: str) -> None:
        """Collects visible text, without line breaks of the source except in <pre>."""
        if self._skipping:
            return
        if self._in_title:
            self.title.append(data)
        elif self._in_pre:
            self.parts.append(data)
        else:
            self.parts.append(re.sub(r"[ \t\n\f]+", " ", re.sub(_BREAK_IN_JAPANESE, "", data)))
