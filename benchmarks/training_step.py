"""One training step, side by side: plain loops, TransformerLens, headway, and the
machine's peak.

    python benchmarks/training_step.py --shape paper --threads 2 --out
    results/training_step.json

The plain loop is what one would write in an afternoon, in the style of nanoGPT: fused
query, key and value, `scaled_dot_product_attention`, one fused AdamW over all weights,
every layer at every position, on a batch that is there already. TransformerLens trains
the same model through its own components (left out where it is not installed). headway
draws a fresh batch every time. All are timed in turn, round by round, on the same
machine; quoted are medians, and medians of the ratios round by round.

Rates count the same work for all: the floating-point operations of the plain loop's
matrix products in one step, forward and backward, as PyTorch counts them. What headway
leaves out (the last layer away from the read-out positions) is still counted, so its
rate is that of a plain loop which would be as quick. The peak is that of products of
the MLP's shape.
"""

import importlib.util
import statistics
import time
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from frame import Work as Step
from frame import in_turn, options, ratio, write
from headway.models import Transformer, TransformerConfig
from headway.tasks import Batch, Task
from headway.training import Ask, Run, RunConfig, Stream, fast
from headway.training.data import batch_of
from headway.training.loop import Trainer
from headway.training.state import State
from headway_experiments.recipes import paper


def counted(work: Step) -> int:
    """Operations of the matrix products in a call, attention's among them."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def trainer_of(config: RunConfig) -> Trainer:
    """A run before its first step, in no folder."""
    return Trainer(Run(Path(), config), State.at_start(config.training))


def steps_of(config: RunConfig, recorded: bool = True) -> Step:
    """The steps of a run as its loop makes them, one a call, each with its batch; on a
    GPU perhaps with every kernel launched on its own."""
    trainer = trainer_of(config)
    if not recorded:
        trainer.passes = trainer.computed

    def step() -> None:
        trainer.step(*trainer.batches.asked(trainer.state.step + 1))

    return step


def run_operations(config: RunConfig, attempts: list[int]) -> int:
    """Operations of all steps of a run, whose attempts made so many steps each."""
    training = replace(config.training, train_examples=None)
    config = replace(config, training=training, device="cpu")
    trainer, depths = trainer_of(config), Counter[int | None]()
    for attempt, steps in enumerate(attempts):
        stream = Stream(config, attempt)
        asked = (
            stream.curriculum.ask(n + 1, 0, stream.task, stream.seed)
            for n in range(steps)
        )
        depths.update(ask.depth for ask in asked)

    def once(ask: Ask) -> int:
        batch = batch_of(trainer.batches.task, trainer.batches.draws(1), ask)
        return counted(lambda: trainer.step(ask, batch))

    return sum(steps * once(Ask(depth)) for depth, steps in depths.items())


class PlainBlock(nn.Module):
    """A block in the style of nanoGPT."""

    def __init__(self, shape: TransformerConfig):
        super().__init__()
        d_model, d_mlp = shape.d_model, shape.mlp_width
        self.n_heads, self.act = shape.n_heads, getattr(F, shape.act_fn)
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.qkv, self.out = (
            nn.Linear(d_model, 3 * d_model),
            nn.Linear(d_model, d_model),
        )
        self.up, self.down = nn.Linear(d_model, d_mlp), nn.Linear(d_mlp, d_model)

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

    def __init__(self, shape: TransformerConfig, d_input: int, d_target: int):
        super().__init__()
        width = shape.d_model
        self.embed = nn.Linear(d_input, width)
        self.blocks = nn.ModuleList(PlainBlock(shape) for _ in range(shape.n_layers))
        self.ln_final = nn.LayerNorm(width)
        self.unembed = nn.Linear(width, d_target)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.unembed(self.ln_final(x))


class Contenders:
    """Everything that is timed, for one run's config on one device."""

    def __init__(self, config: RunConfig):
        self.config, self.device = config, config.device
        self.task: Task = config.task
        self.batch: Batch = Stream(config).asked(1)[1]
        task = self.task
        self.shape = (
            config.transformer,
            task.d_input,
            task.d_target,
            task.length,
            task.n_read,
        )

    def plain(self, precision: str, muon: bool = False) -> Step:
        """The plain loop, with one AdamW or with PyTorch's Muon on the blocks'
        matrices.
        """
        model = Plain(
            self.config.transformer, self.task.d_input, self.task.d_target
        ).to(self.device)
        inner = [w for w in model.blocks.parameters() if w.ndim == 2] if muon else []
        taken = {id(w) for w in inner}
        rest = [w for w in model.parameters() if id(w) not in taken]
        optimisers: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(rest, lr=1e-3, fused=True)
        ]
        if muon:
            optimisers.append(torch.optim.Muon(inner, lr=0.02))
        return self._step(model, optimisers, precision)

    def lens(self) -> Step:
        """This model made of TransformerLens' components."""
        from headway.models.export import to_transformer_lens

        model = to_transformer_lens(Transformer(*self.shape)).to(self.device).train()
        weights = [w for w in model.parameters() if w.requires_grad]
        return self._step(
            model, [torch.optim.AdamW(weights, lr=1e-3, fused=True)], "float32"
        )

    def _step(
        self, model: nn.Module, optimisers: list[torch.optim.Optimizer], precision: str
    ) -> Step:
        n_read, inputs = self.task.n_read, self.batch.inputs
        targets, half = self.batch.targets.flatten(2), precision == "bfloat16"

        def step() -> None:
            with torch.autocast(inputs.device.type, torch.bfloat16, enabled=half):
                predicted = model(inputs)[:, -n_read:]
            loss = F.mse_loss(predicted.float(), targets)
            for optimiser in optimisers:
                optimiser.zero_grad()
            loss.backward()
            for optimiser in optimisers:
                optimiser.step()

        return step

    def headway(self, precision: str, optimizer: str, recorded: bool = True) -> Step:
        """A step as `train` makes it, with a fresh batch every time."""
        changed = {"precision": precision, "optimizer": optimizer}
        training = replace(self.config.training, **changed)
        return steps_of(replace(self.config, training=training), recorded)

    def data(self) -> Step:
        """Making one batch."""
        stream, steps = Stream(self.config), count(1)
        return lambda: stream.asked(next(steps))[1]

    def product(self, precision: str) -> tuple[Step, int]:
        """A matrix product of the MLP's shape, and its floating-point operations."""
        dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        shape = self.config.transformer
        rows, inner, columns = (
            self.batch.inputs[..., 0].numel(),
            shape.d_model,
            shape.mlp_width,
        )
        a = torch.randn(rows, inner, device=self.device, dtype=dtype)
        b = torch.randn(inner, columns, device=self.device, dtype=dtype)
        out = torch.empty(rows, columns, device=self.device, dtype=dtype)
        return (lambda: torch.mm(a, b, out=out)), 2 * rows * inner * columns

    def all(self) -> dict[str, Step]:
        """The training steps by name, the plain loop first."""
        steps = {"plain loop": self.plain("float32")}
        if importlib.util.find_spec("transformer_lens"):
            steps["TransformerLens"] = self.lens()
        steps["headway"] = self.headway("float32", "adam")
        steps["plain loop, bfloat16"] = self.plain("bfloat16")
        steps["headway, bfloat16"] = self.headway("bfloat16", "adam")
        steps["plain loop, torch's Muon"] = self.plain("float32", muon=True)
        steps["headway, Muon"] = self.headway("float32", "muon")
        steps["headway, Muon, bfloat16"] = self.headway("bfloat16", "muon")
        if self.device.startswith("cuda"):
            one_by_one = self.headway("bfloat16", "muon", recorded=False)
            steps["headway, Muon, bfloat16, not recorded"] = one_by_one
        return steps


