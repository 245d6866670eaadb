"""How many questions a second are written, text and all: `python benchmarks/prompts.py`."""

import argparse
import statistics
import time

from headway.language import FORMULATIONS, questions


def main() -> None:
    parser = argparse.ArgumentParser(description="Questions a second.")
    parser.add_argument("--count", type=int, default=4_000, help="questions a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"| formulation | questions/s, median of {options.rounds} |")
    print("|---|---|")
    speeds = []
    for name in FORMULATIONS:
        rates = []
        for seed in range(options.rounds):
            start = time.perf_counter()
            for question in questions(name, count=options.count, seed=seed):
                _ = question.prompt
            rates.append(options.count / (time.perf_counter() - start))
        speeds.append(statistics.median(rates))
        print(f"| {name} | {speeds[-1]:,.0f} |")
    print(f"| all, in equal parts | {len(speeds) / sum(1 / speed for speed in speeds):,.0f} |")


if __name__ == "__main__":
    main()
