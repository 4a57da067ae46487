"""An offline rehearsal of 40 questions x 3 personas, from the shell prompt to the written report."""

import json

from benchmarks.measured import ROOT, measure


def main() -> None:
    """One run: 120 conversations of up to three turns, all judges, report included."""
    personas = "angry,calm,beginner"
    arguments = [str(ROOT / "run.py"), "--offline", "--persona", personas, "--limit", "40", "--json"]
    bare = measure(["-c", "pass"])
    done = measure(arguments)
    result = json.loads(done.stdout)
    turns = result["turns"]
    print(
        f"offline, 40 x 3     {done.wall:.1f} s   {done.cpu:.1f} s CPU, {done.memory:.0f} MB,"
        f" {result['conversations']['finished']} conversations, {turns} turns,"
        f" {1000 * (done.cpu - bare.cpu) / turns:.1f} ms CPU a turn"
    )


if __name__ == "__main__":
    main()
