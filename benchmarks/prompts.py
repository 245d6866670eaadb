"""Questions a second that are written, text and all: `python benchmarks/prompts.py`."""

import statistics

from frame import options, seconds
from headway.language import FORMULATIONS, questions


def main() -> None:
    given = options(__doc__, count=4_000, rounds=5)
    print(f"| formulation | questions/s, median of {given.rounds} |\n|---|---|")
    speeds = []
    for name in FORMULATIONS:

        def written(seed: int, name: str = name) -> list[str]:
            return [one.prompt for one in questions(name, count=given.count, seed=seed)]

        took = [seconds(lambda seed=seed: written(seed)) for seed in range(given.rounds)]
        speeds.append(given.count / statistics.median(took))
        print(f"| {name} | {speeds[-1]:,.0f} |")
    print(f"| all, in equal parts | {statistics.harmonic_mean(speeds):,.0f} |")


if __name__ == "__main__":
    main()
