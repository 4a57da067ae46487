"""How long until `run.py --help` has answered, beside an empty interpreter in the same run."""

from benchmarks.measured import ROOT, measure, middle

RUNS = 9


def main() -> None:
    """Medians of alternating runs."""
    empty_times, help_times = [], []
    for _ in range(RUNS):
        empty_times.append(measure(["-c", "pass"]).wall)
        help_times.append(measure([str(ROOT / "run.py"), "--help"]).wall)
    bare, help_seconds = middle(empty_times), middle(help_times)
    factor = help_seconds / bare
    print(f"run.py --help       {help_seconds:.2f} s   {factor:.1f} x an empty interpreter ({bare:.3f} s)")


if __name__ == "__main__":
    main()
