"""The files of what experiments measured, one per experiment and scale."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headway.fields import found_in
from headway.training import describe_environment
from headway.training.files import clear_io_errors, is_there, read_json, write_json
from headway_experiments.claims import Measures


@dataclass(frozen=True)
class Result:
    """The content of a result file about one experiment.

    Attributes:
        format: of the file.
        missing: why some of it could not be measured.
        measures: the numbers.
    """

    format: Literal[1]
    missing: str
    measures: Measures


def read(experiment: str, scale: str, results: Path) -> Result | None:
    """The result of an experiment at a scale, or None if there is none.

    Raises:
        HeadwayError: if the file is corrupted, or of another format.
    """
    path = results / scale / f"{experiment}.json"
    if not is_there(path):
        return None
    return found_in(Result, read_json(path), str(path))


def write(
    experiment: str, scale: str, measures: Measures, missing: str, results: Path
) -> None:
    """Writes an experiment's measures into `results/<scale>/<name>.json`.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    path = results / scale / f"{experiment}.json"
    require_writable(path.parent)
    environment = describe_environment("cpu", 1)
    del environment["command"]  # it may name folders of this machine
    about = {
        "format": 1,
        "figure": experiment,
        "scale": scale,
        "environment": environment,
    }
    write_json(path, {**about, "missing": missing, "measures": measures})


def require_writable(folder: Path) -> None:
    """Makes a folder, if it is not there yet.

    Raises:
        HeadwayError: if the disk does not take it.
    """
    with clear_io_errors(folder, "make"):
        folder.mkdir(parents=True, exist_ok=True)


def shipped_results() -> Path:
    """The folder of the results that come with headway."""
    inside = Path(__file__).parent / "results"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "results"
