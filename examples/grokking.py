"""Grokking: (a + b) mod p from half of the pairs, known by heart first and understood later.

headway train grokking.py seed=1    # the recipe below, and any field of a run
python grokking.py                  # three seeds, some minutes; the steps of both, and pages
"""

from dataclasses import dataclass

import torch

from headway import Batch, RunConfig, Task, TrainingConfig, TransformerConfig, train, write_report


@dataclass(frozen=True)
class ModularAddition(Task):
    """Reads `a b =`: the answer is (a + b) mod p."""

    p: int = 31

    @property
    def vocabulary(self):
        """The numbers below p, and the sign `=`."""
        return self.p + 1

    def draw(self, count, generator):
        """Draw a and b."""
        return (torch.randint(self.p, (count, 2), generator=generator, device=generator.device),)

    def assemble(self, draws):
        """Sequences `a b =`, and what is asked at their end."""
        (pairs,) = draws
        sign = torch.full_like(pairs[:, :1], self.p)
        return Batch(torch.cat([pairs, sign], 1), (pairs.sum(1) % self.p)[:, None, None])


def recipe(seed: int = 0, train_examples: int = 480, steps: int = 3_000) -> RunConfig:
    """One layer with an MLP, trained on some of the p² pairs, with strong decay."""
    model = TransformerConfig(n_layers=1, n_heads=4, d_mlp=256, act_fn="relu", init="fan_in")
    training = TrainingConfig(
        steps=steps,
        batch_size=240,
        train_examples=train_examples,
        betas=(0.9, 0.98),
        weight_decay=6.0,
        warmup_steps=10,
        eval_every=25,
    )
    return RunConfig(ModularAddition(), model, training, seed)


def crossed(run, share=0.95):
    """The first steps at which more are right of the training set, and of what is held out."""
    lines = run.metrics()
    by_heart = (one["step"] for one in lines if one["training_set"]["accuracy"]["answer"] > share)
    understood = (one["step"] for one in lines if one["accuracy"]["answer"] > share)
    return next(by_heart, None), next(understood, None)


if __name__ == "__main__":
    for seed in range(3):
        run = train(recipe(seed), f"runs/grokking-{seed}")
        by_heart, understood = crossed(run)
        print(f"seed {seed}: known by heart at step {by_heart}, understood at step {understood}")
        print(run)
        print(write_report(run))
