"""The five formulations of the retrieval problem in words, for language models (Musat 2024, section
4 and appendix A)."""

from headway.language.formulations import FORMULATIONS, Formulation, formulation
from headway.language.question import Question
from headway.language.sampling import questions

__all__ = ["FORMULATIONS", "Formulation", "Question", "formulation", "questions"]
