"""Verbs that reproduce what the papers report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from headway.errors import HeadwayError, require

if TYPE_CHECKING:
    from headway_experiments.claims import Verdict
    from headway_experiments.experiment import Experiment

Scale = Literal["smoke", "small", "fresh", "paper"]


def reproduce(
    figures: tuple[str, ...] = (),
    /,
    scale: Scale = "small",
    folder: Path | None = None,
    workers: int | None = None,
    results: Path | None = None,
    judge_only: bool = False,
    dry_run: bool = False,
) -> None:
    """Train the runs of a figure of the paper, draw it, and judge every claim that it makes.

    What is done is kept: the command goes on where it was.

    Args:
        figures: theorem1, fig2 … fig7, appendix-c, appendix-d, appendix-e; the studies first-steps,
            depths, curricula, circuits, lengths, algorithms; or all. Or a Python file of
            experiments of your own, followed by their names or all.
        scale: smoke takes seconds; small takes minutes per run on two cores; fresh is small with
            seeds that chose no setting and no rule; paper is as the source has it.
        folder: of all runs; by default runs/paper-SCALE, or runs/FILE-SCALE.
        workers: runs side by side; by default as many as there are cores for.
        results: where to write the measures; by default results/ in the folder.
        judge_only: train nothing; judge by the runs that are done.
        dry_run: only say what it would cost, by ten steps of a run of each group.
    """
    document = figures[0] if figures and figures[0].endswith(".py") else "paper"
    names = figures if document == "paper" else figures[1:] or ("all",)
    how = scale, folder, workers, results, judge_only, dry_run
    Reproduction("reproduce", document, "figure", *how).run(names)


def mechanism(
    names: tuple[str, ...] = (),
    /,
    scale: Scale = "small",
    folder: Path | None = None,
    workers: int | None = None,
    results: Path | None = None,
    judge_only: bool = False,
    dry_run: bool = False,
    corpus: str | None = None,
) -> None:
    """Train the runs of a mechanism of the talk, draw it, and judge every claim about it.

    What is done is kept: the command goes on where it was.

    Args:
        names: associative-memory, gradient-memory, factual-recall, factual-recall-dynamics,
            induction, three-gradient-steps, noisy-recall, khop-depth, khop-curriculum; or all.
        scale: smoke takes seconds; small takes minutes per mechanism on two cores; fresh is small
            with seeds that chose no setting and no rule; paper is as the sources have it.
        folder: of all runs; by default runs/talk-SCALE.
        workers: runs side by side; by default as many as there are cores for.
        results: where to write the measures; by default results/ in the folder.
        judge_only: train nothing; judge by the runs that are done.
        dry_run: only say what it would cost.
        corpus: text whose bigrams are learnt in context: a file in UTF-8, plays (Shakespeare's, of
            the extra `plays`) or synthetic; by default plays if they are installed and the scale is
            not smoke, else synthetic.
    """
    from headway_experiments.talk.induction import reading

    how = scale, folder, workers, results, judge_only, dry_run
    with reading(corpus):
        Reproduction("mechanism", "talk", "mechanism", *how).run(names)


@dataclass(frozen=True)
class Reproduction:
    """Runs experiments, draws them and judges their claims.

    Attributes:
        verb: that was called.
        document: whose experiments they are: `paper`, `talk`, or a Python file.
        what: what an experiment is called; the rest is as in `reproduce`.
    """

    verb: str
    document: str
    what: str
    scale: Scale
    folder: Path | None
    workers: int | None
    results: Path | None
    judge_only: bool
    dry_run: bool

    @property
    def place(self) -> Path:
        """The folder of all runs."""
        return self.folder or Path("runs") / f"{Path(self.document).stem}-{self.scale}"

    def run(self, names: Sequence[str]) -> None:
        """Does all of this for the experiments of some names."""
        from headway import terminal
        from headway_experiments import groups, result_files
        from headway_experiments import reproduce as paper
        from headway_experiments.terminal.reproduce import print_verdicts

        least = "a whole number of at least 1"
        require(self.workers is None or self.workers >= 1, "workers", self.workers, least)
        there = paper.experiments_of(self.document)
        if not names:
            known = paper.listed(there)
            raise HeadwayError(f"Missing from headway {self.verb}: {self.what.upper()}, {known}")
        or_file = self.document == "paper"
        experiments = paper.chosen(names, there, self.what, self.scale, or_file)
        if self.dry_run or not self.judge_only:
            self._tell_costs(experiments)
        if self.dry_run:
            return
        kept = self.results or self.place / "results"
        result_files.require_writable(kept)
        if self.judge_only:
            for group in groups.groups_of(experiments):
                groups.take_apart(group, self.scale, self.place, terminal.say)
        else:
            self._train(experiments)
        verdicts = [one for each in experiments for one in self._judge(each, kept)]
        judged = [{self.scale: verdict} for verdict in verdicts]
        print_verdicts(judged, own=self.document not in ("paper", "talk"))
        if self.scale == "smoke":
            terminal.say("smoke shows that everything works; its models are too small to judge by")
        document = "" if self.document == "paper" else f" --document {self.document}"
        shown = f"headway claims --scale {self.scale} --results {kept}{document}"
        terminal.say(f"to see this again: {shown}")

    def _tell_costs(self, experiments: "Sequence[Experiment]") -> None:
        from headway import terminal
        from headway.language import answered
        from headway_experiments import groups
        from headway_experiments.terminal.reproduce import print_costs

        needed = groups.groups_of(experiments)
        scale = self.scale
        costs = [groups.cost(one, scale, self.place, self.dry_run) for one in needed]
        print_costs(costs)
        for name, question in self._asked(experiments).items():
            known = len(answered(question, self.place / "asked" / name))
            terminal.say(f"{name} is asked {question.total} questions; {known} are answered")
        if not needed:
            terminal.say("nothing to train")

    def _asked(self, experiments: "Sequence[Experiment]"):
        """Who is asked what, by name."""
        from headway_experiments.paper.language_models import askable

        return askable(self.scale) if any(one.asks for one in experiments) else {}

    def _train(self, experiments: "Sequence[Experiment]") -> None:
        """Trains what is not trained, takes it apart, and asks what is not answered."""
        from headway import sweeps, terminal
        from headway.language import ask_local
        from headway_experiments import groups

        scale, place = self.scale, self.place
        with sweeps.LocalEngine(self.workers) as engine:
            for group in groups.groups_of(experiments):
                terminal.say(f"{group.name}: {group.about}")
                with terminal.following() as watch:
                    planned = sweeps.Plan(f"{group.name}-{scale}", group.configs(scale))
                    sweeps.sweep(planned, place / group.name, engine, watch=watch)
                groups.take_apart(group, scale, place, terminal.say)
        for name, question in self._asked(experiments).items():
            with terminal.counting("asked") as watch:
                ask_local(question, place / "asked" / name, watch, say=terminal.say)

    def _judge(self, experiment: "Experiment", kept: Path) -> "list[Verdict]":
        """Measures an experiment, writes that down, and draws it."""
        from headway import terminal
        from headway_experiments import reproduce as paper
        from headway_experiments import result_files

        scale = self.scale
        found, missing = paper.measured(experiment, scale, self.place)
        result_files.write(experiment, scale, found, missing, kept)
        for drawn in paper.draw(experiment, scale, self.place) if terminal.can_draw() else ():
            terminal.say(f"drawn in {drawn}")
        for text in experiment.texts(scale):
            terminal.say(f"{experiment.name}: drawn from {text}")
        return paper.verdicts(experiment, scale, found, missing)


def claims(
    figures: tuple[str, ...] = (),
    /,
    scale: Scale | None = None,
    results: Path | None = None,
    file: Path | None = None,
    document: str = "paper",
) -> None:
    """List every claim of a document, with the verdict of the last results.

    Args:
        figures: of the document, such as fig5, or its other experiments; by default all.
        scale: of the results; by default small, fresh and paper, side by side.
        results: their folder; by default the results that come with headway.
        file: where to write the table too, as Markdown.
        document: paper, talk, or a Python file of experiments of your own.
    """
    from headway import terminal
    from headway.files import write_whole
    from headway_experiments import reproduce as paper
    from headway_experiments import result_files
    from headway_experiments.table import SIDE_BY_SIDE, markdown
    from headway_experiments.terminal.reproduce import print_verdicts

    if file is not None:
        terminal.require_file(file, (".md",))
    scales = SIDE_BY_SIDE if scale is None else (scale,)
    there = paper.experiments_of(document)
    if figures:
        there = {one.name: one for one in paper.chosen(figures, there, "figure", "")}
    place = results or result_files.shipped_results()
    rows, known = paper.judged(there, scales, place)
    if not known:
        raise HeadwayError(
            f"{place}: no results of {document} are there, at scale {', '.join(scales)};"
            " --results names another folder, as FOLDER/results of headway reproduce"
        )
    own = document.endswith(".py")
    print_verdicts(rows, known, own)
    if file is not None:
        write_whole(file, markdown(rows, own).encode())
        terminal.say(f"written to {file}")
