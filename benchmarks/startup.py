"""How long until `run.py --help` has answered, beside an empty interpreter in the same run."""

from benchmarks.measured import ROOT, measure, middle

RUNS = 9


def main() -> None:
    """Medians of alternating runs."""
    empty, shown = [], []
    for _ in range(RUNS):
        empty.append(measure(["-c", "pass"]).wall)
        shown.append(measure([str(ROOT / "run.py"), "--help"]).wall)
    bare, door = middle(empty), middle(shown)
    print(f"run.py --help       {door:.2f} s   {door / bare:.1f} x an empty interpreter ({bare:.3f} s)")


if __name__ == "__main__":
    main()
