"""Checkpoints that others kept, dated: a module for every step, and nothing else."""

from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from headway import discover, emergence
from own_loop import Model, TwoBack

FOLDER = Path("checkpoints")


def published():
    """Stands for somebody's training: it leaves step_5.pt, step_10.pt, … in a
    folder.
    """
    torch.manual_seed(0)
    task, model, generator = TwoBack(), Model(), torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    FOLDER.mkdir()
    for step in range(1, 101):
        batch = task.sample(32, generator)
        logits = model(batch.inputs)[:, -task.n_read :]
        loss = cross_entropy(logits.flatten(0, 1), batch.targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            torch.save(model.state_dict(), FOLDER / f"step_{step}.pt")


def opened(file):
    """The module of a checkpoint."""
    model = Model()
    model.load_state_dict(torch.load(file, weights_only=True))
    return model.eval()


if __name__ == "__main__":
    if not FOLDER.exists():
        published()
    steps = {
        int(file.stem.removeprefix("step_")): file for file in FOLDER.glob("step_*.pt")
    }
    models = {step: opened(steps[step]) for step in sorted(steps)}
    found = discover(models[max(models)], TwoBack())
    print(found.circuit)
    for history in emergence(models, found, TwoBack()).paths:
        print(
            history.path,
            "emerged at step",
            history.emerged,
            "needed from",
            history.needed,
        )
