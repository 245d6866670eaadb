"""Prompts on a local model: the gap, the circuit that closes it, and what its parts
do."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from headway import Prompts, discover
from headway.errors import HeadwayError
from headway.find import Gap, HeadCut, bench_of, cuts_of, gap_of
from headway.judge import Discovery
from headway.replace import Direct, direct_effects, name_of, with_tap
from headway_experiments.language.local import LocalModel

ANSWERED = 0.5
"""The share of pairs that a model must answer rightly for there to be anything to
explain: as many are right by guessing."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class PromptStudy:
    """The findings about some prompts.

    Attributes:
        gap: between clean and corrupted prompts.
        discovery: the circuit, with its evidence.
        cuts: what each of its heads does in the model as it is, on pairs that the
            search did not see.
        direct: what all parts add by themselves.
    """

    gap: Gap
    discovery: Discovery
    cuts: list[HeadCut]
    direct: Direct

    @property
    def kept(self) -> float | None:
        """The share of the gap that the circuit keeps, all else exchanged."""
        return self.discovery.evidence.likeness.circuit.faithfulness

    def __str__(self):
        cuts = "\n".join(f"  {cut}" for cut in self.cuts)
        title = f"what of the {self.gap.metric} is lost without a head (95 %)"
        return f"{self.discovery}\n\n{title}\n{cuts}\n\n{self.direct}"

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data."""
        cuts = [{**asdict(cut), "head": name_of(cut.head)} for cut in self.cuts]
        return {
            "gap": asdict(self.gap),
            "kept": self.kept,
            "circuit": self.discovery.to_json(),
            "cuts": cuts,
            "direct": asdict(self.direct),
        }


def prompts_of(model: LocalModel, pairs: Iterable[Any], **options: Any) -> Prompts:
    """Prompts of pairs for a local model (see `Prompts.of`)."""
    return Prompts.of(pairs, model.tokenizer, n_tokens=model.columns, **options)


def study_prompts(
    model: LocalModel,
    task: Prompts,
    sequences: int = 16,
    seed: int = 0,
    say: Say = lambda _: None,
    watch: Callable[[float], None] = lambda _: None,
) -> PromptStudy:
    """The circuit of some prompts, and what there is to explain.

    Args:
        model: that goes on with the prompts.
        task: the prompts.
        sequences: pairs to search on, and as many others to judge on.
        seed: of the draw of pairs.
        say: called with what there is to explain, before a search.
        watch: called every second with the passes so far.

    Raises:
        HeadwayError: if the model does not know the answers, or there is no circuit to
            find.
    """
    tapped = with_tap(model.model, task)  # once, as that takes passes, too
    gap = gap_of(tapped, task, sequences, seed)
    say(str(gap))
    if gap.right <= ANSWERED:
        raise HeadwayError(
            f"there is nothing to explain: {model.name} finds the right answer likelier"
            f" in {gap.right:.0%} of {gap.pairs} pairs"
        )
    discovery = discover(
        tapped, task, sequences=sequences, seed=seed, trials=False, watch=watch
    )
    bench = bench_of(tapped, task, sequences, seed)
    cuts = cuts_of(bench, discovery.circuit.useful_heads)
    direct = direct_effects(tapped, task, bench.batch)
    return PromptStudy(gap, discovery, cuts, direct)
