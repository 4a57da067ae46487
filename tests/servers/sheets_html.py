"""A spreadsheet as an HTML page, for looking at the result of a program."""

from html import escape

from tests.servers.sheets_a1 import Area, Box, column_name
from tests.servers.sheets_edit import overlaps
from tests.servers.sheets_errors import Json
from tests.servers.sheets_grid import Cell
from tests.servers.sheets_read import cell_data, filtered_rows
from tests.servers.sheets_state import Sheet, Spreadsheet, grid_area

_STYLE = """
:root { color-scheme: light }
body { font: 13px/1.35 Arial, "Noto Sans CJK JP", "Noto Sans JP", sans-serif; margin: 1rem; color: #202124 }
nav a { margin-right: .75rem } h2 { margin: 1.5rem 0 .25rem } .hidden { opacity: .5 }
.frame { overflow: auto; max-height: 85vh; border: 1px solid #c0c0c0; width: fit-content; max-width: 100% }
table { border-collapse: separate; border-spacing: 0; table-layout: fixed; width: max-content }
th, td { border: 0 solid #e1e1e1; border-width: 0 1px 1px 0; padding: 2px 3px; overflow: hidden }
th { background: #f8f9fa; font-weight: normal; color: #5f6368 }
td { vertical-align: bottom; background: #fff }
td.wrap { white-space: pre-wrap; overflow-wrap: anywhere } td.clip { white-space: pre }
.frozen td, .frozen th { position: sticky; z-index: 2 }
td.pinned { position: sticky; z-index: 1 }
td.protected { background-image: repeating-linear-gradient(45deg, #00000009 0 2px, transparent 2px 8px) }
td.note::before { content: ""; float: right; border: 4px solid; margin: -2px -3px 0 0 }
td.note::before { border-color: #f9ab00 #f9ab00 transparent transparent }
td.number { text-align: right }
td.drop::after { content: "▾"; float: right; color: #5f6368 }
"""
_MOST_ROWS = 1000


def page(book: Spreadsheet) -> str:
    """All worksheets, one below the other."""
    links = "".join(f'<a href="#gid={sheet.id}">{escape(sheet.title)}</a>' for sheet in book.sheets)
    body = "".join(_sheet(book, sheet) for sheet in book.sheets)
    title = escape(str(book.properties["title"]))
    head = f"<meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>"
    body = f"<h1>{title}</h1><nav>{links}</nav>{body}"
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def _sheet(book: Spreadsheet, sheet: Sheet) -> str:
    used = sheet.grid.used()
    box = Box(0, min(max(used.bottom, 3), sheet.grid.rows, _MOST_ROWS), 0, max(used.right, 3))
    hidden = sheet.properties.get("hidden")
    letters = "".join(f"<th>{column_name(column)}</th>" for column in _columns(sheet, box))
    widths = "".join(f'<col style="width:{_width(sheet, column)}px">' for column in _columns(sheet, box))
    skipped = filtered_rows(book, sheet)
    rows = [
        row
        for row in range(box.bottom)
        if row not in skipped and not _is_hidden(sheet.grid.row_properties, row)
    ]
    body = "".join(_row(book, sheet, row, box) for row in rows)
    charts = "".join(f"<p>📊 {escape(_chart(chart))}</p>" for chart in sheet.lists["charts"])
    name = escape(sheet.title) + (" (hidden)" if hidden else "") + (" ⏷" if sheet.basic_filter else "")
    table = f'<table><colgroup><col style="width:36px">{widths}</colgroup>'
    table += f"<thead><tr><th></th>{letters}</tr></thead>{body}</table>"
    shade = ' class="hidden"' if hidden else ""
    inner = f'<h2>{name}</h2><div class="frame">{table}</div>{charts}'
    return f'<section id="gid={sheet.id}"{shade}>{inner}</section>'


def _chart(chart: Json) -> str:
    kind = next((name for name in chart["spec"] if name.endswith("Chart")), "chart")
    return f"{chart['spec'].get('title', '')} ({kind})"


def _is_hidden(properties: dict[int, Json], index: int) -> bool:
    return bool(properties.get(index, {}).get("hiddenByUser"))


def _columns(sheet: Sheet, box: Box) -> list[int]:
    return [column for column in range(box.right) if not _is_hidden(sheet.grid.column_properties, column)]


def _width(sheet: Sheet, column: int) -> int:
    return int(sheet.grid.column_properties.get(column, {}).get("pixelSize", 100))


def _row(book: Spreadsheet, sheet: Sheet, row: int, box: Box) -> str:
    given = sheet.properties.get("gridProperties", {})
    cells = "".join(_cell(book, sheet, row, column) for column in _columns(sheet, box))
    height = sheet.grid.row_properties.get(row, {}).get("pixelSize", 21)
    frozen = row < int(given.get("frozenRowCount", 0))
    style = f"height:{height}px" + (f";top:{row * 26}px" if frozen else "")
    kind = ' class="frozen"' if frozen else ""
    return f'<tr{kind} style="{style}"><th>{row + 1}</th>{cells}</tr>'


def _cell(book: Spreadsheet, sheet: Sheet, row: int, column: int) -> str:
    cell = sheet.grid.get(row, column)
    shown = cell_data(cell)
    text = escape(shown.get("formattedValue", ""))
    if (link := shown.get("hyperlink", "")) and link.startswith(("http://", "https://", "#")):
        text = f'<a href="{escape(link)}">{text}</a>'
    note = f' title="{escape(cell["note"])}"' if cell.get("note") else ""
    kinds = " ".join(_classes(sheet, cell, shown, Area(row, row + 1, column, column + 1)))
    return f'<td class="{kinds}" style="{_style(sheet, cell, row, column)}"{note}>{text}</td>'


def _classes(sheet: Sheet, cell: Cell, shown: Json, area: Area) -> list[str]:
    wraps = cell.get("userEnteredFormat", {}).get("wrapStrategy") == "WRAP"
    here = Box(area.top, area.top + 1, area.left, area.left + 1)
    locked = any(overlaps(grid_area(told["range"]), here) for told in sheet.lists["protectedRanges"])
    pinned = area.left < int(sheet.properties.get("gridProperties", {}).get("frozenColumnCount", 0))
    told = {
        "wrap": wraps,
        "clip": not wraps,
        "note": "note" in cell,
        "drop": "dataValidation" in cell,
        "protected": locked,
        "pinned": pinned,
        "number": "numberValue" in shown.get("effectiveValue", {}),
    }
    return [name for name, holds in told.items() if holds]


def _style(sheet: Sheet, cell: Cell, row: int, column: int) -> str:
    look = cell.get("userEnteredFormat", {})
    text = look.get("textFormat", {})
    told = {
        "background-color": _color(look.get("backgroundColor")),
        "color": _color(text.get("foregroundColor")),
        "font-weight": "bold" if text.get("bold") else "",
        "font-style": "italic" if text.get("italic") else "",
        "font-size": f"{int(text['fontSize'])}pt" if text.get("fontSize") else "",
        "text-align": str(look.get("horizontalAlignment", "")).lower(),
        "vertical-align": str(look.get("verticalAlignment", "")).lower(),
        "left": f"{36 + sum(_width(sheet, c) for c in range(column))}px",
        "top": f"{row * 26}px",
    }
    return ";".join(f"{name}:{value}" for name, value in told.items() if value)


def _color(told: Json | None) -> str:
    if told is None:
        return ""
    parts = [round(255 * min(max(float(told.get(name, 0)), 0), 1)) for name in ("red", "green", "blue")]
    return "#" + "".join(f"{part:02x}" for part in parts)
