"""Seeds: all that is random in a run is a function of words, such as its seed, `step` and 17."""

import hashlib

import torch


def seed_of(*purpose: object) -> int:
    """A seed that depends on every word of `purpose` and nothing else.

    It has 32 bits, as a generator on the CPU ignores any further ones.
    """
    words = "/".join(map(str, purpose)).encode()
    return int.from_bytes(hashlib.blake2b(words, digest_size=4).digest(), "big")


def generator_for(device: str, *purpose: object) -> torch.Generator:
    """A generator on `device` whose stream depends on every word of `purpose` and nothing else."""
    return torch.Generator(device).manual_seed(seed_of(*purpose))
