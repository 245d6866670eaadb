"""The paper's figures, and studies of what it leaves open, as experiments: which runs each takes,
what is measured, what is drawn."""

from headway.papers import asking, drawings, measures, phases
from headway.papers.experiment import Experiment
from headway.papers.measures import studies
from headway.papers.measures.algorithms import algorithms

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "fig2",
            "language models on five formulations (section 4)",
            (),
            asking.measured,
            asking.drawn,
            asks=True,
        ),
        Experiment(
            "theorem1",
            "the least number of layers (section 5, appendix B)",
            (),
            lambda _: measures.theorem_1(),
            drawings.bounds,
        ),
        Experiment(
            "fig3",
            "positions that share information (figures 3 and 8)",
            (),
            lambda _: measures.shared_information(),
            drawings.flow,
        ),
        Experiment(
            "fig4",
            "final losses by number of layers, with and without the curriculum (section 7)",
            ("ic", "non-ic"),
            lambda runs: measures.by_layers(runs["ic"], runs["non-ic"]),
            drawings.layers,
        ),
        Experiment(
            "fig5",
            "the circuits of Transformers A, B and C (section 8)",
            ("abc",),
            lambda runs: measures.circuits(runs["abc"]),
            drawings.circuits,
        ),
        Experiment(
            "fig6",
            "the losses of Transformer D during training (section 9)",
            ("d",),
            lambda runs: measures.emergence(runs["d"]),
            drawings.losses,
        ),
        Experiment(
            "fig7",
            "the circuit of Transformer D, and when its paths were born (section 9)",
            ("d",),
            lambda runs: measures.emergence(runs["d"]),
            drawings.births,
        ),
        Experiment(
            "appendix-c",
            "attention maps of every layer",
            ("abc", "d"),
            lambda runs: measures.circuits(runs["abc"]),
            drawings.maps,
        ),
        Experiment(
            "appendix-d",
            "attention along every path during training",
            ("d",),
            lambda runs: measures.emergence(runs["d"]),
            drawings.paths,
        ),
        Experiment(
            "appendix-e",
            "what replacing heads and cutting paths costs",
            ("abc",),
            lambda runs: measures.circuits(runs["abc"]),
            drawings.nothing,
        ),
        Experiment(
            "first-steps",
            "four layers and two hops, with and without the curriculum",
            ("first-steps",),
            lambda runs: studies.first_steps(runs["first-steps"]),
            drawings.nothing,
        ),
        Experiment(
            "depths",
            "one to five hops against the layers that solve them",
            ("depths",),
            lambda runs: studies.depths_against_layers(runs["depths"]),
            drawings.depths,
        ),
        Experiment(
            "curricula",
            "what makes a head emerge, and when: eleven ways to ask for three hops",
            ("curricula",),
            lambda runs: studies.curricula(runs["curricula"]),
            drawings.curricula,
        ),
        Experiment(
            "circuits",
            "how much circuits differ: twenty seeds, and other shapes",
            ("circuits",),
            lambda runs: studies.circuits(runs["circuits"]),
            drawings.heads,
        ),
        Experiment(
            "lengths",
            "how long the first head takes to emerge in longer sequences (arXiv 2511.01033)",
            ("lengths",),
            lambda runs: studies.lengths(runs["lengths"]),
            drawings.lengths,
        ),
        Experiment(
            "algorithms",
            "jump over facts, or pass symbols on: which of the two is learnt, and what decides",
            ("algorithms",),
            lambda runs: algorithms(runs["algorithms"]),
            phases.draw,
        ),
    )
}
