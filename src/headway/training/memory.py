"""How much memory runs will need, and how much there is."""

import functools
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.tasks import Task
from headway.tasks.checking import require_sound
from headway.training.config import Elsewhere, RunConfig
from headway.training.files import clear_io_errors
from headway.training.losses import CHUNK

PROCESS = 384 * 2**20
"""Bytes of a process that has loaded PyTorch and is idle, with what its allocator keeps."""
FLOAT = 4


LIMITS = "HEADWAY_LIMITS"
"""The environment variable that says `off` where limits are to be passed over."""


def require_memory(config: RunConfig, folder: Path | None = None) -> None:
    """Refuses a run that the machine cannot hold, before anything is allocated for it.

    Args:
        config: of the run.
        folder: where its checkpoints will be written, if anywhere.

    Raises:
        HeadwayError: if it takes more memory, or more of the disk, than is free.
    """
    model, training = config.model, config.training
    if not isinstance(model, TransformerConfig) or isinstance(training, Elsewhere):
        return
    weights = FLOAT * n_weights(model, config.task)
    require_bytes(4 * weights, "the model (model.*, task.*)", config.device)
    a_step = _of_one(replace(config, training=replace(training, train_examples=None)))
    require_bytes(a_step, "a step (model.*, task.*, training.batch_size)", config.device)
    require_bytes(
        estimate([config]), "the run with its data (training.train_examples)", config.device
    )
    if folder is not None:
        kept = 2 + training.steps.bit_length()
        if training.checkpoints == "linear":
            kept = 2 + training.steps // (training.checkpoint_every or training.steps)
        with clear_io_errors(folder, "look at"):
            place = next(one for one in [folder, *folder.absolute().parents] if one.exists())
            free = shutil.disk_usage(place).free
        _require(kept * weights, free, f"its {kept} checkpoints", f"on the disk of {place}")


def require_bytes(needed: int, what: str, device: str = "cpu") -> None:
    """Refuses what takes more memory than is free.

    Args:
        needed: bytes.
        what: what takes them, with the fields that decide how many.
        device: whose memory it is.

    Raises:
        HeadwayError: if there is not as much; the line says how to go on all the same.
    """
    if needed > SMALL:
        _require(needed, available(device), what, f"on {device}")


SMALL = 2**20
"""Bytes up to which it is not checked how many are free."""


def _require(needed: int, free: int | None, what: str, where: str) -> None:
    if free is None or needed <= free or os.environ.get(LIMITS) == "off":
        return
    raise HeadwayError(
        f"{what} would take about {_in_words(needed)} {where}, of which {_in_words(free)} are"
        f" free: make it smaller, or insist by setting {LIMITS}=off"
    )


def _in_words(count: int) -> str:
    for unit, size in (("KiB", 10), ("MiB", 20)):
        if count < 10_000 << size:
            return f"{count >> size:,} {unit}"
    return f"{count >> 30:,} GiB"


def estimate(configs: Sequence[RunConfig]) -> int:
    """An upper estimate of the bytes that runs take when one process trains them at once.

    Those of the process itself, and of every run, in single precision:

    - Every weight 14 times: itself, its gradient, its optimiser's two means, what Muon computes an
      update from, and twice the state (three tensors a weight) while it is written.
    - What a batch leaves behind in every layer for the backward pass: 8 widths of the model, 2 of
      the MLP and 3 attention patterns a position; and once more for the layer that is computed on.
      Or, if that is more, one layer of the evaluation.
    - The training set if it is fixed: what one sequence draws, three times while it is drawn.
    - The held-out sequences with their targets, twice.
    """
    return PROCESS + sum(map(_of_one, configs))


@functools.cache
def _of_one(config: RunConfig) -> int:
    """The bytes that one of the runs takes, without those of the process."""
    task, training, model = config.task, config.training, config.transformer
    sequence = task.length * task.d_input + task.n_read * task.d_target
    sequence += 2 * len(task.roles) * task.n_chains
    width = 8 * model.d_model + 4 * model.n_heads * model.head_width + 2 * model.mlp_width
    layer = task.length * (width + 3 * model.n_heads * task.length)
    learning = training.batch_size * (layer * (model.n_layers + 1) + 2 * sequence)
    judging = min(training.eval_examples, CHUNK) * 2 * layer
    floats = 14 * n_weights(model, task)
    floats += max(learning, judging) + 2 * training.eval_examples * sequence
    fixed = 0
    if training.train_examples is not None:
        one = task.draw(1, torch.Generator().manual_seed(0))
        fixed = 3 * training.train_examples * sum(tensor.nbytes for tensor in one)
    return FLOAT * floats + fixed


def n_weights(model: TransformerConfig, task: Task) -> int:
    """How many weights a transformer has, without building it.

    Raises:
        HeadwayError: if the task is a user's and cannot be used.
    """
    require_sound(task)
    width, heads, inner = model.d_model, model.n_heads * model.head_width, model.mlp_width
    norm = 2 * width if model.norm == "pre" else 0
    block = norm + 3 * heads * (width + 1) + (heads + 1) * width
    if not model.attn_only:
        block += norm + (width + 1) * inner + (inner + 1) * width
    learned = task.length if model.positions == "learned" else 0
    read = task.d_input + 1 if task.vocabulary is None else task.vocabulary + learned
    ends = read * width + norm + (width + 1) * task.d_target
    return ends + model.n_layers * block


def available(device: str) -> int | None:
    """Bytes that can still be had on a device: main memory, or a GPU's own; None if unknown."""
    if device.startswith("cuda"):
        return torch.cuda.mem_get_info(device)[0] if torch.cuda.is_available() else None
    return _main_memory()


def resident(process: int) -> int:
    """Bytes of main memory that a process holds; 0 if that cannot be told."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _main_memory() -> int | None:
    """What the system can give, within the limit of this process's control group."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    known = {line.split(":")[0]: line.split()[1] for line in lines if ":" in line}
    if "MemAvailable" not in known:
        return None
    free = int(known["MemAvailable"]) * 1024
    group = Path("/sys/fs/cgroup")
    for folder, limit, used, spare in (
        (group, "memory.max", "memory.current", "inactive_file"),
        (
            group / "memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ):
        try:
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            held = int((folder / used).read_text()) - int(stat.get(spare, 0))
            left = int((folder / limit).read_text()) - held
        except (OSError, ValueError):  # no such limit
            continue
        free = min(free, max(0, left))
    return free
