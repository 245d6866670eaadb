"""The origin of a run's numbers: seeds, versions, machine, command.

All that is random in a run is a function of words, such as its seed, `step` and 17.

Precision is that of a step's matrix products; weights are always float32.
"""

import functools
import hashlib
import os
import platform
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from headway.version import __version__


def seed_of(*purpose: object) -> int:
    """A seed that depends on every word of `purpose` and nothing else.

    It has 32 bits, as a generator on the CPU ignores any further ones.
    """
    words = "/".join(map(str, purpose))
    digest = hashlib.blake2b(words.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def generator_for(device: str, *purpose: object) -> torch.Generator:
    """A generator on `device`, seeded by every word of `purpose` alone."""
    return torch.Generator(device).manual_seed(seed_of(*purpose))


def describe_environment(device: str, threads: int) -> dict[str, Any]:
    """Versions, machine and command as JSON data, to get the same numbers.

    Args:
        device: that computes; for a GPU that is here, its name is noted.
        threads: threads that compute on a CPU.
    """
    if device.startswith("cuda") and torch.cuda.is_available():
        device = torch.cuda.get_device_name(device)
    processor = _cpuinfo("model name") or platform.processor() or platform.machine()
    command = [Path(sys.argv[0]).name, *sys.argv[1:]]
    started = datetime.now(UTC)
    return {
        "headway": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "processor": processor,
        "cores": os.cpu_count(),
        "threads": threads,
        "device": device,
        "command": command,
        "started": started.isoformat(timespec="seconds"),
    }


@functools.cache
def multiplies_bfloat16() -> bool:
    """Tell whether the processor multiplies bfloat16 quicker than float32.

    It does with AMX, with Arm's instructions, and with AVX512-BF16 unless Intel made
    it: there such products took 1.1 to 1.8 times as long (docs/training.md). Where the
    system does not list its processor's instructions, the answer is no.
    """
    has = set(_cpuinfo("flags", "Features").split())
    if _cpuinfo("vendor_id") == "GenuineIntel":
        return "amx_bf16" in has
    return bool({"avx512_bf16", "amx_bf16", "bf16"} & has)


def _cpuinfo(*fields: str) -> str:
    """The first of some fields on the first processor, on Linux; else empty."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(errors="replace") if cpuinfo.exists() else ""
    line = re.search(rf"^(?:{'|'.join(fields)})[ \t]*:(.*)$", text, re.MULTILINE)
    return line[1].strip() if line else ""


def resolved(precision: str, device: torch.device) -> str:
    """The precision `auto` on a device: bfloat16 if that is quicker there."""
    if precision != "auto":
        return precision
    on_gpu = device.type == "cuda" and torch.cuda.is_bf16_supported(
        including_emulation=False
    )
    on_cpu = device.type == "cpu" and multiplies_bfloat16()
    return "bfloat16" if on_gpu or on_cpu else "float32"
