"""Runs the notebooks of this folder from top to bottom, and keeps what they show.

    make notebooks
    python docs/notebooks/execute.py is-the-search-right

Every notebook runs in an empty folder of its own. What no second run would repeat is
not kept: when a cell ran, for how long, the plain text of what has a drawing, and of a
widget all but its picture.
"""

import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
WIDGET = "application/vnd.jupyter.widget-view+json"


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook at a path with the outputs of a fresh run.

    Raises:
        nbclient.exceptions.CellExecutionError: if a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            kernel_name="python3",
            timeout=600,
            resources={"metadata": {"path": folder}},
            record_timing=False,
            coalesce_streams=True,
        ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if 'class="headway"' in output.get("data", {}).get("text/html", ""):
                del output.data["text/plain"]
                shown = output.data["text/html"]
                output.data["text/html"] = re.sub(r", [0-9.]+ s</pre>", "</pre>", shown)
            output.get("data", {}).pop(WIDGET, None)
        if "outputs" in cell:
            kept = [output for output in cell.outputs if not is_progress(output)]
            cell.outputs = kept
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": kernel, "language_info": {"name": "python"}}
    )
    return notebook


def is_progress(output: nbformat.NotebookNode) -> bool:
    """Tell whether an output is the place of a line that told how far the work was."""
    data = output.get("data", {})
    is_empty = data.get("text/plain") == ""
    return is_empty or data == {"text/plain": "Output()"}


def main(names: list[str]) -> None:
    """Runs the notebooks with these names, or all."""
    for path in sorted(HERE.glob("*.ipynb")):
        if not names or path.stem in names:
            print(path.name, flush=True)
            nbformat.write(executed(path), path)


if __name__ == "__main__":
    main(sys.argv[1:])
