"""How many questions a second are written, text and all: `python benchmarks/prompts.py`."""

import statistics
import time

from headway.language import FORMULATIONS, questions

COUNT, ROUNDS = 4_000, 5


def main() -> None:
    print("| formulation | questions/s, median of 5 |")
    print("|---|---|")
    speeds = []
    for name in FORMULATIONS:
        rates = []
        for seed in range(ROUNDS):
            start = time.perf_counter()
            for question in questions(name, count=COUNT, seed=seed):
                _ = question.prompt
            rates.append(COUNT / (time.perf_counter() - start))
        speeds.append(statistics.median(rates))
        print(f"| {name} | {speeds[-1]:,.0f} |")
    print(f"| all, in equal parts | {len(speeds) / sum(1 / speed for speed in speeds):,.0f} |")


if __name__ == "__main__":
    main()
