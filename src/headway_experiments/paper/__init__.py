"""The paper's figures (Musat 2024, arXiv 2411.12118), and studies of what it leaves open."""

from headway_experiments.paper import (
    algorithms,
    by_heart,
    circuits,
    curricula,
    depths,
    identifiability,
    information_flow,
    language_models,
    layers,
    transformer_d,
    transformers_abc,
    two_hops,
)

MODULES = (
    *(language_models, information_flow, layers, transformers_abc, transformer_d),
    *(depths, curricula, circuits, algorithms, by_heart, identifiability, two_hops),
)
FIGURES = {one.name: one for module in MODULES for one in module.EXPERIMENTS}

__all__ = ["FIGURES"]
