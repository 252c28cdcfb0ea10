"""`python -m benchmarks load|turn|stream|search [--quick]`, from the root of the repository."""

import argparse

from benchmarks import load, search, stream, turn
from benchmarks.report import report


def main() -> None:
    """Run one benchmark; its table is printed, its figures are kept as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("benchmark", choices=("load", "turn", "stream", "search"))
    parser.add_argument("--quick", action="store_true", help="few runs: a look, not a measurement")
    options = parser.parse_args()
    quick = options.quick
    match options.benchmark:
        case "load":
            runs = 2 if quick else 7
            figures = load.run(runs=runs)
        case "turn":
            runs = 5 if quick else 25
            figures = turn.run(runs=runs)
        case "search":
            runs = 2 if quick else 7
            figures = search.run(runs=runs)
        case _:
            runs = 1 if quick else 3
            figures = stream.run(runs=runs, rate=25.0 if quick else 10.0)
    file = report(options.benchmark, figures, runs=runs)
    print(f"written: benchmarks/results/{file.name}")


if __name__ == "__main__":
    main()
