"""Tokenizers and models of Hugging Face Transformers, as data: no program of a folder runs."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from headway.errors import HeadwayError, require
from headway.training.files import first_line
from headway.training.run import require_device


def compute_on(device: str, threads: int | None) -> None:
    """Makes sure that there is a device, and lets so many threads compute on a CPU.

    Raises:
        HeadwayError: if there is no such device, or the number is not allowed.
    """
    require_device(device)
    if threads is not None:
        require(threads >= 1, "threads", threads, "a whole number of at least 1")
        torch.set_num_threads(threads)


def loaded(path: Path, say: Callable[[str], None]) -> tuple[Any, Any]:
    """Tokenizer and model.

    Raises:
        HeadwayError: if Transformers is not installed, the files are damaged, or the model needs an
            encoder.
    """
    try:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise HeadwayError(f"{error.name} is not installed: pip install 'headway[llm]'") from None
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    say(f"loading {path.name}")
    where: dict[str, Any] = {"pretrained_model_name_or_path": str(path), "local_files_only": True}
    weights: dict[str, Any] = {"use_safetensors": True}  # not pickles, which can hold a program
    if path.is_file():
        where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        weights = {}
    where["trust_remote_code"] = False  # nor Python files that a folder may hold
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # progress bars that cannot be turned off
            both = path.is_dir() and AutoConfig.from_pretrained(**where).is_encoder_decoder
            require(
                not both, "model", path.name, "one that goes on with a text: this has an encoder"
            )
            tokenizer = AutoTokenizer.from_pretrained(**where)
            model = AutoModelForCausalLM.from_pretrained(
                **where, **weights, dtype=torch.float32, attn_implementation="eager"
            )
    except HeadwayError:
        raise
    except Exception as error:  # what damaged files raise is not documented
        raise HeadwayError(f"{path} cannot be loaded: {first_line(error)}") from error
    return tokenizer, model
