"""The figures of factual recall, drawn from runs."""

import math

from headway.papers.experiment import Drawn, GroupRuns
from headway.papers.reading import task_of
from headway.papers.talk.measures import recall as measures
from headway.tasks import Recall


def capacity(runs: GroupRuns) -> Drawn:
    """Facts kept against parameters, and what they cost in attention and in the MLP."""
    from headway.report.figures.capacity_plot import Kept, draw_capacity
    from headway.report.figures.frontier_plot import draw_frontier

    drawn: Drawn = {}
    kept = []
    labels = {"recall-attention": "attention alone", "recall-mlp": "as much in an MLP"}
    for group, label in labels.items():
        found, _, sizes = measures.kept(runs[group])
        pairs = [(float(sum(sizes[name.rpartition(",")[0]])), n) for name, n in found.items()]
        kept.append(Kept(label, pairs))
    if any(each.points for each in kept):
        figure = draw_capacity(kept, "trained parameters", "facts kept at 99 % accuracy")
        drawn["factual-recall"] = "Facts kept against trained parameters", figure
    each = measures.points(runs)
    if len(each) > 2:
        attention, mlp = measures.rates(each)
        if attention > 0 and mlp > 0:
            title = "Parameters a fact: attention traded for MLP"
            drawn["factual-recall-frontier"] = title, draw_frontier(each, (attention, mlp))
    return drawn


def dynamics(runs: GroupRuns) -> Drawn:
    """Relation and subject losses against the step, with the stage in between."""
    from headway.report.figures.recall_plot import Course, draw_courses

    courses = []
    level = 0.0
    for name, run in runs["recall-dynamics"].items():
        n_answers = task_of(run.config, Recall).n_answers
        level, losses = math.log(n_answers), measures.course(run)
        found = measures.stage(losses, n_answers)
        courses.append(
            Course(
                name,
                [each.step for each in losses],
                [each.relation for each in losses],
                [each.subject for each in losses],
                None if found is None else (found.first, found.last),
            )
        )
    if not courses:
        return {}
    title = "Factual recall: the relation is learnt before the subject"
    return {"factual-recall-dynamics": (title, draw_courses(courses, level))}
