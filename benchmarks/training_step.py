"""One training step of the default model against a plain eager loop of the same shape.

    python benchmarks/training_step.py [--threads 1] [--rounds 15]

The plain loop is what one would write in an afternoon, in the style of nanoGPT: fused query, key
and value, `scaled_dot_product_attention`, GELU, one fused AdamW over all weights, every layer at
every position, on a batch that is there already; then the same with the recipe's ReLU, and with its
ReLU and PyTorch's Muon. All are timed in turn, round by round, on the same
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

from headway.models import Transformer, TransformerConfig
from headway.tasks import make_task
from headway.training import RunConfig, Stream, fast
from headway.training.optimisers import make_optimisers


class PlainBlock(nn.Module):
    """A block in the style of nanoGPT."""

    def __init__(self, d_model: int, n_heads: int, act_fn: str):
        super().__init__()
        self.n_heads, self.act = n_heads, getattr(F, act_fn)
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
        return x + self.down(self.act(self.up(self.ln2(x))))


class Plain(nn.Module):
    """A transformer in the style of nanoGPT that reads and writes vectors."""

    def __init__(self, shape: TransformerConfig, act_fn: str, d_input: int, d_target: int):
        super().__init__()
        width, heads = shape.d_model, shape.n_heads
        self.embed = nn.Linear(d_input, width)
        self.blocks = nn.ModuleList(PlainBlock(width, heads, act_fn) for _ in range(shape.n_layers))
        self.ln_final = nn.LayerNorm(width)
        self.unembed = nn.Linear(width, d_target)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.unembed(self.ln_final(x))


def plain_step(config: RunConfig, act_fn: str, muon: bool = False) -> Callable[[], None]:
    """A training step of the plain loop on one batch."""
    task = make_task(config.task)
    model = Plain(config.model, act_fn, task.d_input, task.d_target)
    inner = [w for w in model.blocks.parameters() if w.ndim == 2] if muon else []
    taken = {id(w) for w in inner}
    rest = [w for w in model.parameters() if id(w) not in taken]
    optimisers: list[torch.optim.Optimizer] = [torch.optim.AdamW(rest, lr=1e-3, fused=True)]
    if muon:
        optimisers.append(torch.optim.Muon(inner, lr=0.02))
    batch = Stream(task, config.training, 0, "cpu").batch(1)
    inputs, targets, n_read = batch.inputs, batch.targets.flatten(2), task.n_chains

    def step() -> None:
        loss = F.mse_loss(model(inputs)[:, -n_read:], targets)
        descend(loss, optimisers)

    return step


def descend(loss: Tensor, optimisers: list[torch.optim.Optimizer]) -> None:
    """The backward pass and the optimisers' steps."""
    for optimiser in optimisers:
        optimiser.zero_grad()
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()


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
        descend(loss, optimisers)

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
        "plain loop, GELU, AdamW": plain_step(config, "gelu"),
        "plain loop, ReLU, AdamW": plain_step(config, "relu"),
        "plain loop, ReLU, torch's Muon": plain_step(config, "relu", muon=True),
        "headway, ReLU, AdamW": headway_step(adam),
        "headway as the recipe says": headway_step(config),
        "making a batch": data_step(config),
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for step in contenders.values():
        milliseconds(step, 3)
    for _ in range(rounds):
        for name, step in contenders.items():
            times[name].append(milliseconds(step))
    plain, ours = times["plain loop, GELU, AdamW"], times["headway as the recipe says"]
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
