"""The readable text of a web page, with headings and lists as in Markdown."""

import re
from html.parser import HTMLParser

from simulator.files.chunks import Document

_UNREAD = frozenset({"script", "style", "noscript", "template", "svg"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figure"}
    | {"footer", "form", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "ul"}
)
_LINES = frozenset({"br", "tr", "option"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_JAPANESE = "[ぁ-ヿ㐀-鿿、。「」（）！？]"
# A line break in the source is a space in English and nothing in Japanese.
_BREAK_IN_JAPANESE = re.compile(rf"(?<={_JAPANESE})[ \t]*\n\s*(?={_JAPANESE})")
# Office and old browsers leave these; the standard parser gives up on unknown ones.
_CONDITIONS = re.compile(r"<!\[[^>]*(?:>|\Z)")


def web_page(html: str) -> Document:
    """The text of an HTML page without scripts and styles; the title is <title> or the first heading."""
    page = _Page()
    page.feed(_CONDITIONS.sub("", html))
    page.close()
    text = "\n".join(re.sub(r"[ \t]+", " ", line).strip(" |") for line in "".join(page.parts).split("\n"))
    heading = re.search(r"(?m)^#+ (.+)$", text)
    title = " ".join("".join(page.title).split()) or (heading[1] if heading else "")
    return Document(title, re.sub(r"\n{3,}", "\n\n", text).strip())


class _Page(HTMLParser):
    """Collects what a reader sees."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._unread = 0
        self._in_title = False
        self._as_written = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Opens what the tag stands for."""
        if tag in _UNREAD:
            self._unread += 1
        elif tag == "title" and not self._unread:
            self._in_title = True
        else:
            self._as_written = self._as_written or tag == "pre"
            self.parts.append(_opening(tag))

    def handle_endtag(self, tag: str) -> None:
        """Closes it; an end without a beginning is ignored."""
        if tag in _UNREAD:
            self._unread = max(0, self._unread - 1)
        elif tag == "title":
            self._in_title = False
        else:
            self._as_written = self._as_written and tag != "pre"
            self.parts.append("\n\n" if tag in _BLOCKS or tag in _HEADINGS else "")

    def handle_data(self, data: str) -> None:
        """Keeps text that is shown, with line breaks only where the page breaks lines."""
        if self._unread:
            return
        if self._in_title:
            self.title.append(data)
        elif self._as_written:
            self.parts.append(data)
        else:
            self.parts.append(re.sub(r"[ \t\n\f]+", " ", _BREAK_IN_JAPANESE.sub("", data)))


def _opening(tag: str) -> str:
    if tag in _HEADINGS:
        return "\n\n" + "#" * _HEADINGS[tag] + " "
    if tag in _BLOCKS:
        return "\n\n"
    if tag in _LINES:
        return "\n"
    return {"li": "\n- ", "td": " | ", "th": " | "}.get(tag, "")
