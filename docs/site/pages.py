"""Pages of the site that are made when it is built: the first, verbs, API and
notebooks.

mkdocs calls `on_files` before it reads the pages (`hooks` in mkdocs.yml).
"""

import base64
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from headway.report.page import html
from headway.report.schema import ADAPTER
from headway.verbs.listing import VERBS, added_verbs

ROOT = Path(__file__).parent.parent.parent
EXPERIMENTS = ("claims.Claim", "experiment.Experiment", "experiment.Group")
"""The names in `headway_experiments` that an experiment of one's own is made of."""

LIVE = "images/demo.html"
"""The page of the demo's run, which the first page shows in a frame."""

FILM = r"!\[[^\]]*\]\(images/circuit-emerges\.webp\)"
PICTURE = r"!\[([^\]]*)\]\(images/gallery/([\w-]+)\.webp\)"

ROOMS = {
    "headway.tasks": "Tasks",
    "headway.relations": "Relations",
    "headway.models": "Models",
    "headway.training": "Training",
    "headway.replace": "What stands in a head's place",
    "headway.judge": "The evidence for a circuit",
    "headway.find": "Ways to a circuit",
    "headway.dynamics": "When a circuit emerged",
    "headway.theory": "Theory",
    "headway.sweeps": "Sweeps",
    "headway.report": "Pages",
    "headway.recipes": "Recipes",
    "headway.report.figures.saving": "Figures",
    "headway.report.figures.circuits": "Figures of circuits",
    "headway.report.figures.drawing": "Figures, one by one",
    "headway.report.figures.style": "The look of figures",
    "headway.training.files": "Files",
    "headway_experiments.language": "Language models",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made."""
    for name, text in (made(ROOT) | live(ROOT)).items():
        if (known := files.get_file_from_path(name)) is not None:
            files.remove(known)
        files.append(File.generated(config, name, content=text))
    for notebook in list(files):
        if notebook.src_uri.endswith(".ipynb"):
            files.remove(notebook)
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leads links to notebooks and claims to their pages; of other links out of docs/
    only the text stays."""
    markdown = re.sub(
        r"\]\((?:\.\./)+results/claims/(\w+)\.md\)", r"](claims-\1.md)", markdown
    )
    outside = r"(?:\.\./)+(?:src|tests|results|benchmarks)[^)]*"
    markdown = re.sub(rf"\[([^\]]*)\]\({outside}\)", r"\1", markdown)
    markdown = re.sub(PICTURE, to_live_page, markdown)
    return re.sub(r"\]\(([^):]*)\.ipynb\)", r"](\1.md)", markdown)


def made(root: Path) -> dict[str, str]:
    """The made pages by their place in docs/."""
    notebooks = sorted((root / "docs/notebooks").glob("*.ipynb"))
    pages = {f"notebooks/{path.stem}.md": of_notebook(path) for path in notebooks}
    for path in (root / "results/claims").glob("*.md"):
        pages[f"experiments/claims-{path.name}"] = path.read_text(encoding="utf-8")
    reference = {"reference/verbs.md": verbs(root), "reference/api.md": api()}
    return pages | reference | {"index.md": first(root)}


def first(root: Path) -> str:
    """README.md with a live circuit in the place of its film, and links as they are
    from docs/; of links elsewhere only the text stays.
    """
    text = (root / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    text = re.sub(r"\[([^\]]*)\]\([A-Z]+\.md\)", r"\1", text)
    look = 'style="width: 100%; height: 560px; border: 0"'
    frame = (
        f'<iframe src="{LIVE}?embed=circuit" title="a circuit, live" {look}></iframe>'
    )
    return re.sub(FILM, f"{frame}\n\n[The whole page]({LIVE})", text, count=1)


def live(root: Path) -> dict[str, str]:
    """The pages of runs whose data are kept, drawn by the app of today, by their place
    in docs/.
    """
    pages: dict[str, str] = {}
    for kept in (root / "docs/site").glob("*.json"):
        data = json.loads(kept.read_text(encoding="utf-8"))
        pages[f"images/{kept.stem}.html"] = html(ADAPTER.validate_python(data))
    return pages


def to_live_page(picture: re.Match[str]) -> str:
    """A picture of the gallery, which leads to the page of its run if that is kept."""
    name = picture[2]
    if not (ROOT / f"docs/site/{name}.json").is_file():
        return picture[0]
    return f"[{picture[0]}](images/{name}.html)"


def verbs(root: Path) -> str:
    """Every verb's own help."""
    alone = {
        **os.environ,
        "COLUMNS": "76",
        "NO_COLOR": "1",
        "PYTHONPATH": str(root / "src"),
    }

    def told(*words: str) -> str:
        command = [sys.executable, "-m", "headway", *words, "--help"]
        done = subprocess.run(
            command, env=alone, text=True, capture_output=True, check=True
        )
        return f"```text\n{done.stdout.strip()}\n```\n"

    whole, names = told(), [*VERBS, *added_verbs()]
    parts = ["# Verbs\n\nEvery verb says this itself: `headway VERB --help`.\n", whole]
    return "\n".join(
        [*parts, *(f"## headway {name}\n\n{told(name)}" for name in names)]
    )


def api() -> str:
    """Every public name, room by room."""
    parts = [
        "# Python API\n\nWhat `from headway import …` offers is in these rooms, too.\n"
    ]
    for room, title in ROOMS.items():
        parts.append(f"## {title}: `{room}`\n")
        parts += [f"::: {room}.{name}\n" for name in offered(room)]
    shown = "## In notebooks\n\n::: headway.report.cells.widget\n"
    own = [f"::: headway_experiments.{name}\n" for name in EXPERIMENTS]
    parts += [
        "## Errors\n",
        "::: headway.errors.HeadwayError\n",
        "## Experiments\n",
        *own,
        shown,
    ]
    return "\n".join(parts)


ALIASES = ("typing", "types", "collections.abc", "builtins")
"""Modules of types that are given another name."""


def offered(room: str) -> list[str]:
    """The names that a module offers, or its own functions if it does not say so.

    Types of other packages that are only passed on are left out.
    """
    module = import_module(room)
    functions = [
        name
        for name, value in vars(module).items()
        if isinstance(value, FunctionType)
        and value.__module__ == room
        and not name.startswith("_")
    ]
    names = sorted(getattr(module, "__all__", functions))
    homes = {
        name: getattr(getattr(module, name), "__module__", "headway") for name in names
    }
    return [name for name in names if homes[name].startswith(("headway", *ALIASES))]


def of_notebook(path: Path) -> str:
    """A notebook as a page: its text, its code, and what it showed when it was run."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return (
        "\n\n".join(part for cell in notebook["cells"] for part in _of_cell(cell))
        + "\n"
    )


def _of_cell(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    parts = [f"```python\n{source}\n```"] if source.strip() else []
    return parts + [_of_output(output) for output in cell.get("outputs", [])]


def _of_output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="shown" markdown="0">{"".join(data["text/html"])}</div>'
    if "image/svg+xml" in data:
        drawing = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        return f"![what the cell shows](data:image/svg+xml;base64,{drawing})"
    if "image/png" in data:
        return (
            "![what the cell "
            f"shows](data:image/png;base64,{''.join(data['image/png']).strip()})"
        )
    return f"```text\n{''.join(data.get('text/plain', ''))}\n```"
