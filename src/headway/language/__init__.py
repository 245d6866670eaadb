"""The five formulations of the retrieval problem in words, for language models (Musat 2024, section
4 and appendix A), and local models that are asked by exact probabilities."""

from headway.language.accuracy import Cell as Cell
from headway.language.accuracy import cells as cells
from headway.language.asking import Asked as Asked
from headway.language.asking import answered as answered
from headway.language.asking import ask_local as ask_local
from headway.language.asking import summary as summary
from headway.language.formulations import FORMULATIONS as FORMULATIONS
from headway.language.formulations import places as places
from headway.language.formulations import questions as questions
from headway.language.ledger import Ledger as Ledger
from headway.language.loading import compute_on as compute_on
from headway.language.loading import place_of as place_of
from headway.language.local import LocalModel as LocalModel
from headway.language.local import common_start as common_start
from headway.language.question import Question as Question
from headway.language.question import matched as matched
from headway.language.repeats import Repeats as Repeats
from headway.late import late

__all__, __getattr__, __dir__ = late(__name__)