def compare(contenders: Contenders, rounds: int, repeats: int) -> dict[str, Any]:
    """Times everything in turn and prints it."""
    steps = contenders.all()
    products = {
        precision: contenders.product(precision)
        for precision in ("float32", "bfloat16")
    }
    works = {**steps, **{name: work for name, (work, _) in products.items()}}
    works["data"] = contenders.data()
    times = in_turn(works, rounds, repeats, time.perf_counter)
    middle = {name: statistics.median(each) for name, each in times.items()}
    peak = {
        name: operations / middle[name] / 1e9
        for name, (_, operations) in products.items()
    }
    flop, share = counted(steps["plain loop"]), middle["data"] / middle["headway"]
    others = [name for name in ("plain loop", "TransformerLens") if name in steps]
    print(f"{flop / 1e9:.2f} GFLOP a step; GFLOP/s of a product:", peak)
    print(
        f"| step | ms | GFLOP/s | of peak | times the rate of a {' | '.join(others)} |"
    )
    print("|---" * (4 + len(others)) + "|")
    results = {}
    for name in steps:
        rate = flop / middle[name] / 1e9
        of_peak = rate / peak["bfloat16" if "bfloat16" in name else "float32"]
        over = {other: ratio(times[other], times[name]) for other in others}
        ratios = " | ".join(f"{each:.2f}" for each in over.values())
        print(
            f"| {name} | {1000 * middle[name]:.1f} | {rate:.1f} | {of_peak:.0%} | "
            f"{ratios} |"
        )
        told = {"gflops": rate, "of_peak": of_peak, "rate_over": over}
        results[name] = {"seconds": times[name], **told}
    print(f"drawing the data takes {share:.1%} of headway's step")
    return {"flop": flop, "peak_gflops": peak, "data_share": share, "steps": results}


def main() -> None:
    given = options(
        __doc__, shape=("paper", "fast"), device="cpu", rounds=7, repeats=int
    )
    results = []
    for shape in given.shape:
        config = {"paper": paper, "fast": fast}[shape]()
        fresh = replace(config.training, train_examples=None)
        config = replace(config, training=fresh, device=given.device)
        size, threads = config.training.batch_size, given.threads
        print(f"{shape}, batch {size}, {threads} thread(s): {config.transformer}")
        repeats = given.repeats or (2 if shape == "paper" else 8)
        results.append(
            {"shape": shape, **compare(Contenders(config), given.rounds, repeats)}
        )
    write(given, results)


if __name__ == "__main__":
    main()
