"""Web pages are read as a visitor reads them."""

from hypothesis import given
from hypothesis import strategies as st

from simulator.cases.web import web_document

PAGE = """<!DOCTYPE html><html><head><title>料金 &amp;
ご案内</title><style>p { color: red }</style><script>var a = "<p>no</p>";</script></head>
<body><!-- no --><nav><a href="/">ホーム</a></nav><h1>料金</h1>
<p>ホーム1ギガは
  月額5,280円です。<br>税込みです。<p>The fibre
plan.<ul><li>A<li>B</ul>
<table><tr><th>プラン</th><th>月額</th></tr><tr><td>ホーム</td><td>5,280円</td></tr></table>
<noscript>no</noscript><svg><title>no</title></svg><![if old]>&copy; 2025<![endif]></body></html>"""
MARKUP = st.sampled_from(
    ["<![", "<!", "]>", "-->", "<!--", "<p>", "</p", "<script>", "</script>", "<svg/>", "&#", "&amp", "<?"]
) | st.sampled_from(
    ["<title>", "日本語", "\n", "<a href='", '"', ">", "<", "<pre>", "<![CDATA[", "]]>", "<!ENTITY"]
)


def test_what_is_read() -> None:
    """Headings, lists, tables and lines are kept; scripts, styles and comments are not."""
    page = web_document(PAGE)

    assert page.title == "料金 & ご案内"
    assert page.text == (
        "ホーム\n\n# 料金\n\nホーム1ギガは月額5,280円です。\n税込みです。\n\nThe fibre plan.\n\n- A\n- B\n\n"
        "プラン | 月額\nホーム | 5,280円\n\n© 2025"
    )


@given(parts=st.lists(MARKUP | st.text(max_size=3), max_size=12))
def test_broken_markup(parts: list[str]) -> None:
    """However broken the markup is, it gives some text."""
    assert isinstance(web_document("".join(parts)).text, str)
