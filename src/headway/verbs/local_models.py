"""What the verbs that ask a language model of this machine have in common."""

from pathlib import Path

from headway.errors import require


def compute_on(device: str, threads: int | None) -> None:
    """Makes sure that there is a device, and lets so many threads compute on a CPU.

    Raises:
        HeadwayError: if there is no such device, or the number is not allowed.
    """
    import torch

    from headway.training.run import require_device

    require_device(device)
    if threads is not None:
        require(threads >= 1, "threads", threads, "a whole number of at least 1")
        torch.set_num_threads(threads)


def place_of(verb: str, model: str, folder: Path | None) -> Path:
    """The folder that is asked for; by default one in `runs/`, named after verb and model."""
    from headway.language.weights import short_name

    return folder or Path("runs") / f"{verb}-{short_name(model)}"
