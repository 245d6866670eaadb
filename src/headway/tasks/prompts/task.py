"""Prompts: pairs of texts for a language model as a task."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.errors import require
from headway.fields import require_allowed
from headway.relations import Edges, Relation, between_roles, general_relations
from headway.tasks.base import SEARCHES, Batch, Task
from headway.tasks.prompts.answers import Answers, AnswerTokens, Metric
from headway.tasks.prompts.cutting import Cutter
from headway.tasks.prompts.files import pairs_in
from headway.tasks.prompts.making import Making, Prompt
from headway.tasks.prompts.marks import END
from headway.tasks.prompts.pair import pairs_of
from headway.tasks.targets import IGNORE_INDEX

LEAST = 16
"""Pairs at least: a circuit is searched for on half of them, and judged on the
others."""

ANYWHERE = "anywhere"
"""The end of a relation by which a role reads whatever it attends to."""


@dataclass(frozen=True)
class Prompts(Task, registered=False):
    """Texts that a language model goes on with, each beside a corrupted one.

    Made by `Prompts.of` of pairs, or `Prompts.read` of a file. Shorter texts are filled
    up behind their last token, where nothing is asked: a model that looks back does not
    read that.

    Attributes:
        prompts: every pair as tokens.
        answers: right and wrong ones as tokens, no two alike.
        named: the roles that words play.
        n_tokens: tokens that the model tells apart.
        filler: the token behind shorter texts.
        metric: by which the model's answers are judged.
        words: the text of every token that there is in the prompts.
    """

    kind = "prompts"
    way = "exchanged"

    prompts: tuple[Prompt, ...] = ()
    answers: tuple[AnswerTokens, ...] = ()
    named: tuple[str, ...] = ()
    n_tokens: int = 1
    filler: int = 0
    metric: Metric = "logit difference"
    words: tuple[tuple[int, str], ...] = field(default=(), repr=False)

    def __post_init__(self):
        super().__post_init__()
        count = len(self.prompts)
        allowed = (
            f"at least {LEAST}: a circuit is searched for on half of them, and judged"
            " on the others"
        )
        require(count >= LEAST, "number of pairs", count, allowed)

    @classmethod
    def read(
        cls,
        path: str | Path,
        tokenizer: Any,
        *,
        count: int | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> "Prompts":
        """The prompts that a file holds, or that its templates are filled to.

        Args:
            path: of a file `.jsonl`, `.csv` or `.toml` (see `pairs_in`).
            tokenizer: of the model.
            count: of pairs; by default all.
            seed: of the draws from templates.
            options: see `of`.

        Raises:
            HeadwayError: if something in the file is wrong: where and what.
        """
        return cls.of(pairs_in(path, count, seed), tokenizer, **options)

    @classmethod
    def of(
        cls,
        pairs: Iterable[Any],
        tokenizer: Any,
        *,
        start: str | None = None,
        n_tokens: int | None = None,
        metric: str = "logit difference",
    ) -> "Prompts":
        """Prompts of pairs of texts.

        ```python
        pair = {
            "clean": "When {IO:Mary} and {S1:John} went home, {S2:John} spoke to",
            "corrupted": "When Mary and John went home, Anna spoke to",
            "right": " Mary",
            "wrong": " John",
        }
        ```

        Args:
            pairs: `Pair`s, or their fields by name.
            tokenizer: of the model: of Transformers or another library, or a function
                from a text to a list of whole numbers.
            start: the text of the token that every prompt begins with, such as
                `<bos>`, as the model was trained; by default what the tokenizer puts
                in front; none if it is empty.
            n_tokens: tokens that the model tells apart; by default the tokenizer's.
            metric: `logit difference`, `probability`, `rank` or `loss`.

        Raises:
            HeadwayError: if a pair is not as it must be: which, and why.
        """
        judged_by = require_allowed("metric", metric, Metric)
        making = Making(Cutter(tokenizer), start, n_tokens)
        prompts = [making.prompt(pair) for pair in pairs_of(pairs)]
        filler = prompts[0].clean[-1]
        return cls(
            tuple(prompts),
            tuple(making.answers),
            making.roles or (),
            making.n_tokens,
            filler,
            judged_by,
            making.words(prompts),
        )

    def by(self, metric: str) -> "Prompts":
        """These prompts, judged by another metric."""
        return replace(self, metric=require_allowed("metric", metric, Metric))

    @property
    def roles(self) -> tuple[str, ...]:
        return (END, *self.named)

    @property
    def vocabulary(self) -> int:
        return self.n_tokens

    @property
    def targets(self) -> Answers:
        return Answers(self.n_tokens, self.answers, self.metric)

    @property
    def title(self) -> str:
        return f"{len(self.prompts)} prompts"

    def token_name(self, token: int) -> str:
        return self._words.get(token, str(token))

    @cached_property
    def _words(self) -> dict[int, str]:
        return dict(self.words)

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """The numbers of prompts in a random order; each stands there again only after
        all others.
        """
        every = torch.arange(len(self.prompts), device=generator.device)
        return (_shuffled(every, count, generator),)

    def sample_for(self, purpose: str, count: int, generator: torch.Generator) -> Batch:
        """At most so many prompts, each once: one half of all is for searches alone,
        the other for all else.
        """
        fixed = torch.Generator().manual_seed(0)
        order = torch.randperm(len(self.prompts), generator=fixed)
        searched, judged = order.to(generator.device).tensor_split(2)
        half = searched if purpose in SEARCHES else judged
        drawn = _shuffled(half, min(count, len(half)), generator)
        return self.assemble((drawn,))

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        """The clean texts, where their answers are asked for, and the corrupted
        ones.
        """
        (numbers,) = draws
        device = numbers.device
        chosen = [self.prompts[number] for number in numbers.tolist()]
        clean = [self._filled(prompt.clean) for prompt in chosen]
        corrupted = [self._filled(prompt.corrupted) for prompt in chosen]
        targets = [self._targets(prompt) for prompt in chosen]
        places = [[len(prompt.clean) - 1, *prompt.places] for prompt in chosen]
        return Batch(
            inputs=torch.tensor(clean, device=device),
            targets=torch.tensor(targets, device=device)[..., None],
            roles=torch.tensor(places, device=device)[..., None],
            corrupted=torch.tensor(corrupted, device=device),
        )

    def relations(self, batch: Batch) -> dict[str, Edges]:
        """Between roles, those of any sequence, also from each role alone, and to
        anywhere; none is of a place behind a text.
        """
        relations = dict[str, Edges](between_roles(batch.roles, self.roles))
        own = torch.arange(self.length, device=batch.inputs.device)
        last = batch.roles[:, 0]
        is_text = (own <= last)[:, :, None]
        every = torch.ones(self.length, self.length, device=own.device)
        seen = every.tril().bool()
        relations |= self._from_roles(batch, ANYWHERE, seen)
        for name, edges in general_relations(batch.inputs).items():
            cells = edges.mask(self.length) & is_text
            relations[name] = Edges.where(cells, edges.use)
            if edges.use == "path":
                relations |= self._from_roles(batch, name, cells)
        relations[ANYWHERE] = Edges.where(seen & is_text)
        return relations

    def _from_roles(self, batch: Batch, name: str, cells: Tensor) -> dict[str, Edges]:
        """A relation for each role alone; it may lead nowhere in these texts, as in
        corrupted ones.
        """
        own = torch.arange(self.length, device=cells.device)
        edges = dict[str, Edges]()
        for number, role in enumerate(self.roles):
            is_role = own == batch.roles[:, number]
            of_role = cells & is_role[:, :, None]
            edges[Relation.between(role, name)] = Edges.where(of_role)
        return edges

    @property
    def _longest(self) -> int:
        return max(len(prompt.clean) for prompt in self.prompts)

    @property
    def _shortest(self) -> int:
        return min(len(prompt.clean) for prompt in self.prompts)

    def _filled(self, tokens: tuple[int, ...]) -> list[int]:
        """Tokens of a text, and behind it as many of another as the longest one has."""
        return [*tokens, *[self.filler] * (self._longest - len(tokens))]

    def _targets(self, prompt: Prompt) -> list[int]:
        """The number of a prompt's answers at its last token; queries are all places
        where some prompt ends.
        """
        at = len(prompt.clean) - self._shortest
        targets = [IGNORE_INDEX] * (self._longest - self._shortest + 1)
        targets[at] = prompt.answers
        return targets


def _shuffled(numbers: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Some numbers in a random order, again and again until they are so many."""
    times = -(-count // len(numbers))
    device = generator.device
    rounds = list[Tensor]()
    for _ in range(times):
        order = torch.randperm(len(numbers), generator=generator, device=device)
        rounds.append(numbers[order])
    return torch.cat(rounds)[:count]
