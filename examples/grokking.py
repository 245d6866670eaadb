"""Grokking: (a + b) mod p from half of the pairs, known by heart first and understood
later.

headway train grokking.py seed=1    # the recipe below, and any field of a run
python grokking.py                  # three seeds, some minutes; both steps, and pages
"""

from dataclasses import dataclass

import torch

from headway import (
    Batch,
    RunConfig,
    Task,
    TrainingConfig,
    TransformerConfig,
    train,
    write_report,
)


@dataclass(frozen=True)
class ModularAddition(Task):
    """Reads `a b =`: the answer is (a + b) mod p."""

    p: int = 31

    @property
    def vocabulary(self):
        """The numbers below p, and the sign `=`."""
        return self.p + 1

    @property
    def tokens_are(self):
        """What a program may do with them: add them, too."""
        return "numbers"

    def draw(self, count, generator):
        """Draw a and b."""
        return (
            torch.randint(
                self.p, (count, 2), generator=generator, device=generator.device
            ),
        )

    def assemble(self, draws):
        """Sequences `a b =`, and what is asked at their end."""
        (pairs,) = draws
        sign = torch.full_like(pairs[:, :1], self.p)
        return Batch(
            torch.cat([pairs, sign], 1), (pairs.sum(1) % self.p)[:, None, None]
        )


def recipe(seed: int = 0, train_examples: int = 480, steps: int = 3_000) -> RunConfig:
    """One layer with an MLP, trained on some of the p² pairs, with strong decay."""
    model = TransformerConfig(
        n_layers=1, n_heads=4, d_mlp=256, act_fn="relu", init="fan_in"
    )
    data = {"train_examples": train_examples, "batch_size": 240, "eval_every": 25}
    rates = {"betas": (0.9, 0.98), "weight_decay": 6.0, "warmup_steps": 10}
    return RunConfig(
        ModularAddition(), model, TrainingConfig(steps, **data, **rates), seed
    )


if __name__ == "__main__":
    for seed in range(3):
        run = train(recipe(seed), f"runs/grokking-{seed}")
        for name in ("training_set", "held_out"):
            scores = [(line["step"], line.get(name, line)) for line in run.metrics()]
            known = [at for at, score in scores if score["accuracy"]["answer"] > 0.95]
            print(f"seed {seed}, {name}: right from step {min(known, default='-')}")
        print(run)
        write_report(run)
