"""A training step with a path clamped against a free one, in turn.

    python benchmarks/clamped_step.py --depths 2 3 --rounds 20 --repeats 20

It is processor time that is counted. Quoted are medians, and the median, the lower and the upper
quartile of the ratios round by round.
"""

import statistics
from dataclasses import replace

from counting import steps_of
from frame import in_turn, options, write
from headway.training import fast

CLAMPED = "L0.H0 s2←s1"


def main() -> None:
    given = options(__doc__, depths=(2, 3), rounds=20, repeats=20)
    found = []
    for depth in given.depths:
        free = fast(depth)
        clamped = replace(free, training=replace(free.training, clamped=(CLAMPED,)))
        steps = {"free": steps_of(free), "clamped": steps_of(clamped)}
        took = in_turn(steps, given.rounds, given.repeats)
        ratios = [b / a for a, b in zip(took["free"], took["clamped"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        told = {name: statistics.median(times) for name, times in took.items()}
        each = ", ".join(f"{name} {1e3 * one:.1f} ms" for name, one in told.items())
        print(f"D={depth}: a step {each}; ratio {middle:.3f} (quartiles {low:.3f} to {high:.3f})")
        found.append({"depth": depth, **told, "ratio": middle, "quartiles": [low, high]})
    write(given, found)


if __name__ == "__main__":
    main()
