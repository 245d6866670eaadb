"""One training step of the default model against a plain eager loop of the same shape.

    python benchmarks/training_step.py [--threads 1] [--rounds 15]

The plain loop is what one would write in an afternoon, in the style of nanoGPT: fused query, key
and value, `scaled_dot_product_attention`, GELU, one AdamW over all weights, every layer at every
position, on a batch that is there already. Both are timed in turn, round by round, on the same
machine; quoted are medians and the median of the ratios round by round.
"""

import argparse
import dataclasses
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.models import Transformer
from headway.tasks import make_task
from headway.training import RunConfig, Stream, fast
from headway.training.optimisers import make_optimisers


class PlainBlock(nn.Module):
    """A block in the style of nanoGPT."""

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.n_heads = n_heads
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.up, self.down = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(width, dim=2)
        q, k, v = (
            t.view(batch, length, self.n_heads, width // self.n_heads).transpose(1, 2)
            for t in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(batch, length, width))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Plain(nn.Module):
    """A transformer in the style of nanoGPT that reads and writes vectors."""

    def __init__(self, n_layers: int, d_model: int, n_heads: int, d_input: int, d_target: int):
        super().__init__()
        self.embed = nn.Linear(d_input, d_model)
        self.blocks = nn.ModuleList(PlainBlock(d_model, n_heads) for _ in range(n_layers))
        self.ln_final = nn.LayerNorm(d_model)
        self.unembed = nn.Linear(d_model, d_target)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.unembed(self.ln_final(x))


def plain_step(config: RunConfig) -> Callable[[], None]:
    """A training step of the plain loop on one batch."""
    task, model_config = make_task(config.task), config.model
    model = Plain(
        model_config.n_layers,
        model_config.d_model,
        model_config.n_heads,
        task.d_input,
        task.d_target,
    )
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    batch = Stream(task, config.training, 0, "cpu").batch(1)
    inputs, targets, n_read = batch.inputs, batch.targets.flatten(2), task.n_chains

    def step() -> None:
        loss = F.mse_loss(model(inputs)[:, -n_read:], targets)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def headway_step(config: RunConfig) -> Callable[[], None]:
    """A training step as `train` does it, with a fresh batch every time."""
    task = make_task(config.task)
    model = Transformer(config.model, task.d_input, task.d_target, task.length, task.n_chains)
    optimisers = make_optimisers(model, config.training)
    stream, done = Stream(task, config.training, 0, "cpu"), 0

    def step() -> None:
        nonlocal done
        done += 1
        batch = stream.batch(done)
        loss = F.mse_loss(model(batch.inputs), batch.targets.flatten(2))
        for optimiser in optimisers:
            optimiser.zero_grad()
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()

    return step


def data_step(config: RunConfig) -> Callable[[], None]:
    """Making one batch."""
    stream, done = Stream(make_task(config.task), config.training, 0, "cpu"), 0

    def step() -> None:
        nonlocal done
        done += 1
        stream.batch(done)

    return step


def milliseconds(step: Callable[[], None], repeats: int = 8) -> float:
    started = time.perf_counter()
    for _ in range(repeats):
        step()
    return 1000 * (time.perf_counter() - started) / repeats


def compare(config: RunConfig, rounds: int) -> None:
    adam = dataclasses.replace(
        config, training=dataclasses.replace(config.training, optimizer="adam")
    )
    contenders = {
        "plain eager loop, AdamW": plain_step(config),
        "headway, Adam": headway_step(adam),
        "headway, as the recipe says": headway_step(config),
        "making a batch": data_step(config),
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for step in contenders.values():
        milliseconds(step, 3)
    for _ in range(rounds):
        for name, step in contenders.items():
            times[name].append(milliseconds(step))
    plain, ours = times["plain eager loop, AdamW"], times["headway, as the recipe says"]
    for name, series in times.items():
        ratio = statistics.median(p / t for p, t in zip(plain, series, strict=True))
        median = statistics.median(series)
        print(f"  {name:30s} {median:8.2f} ms   {ratio:6.2f} × the plain loop's rate")
    share = statistics.median(d / o for d, o in zip(times["making a batch"], ours, strict=True))
    print(f"  data are {100 * share:.1f}% of a step")


def main() -> None:
    parser = argparse.ArgumentParser(description="One training step, side by side.")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config = fast()
    model, training = config.model, config.training
    print(
        f"{model.n_layers} layers × {model.n_heads} head, width {model.d_model}, batch"
        f" {training.batch_size}, {options.threads} thread(s), median of {options.rounds} rounds"
    )
    compare(config, options.rounds)


if __name__ == "__main__":
    main()
