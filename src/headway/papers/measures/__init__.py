"""What is measured from run folders, for every claim."""

from headway.papers.measures.printed import (
    by_layers,
    circuits,
    emergence,
    shared_information,
    theorem_1,
)

__all__ = ["by_layers", "circuits", "emergence", "shared_information", "theorem_1"]
