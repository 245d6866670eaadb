"""Prompts on a local model: the gap, the circuit that closes it, and what its parts
do."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from torch import nn

from headway import Prompts, discover
from headway.errors import HeadwayError
from headway.find import Gap, HeadCut, bench_of, cuts_of, gap_of, likely_heads
from headway.judge import Discovery
from headway.replace import Direct, direct_effects, name_of, with_tap
from headway.text import wrapped
from headway_experiments.language.local import LocalModel

ANSWERED = 0.5
"""The share of pairs that a model must answer rightly for there to be anything to
explain: as many are right by guessing."""

SHOWN = 5
"""Heads beside the circuit that are told of, at most."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class PromptStudy:
    """The findings about some prompts.

    Attributes:
        gap: between clean and corrupted prompts.
        discovery: the circuit, with its evidence.
        cuts: what each of its heads does in the model as it is, on pairs that the
            search did not see.
        others: the same of heads beside it, of those that change the loss most to first
            order (`likely_heads`).
        direct: what all parts add by themselves.
    """

    gap: Gap
    discovery: Discovery
    cuts: list[HeadCut]
    others: list[HeadCut]
    direct: Direct

    @property
    def kept(self) -> float | None:
        """The share of the gap that the circuit keeps, all else exchanged."""
        return self.discovery.evidence.likeness.circuit.faithfulness

    @property
    def above(self) -> list[HeadCut]:
        """The heads beside the circuit that do more than the least of its own."""
        least = min(abs(cut.lost) for cut in self.cuts)
        above = [cut for cut in self.others if abs(cut.lost) > least]
        return sorted(above, key=lambda cut: -abs(cut.lost))

    def __str__(self):
        lines = [f"  {cut}" for cut in self.cuts]
        cuts = "\n".join(lines)
        title = f"what of the {self.gap.metric} is lost without a head (95 %)"
        beside = "\n".join(wrapped(self._beside))
        parts = f"{title}\n{cuts}\n{beside}"
        return f"{self.discovery}\n\n{parts}\n\n{self.direct}"

    @property
    def _beside(self) -> str:
        """The heads beside the circuit that do more than one of its own, in words."""
        tried = f"of the {len(self.others)} likeliest heads beside the circuit"
        above = self.above
        if not above:
            return f"{tried} none does more than the least of these"
        count = len(above)
        first = map(str, above[:SHOWN])
        shown = ", ".join(first)
        more = ""
        if count > SHOWN:
            more = f", and {count - SHOWN} more"
        return f"{tried} {count} do more than the least of these: {shown}{more}"

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON data."""
        return {
            "gap": asdict(self.gap),
            "kept": self.kept,
            "circuit": self.discovery.to_json(),
            "cuts": _written(self.cuts),
            "others": _written(self.others),
            "direct": asdict(self.direct),
        }


def _written(cuts: Iterable[HeadCut]) -> list[dict[str, Any]]:
    """The work of heads as JSON data."""
    written = list[dict[str, Any]]()
    for cut in cuts:
        name = name_of(cut.head)
        data = asdict(cut)
        written.append({**data, "head": name})
    return written


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
    with _answering_alone(model.model, task):
        return _study(model, task, sequences, seed, say, watch)


@contextmanager
def _answering_alone(module: nn.Module, task: Prompts) -> Iterator[None]:
    """Has a model of Transformers compute logits where texts end, and not before."""
    lengths = [len(prompt.clean) for prompt in task.prompts]
    longest = max(lengths)
    shortest = min(lengths)
    kept = {"logits_to_keep": longest - shortest + 1}

    def keep(_: nn.Module, args: Any, options: dict[str, Any]) -> Any:
        return args, {**options, **kept}

    hook = module.register_forward_pre_hook(keep, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def _study(
    model: LocalModel,
    task: Prompts,
    sequences: int,
    seed: int,
    say: Say,
    watch: Callable[[float], None],
) -> PromptStudy:
    """The study of some prompts (see `study_prompts`)."""
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
    named = discovery.circuit.useful_heads
    beside = [head for head in likely_heads(bench) if head not in named]
    cuts = cuts_of(bench, named)
    others = cuts_of(bench, beside)
    direct = direct_effects(tapped, task, bench.batch)
    return PromptStudy(gap, discovery, cuts, others, direct)
