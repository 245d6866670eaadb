"""A run's circuit and curves as a widget of a notebook, whose state Python reads and
sets.
"""

from typing import Any

from headway.errors import HeadwayError, require
from headway.relations.paths import AttentionPath
from headway.report.cells import picture
from headway.report.circuit import path_key
from headway.report.findings import Findings
from headway.report.page import app
from headway.report.run import run_page
from headway.report.schema import to_json
from headway.training import Run

try:
    import anywidget
    import traitlets
except ImportError:
    raise HeadwayError(
        "a widget needs anywidget: pip install 'headway-interp[notebook]'"
    ) from None


class View(anywidget.AnyWidget):
    """A run in a notebook: clicks there set these values, and values set here are shown
    there.

    Where no script runs, as on GitHub, a picture of the circuit stands in its place.

    Attributes:
        step: of the checkpoint that is shown; another number becomes that of the
            nearest one.
        path: the chosen path, or None; an `AttentionPath` or text, `view.path = "L1.H0
            s0←s2"`.
        cut: whether the chosen path is cut out of the circuit.
        paths: of the circuit, by what the page calls them.
        still: that picture, as PNG in base64; None without matplotlib.
    """

    _esm = app()
    _data = traitlets.Unicode().tag(sync=True)
    step = traitlets.CInt().tag(sync=True)
    path = traitlets.Any().tag(
        sync=True,
        to_json=lambda path, _: path and path_key(path),
        from_json=lambda key, view: view.paths.get(key or ""),
    )
    cut = traitlets.Bool(False).tag(sync=True)

    def __init__(self, run: Run):
        findings = Findings.of(run)
        with run.computing():
            page = run_page(findings, "widget")
        self._name = run.folder.name
        self._steps = page.steps
        self.paths = {path_key(path): path for path in findings.paths}
        self.still = picture(run, "png")
        super().__init__(_data=to_json(page), step=max(self._steps, default=0))

    @traitlets.validate("step")
    def _nearest(self, proposal: dict[str, Any]) -> int:
        asked = proposal["value"]
        return min(self._steps, key=lambda step: abs(step - asked), default=0)

    @traitlets.validate("path")
    def _of_circuit(self, proposal: dict[str, Any]) -> AttentionPath | None:
        """The path, which must be one of the circuit's."""
        asked = proposal["value"]
        path = AttentionPath.parse(asked) if isinstance(asked, str) else asked
        allowed = ", ".join(map(str, self.paths.values()))
        told = (
            f"none or one of {allowed}"
            if allowed
            else "none, as the circuit has no path"
        )
        require(path is None or path in self.paths.values(), "path", asked, told)
        return path

    @traitlets.validate("cut")
    def _of_a_path(self, proposal: dict[str, Any]) -> bool:
        return proposal["value"] and self.path is not None

    @traitlets.observe("path")
    def _let_go(self, _: object) -> None:
        self.cut = self.cut and self.path is not None

    def _repr_mimebundle_(self, **options: Any) -> Any:
        shown = super()._repr_mimebundle_(**options)
        if shown is not None and self.still is not None:
            shown[0]["image/png"] = self.still
        return shown

    def __repr__(self) -> str:
        return (
            f"View of {self._name}: step {self.step}, path {self.path}, cut {self.cut}"
        )
