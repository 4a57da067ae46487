"""How large the page of many conversations is, and how soon a browser can be used with it."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measured import middle
from simulator.core.types import RedRules, Results, Score
from simulator.results.summary import summarise
from tests.report.views import render
from tests.sample_runs import JUDGES, decide, large

RUNS = 5
CONVERSATIONS = 1000
# Of a load: until the document is there, painted, and has answered the first key, in ms.
LOADED = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
# The frame after the next is painted with what the key has changed.
PRESS = """async () => {
  const began = performance.now();
  document.dispatchEvent(new KeyboardEvent('keydown', { key: 'n', bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - began;
}"""
SEARCH = """async () => {
  const field = document.getElementById('search'), began = performance.now();
  field.value = '解約金'; field.dispatchEvent(new Event('input', { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - began;
}"""


def main() -> None:
    """Size and time of painting; medians of fresh loads in a browser, where there is one."""
    results = with_claims(large(CONVERSATIONS))
    judges = (*JUDGES, "claims", "tone")
    summary = summarise(results, rules=RedRules(), judges=judges, seed=42)
    began = time.perf_counter()
    page = render(results, summary, decide(summary, 0.9), "ja")
    took = time.perf_counter() - began
    size = f"{len(page.encode()) / 1e6:.1f} MB"
    print(f"report.html         {size} for {CONVERSATIONS:,} conversations of 3 turns,")
    print(f"                    painted in {took:.1f} s")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("                    no Chromium here: its loading was not measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        file, bare = Path(folder, "report.html"), Path(folder, "bare.html")
        file.write_text(page, encoding="utf-8")
        # As many bytes that a browser has to read, and nothing to lay out, to style or to run.
        text = "あ" * (len(page.encode()) // len("あ".encode()))
        bare.write_text(f"<!doctype html><noscript>{text}</noscript>", encoding="utf-8")
        read, loaded, pressed, searched = (
            middle(list(each)) for each in zip(*_loads(browser, file, bare), strict=True)
        )
    print(
        f"                    in Chromium: ready after {loaded:.0f} ms, {loaded / read:.1f} times as long as"
    )
    print(f"                    as many bytes without content ({read:.0f} ms); next answer after")
    print(f"                    {pressed:.0f} ms, first search after {searched:.0f} ms")


def with_claims(results: Results) -> Results:
    """The run with the claims and feelings that it would have with all judges."""
    more = []
    for c in results.conversations:
        for turn in c.turns:
            told = {"claim": turn.answer.text[:12], "passage": "", "verdict": "not_found"}
            known: dict[str, Any] = {
                "conversation": c.id,
                "turn": turn.index,
                "state": "scored",
                "reason": "-",
            }
            more.append(
                Score(**known, judge="claims", value=0, raw=0, scale=(0, 1), detail={"claims": [told]})
            )
            more.append(Score(**known, judge="tone", value=0.25, raw=-1, scale=(-2, 2)))
    return results.model_copy(update={"scores": (*results.scores, *more)})


def _loads(executable: str, file: Path, bare: Path) -> list[tuple[float, float, float, float]]:
    """For each load in ms: the bare page, the page, its first key, its first search; one beside the other."""
    from playwright.sync_api import sync_playwright

    loads = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for _ in range(RUNS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(bare.as_uri(), wait_until="domcontentloaded")
            read = page.evaluate(LOADED)
            page.goto(file.as_uri(), wait_until="domcontentloaded")
            loads.append((read, page.evaluate(LOADED), page.evaluate(PRESS), page.evaluate(SEARCH)))
            page.close()
        browser.close()
    return loads


if __name__ == "__main__":
    main()
