"""The package: what is in it, and that it works where nothing else of headway is."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Wheel and source distribution, made of what is committed or could be."""
    folder = tmp_path_factory.mktemp("dist")
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        folder,
        ROOT,
    ]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    (source,) = folder.glob("*.tar.gz")
    return wheel, source


def test_the_wheel_holds_all_that_runs_and_nothing_else(dist):
    wheel, source = dist
    src = ROOT / "src"
    kept = {
        path.relative_to(src).as_posix()
        for path in src.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    results = "headway_experiments/results/small"
    kept |= {f"{results}/{path.name}" for path in (ROOT / "results/small").iterdir()}
    with zipfile.ZipFile(wheel) as opened:
        names = {name for name in opened.namelist() if ".dist-info/" not in name}
    assert names == kept
    assert "headway/py.typed" in names
    with tarfile.open(source) as archive:
        top = {Path(name).parts[1] for name in archive.getnames()}
    assert top >= {
        "src",
        "results",
        "README.md",
        "LICENSE",
        "CITATION.cff",
        "pyproject.toml",
    }
    assert not top & {"tests", "docs", "benchmarks"}


@pytest.mark.slow
def test_an_installed_wheel_works_from_another_folder(dist, tmp_path):
    wheel, _ = dist
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "bare"], check=True)
    programs = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin")
    pinned = ROOT / "constraints.txt"
    install = [programs / "pip", "install", "--quiet", "-c", pinned, wheel]
    subprocess.run(install, check=True)
    alone = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def headway(*words):
        done = subprocess.run(
            [programs / "headway", *words],
            cwd=elsewhere,
            env=alone,
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert "3 layers" in headway("theory", "--depth", "3")
    assert "does not hold" in headway("claims")
    told = headway("demo", "depth=1", "seed=1", "--folder", "runs/demo")
    assert "faithful, necessary, minimal" in told
    assert (elsewhere / "runs/demo/report.html").exists()
