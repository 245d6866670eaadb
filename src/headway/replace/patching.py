"""Activation patching: a part of a corrupted run is put into a clean one.

The corrupted sequences are laid out as the clean ones: the same roles stand at the same
positions. So the effect of patching a part tells what the part carries. (Residual
streams are patched by the hooks of a `Transformer`.)
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.errors import HeadwayError, require
from headway.relations.paths import AttentionPath
from headway.replace.exchange import (
    OWN,
    PARTNER,
    WHOLE_HEAD,
    Change,
    Exchange,
    Swap,
    Term,
)
from headway.replace.heads import Head, head_of, name_of
from headway.settings import computes_as_usual
from headway.tasks import Batch, Task
from headway.text import aligned

Site = AttentionPath | Head
"""The part taken from the corrupted run: the values that a head reads along a relation,
as it attends along it in the run that is patched; or all that a head reads."""


@dataclass(frozen=True)
class Effects:
    """The effects of patching each of some sites alone, hop by hop.

    Attributes:
        sites: what was patched.
        hops: names of the hops.
        clean: losses of the clean run.
        corrupted: losses of the corrupted run, against the clean targets.
        patched: losses of the clean run with one site patched.
    """

    sites: tuple[Site, ...]
    hops: tuple[str, ...]
    clean: Float[Tensor, " hop"]
    corrupted: Float[Tensor, " hop"]
    patched: Float[Tensor, "site hop"]

    @property
    def normalised(self) -> Float[Tensor, "site hop"]:
        """0 where a patch changes nothing, 1 where it costs as much as corrupting all;
        nan or infinite for a hop that corrupting all does not change."""
        return (self.patched - self.clean) / (self.corrupted - self.clean)

    def __str__(self):
        rows = [["", *self.hops]]
        for site, effects in zip(self.sites, self.normalised.tolist(), strict=True):
            rows.append([written(site), *(f"{effect:z.2f}" for effect in effects)])
        return "\n".join(aligned(rows, "<" + ">" * len(self.hops)))


@computes_as_usual
def patch(
    model: nn.Module,
    task: Task,
    clean: Batch,
    corrupted: Batch,
    at: Site | str | list[Site | str],
) -> Float[Tensor, "batch query output"]:
    """The outputs on clean sequences with a part of the run on corrupted ones put in.

    ```python
    symbols, slots = task.draw(64, torch.Generator().manual_seed(0))
    clean = task.assemble((symbols, slots))
    # Other sequences' symbols, at the same slots.
    corrupted = task.assemble((symbols.roll(1, 0), slots))
    patch(model, task, clean, corrupted, at="L1.H0 s0←s2")
    ```

    Args:
        model: that is patched: any module whose attention can be tapped.
        task: whose sequences they are.
        clean: sequences.
        corrupted: as many others, laid out alike.
        at: what is put in, a `Site` or its name; or several together, as a list.

    Raises:
        HeadwayError: if model and task have no such site, or the corrupted sequences
            are laid out otherwise.
    """
    sites = at if isinstance(at, list) else [at]
    patching = _Patching(model, task, clean, corrupted)
    change = patching.change(*map(site_of, sites))
    return next(patching.exchange.outputs([change]))


@computes_as_usual
@torch.no_grad()
def patch_all(
    model: nn.Module,
    task: Task,
    clean: Batch,
    corrupted: Batch,
    at: Literal["paths", "heads"] | Iterable[Site | str],
    *,
    watch: Callable[[int, int], None] | None = None,
) -> Effects:
    """The effects of patching single sites on the loss by hop (see `patch`).

    Args:
        at: the sites, such as `found.circuit.paths`; or all `heads`, or all `paths`
            that circuits may use, but those whose relation leads elsewhere in the
            corrupted sequences.
        watch: called with how many sites are patched, and of how many; by default a
            line tells it on a terminal or in a notebook.

    Raises:
        HeadwayError: as `patch`; or if the loss of either run is no number.
    """
    from headway.progress import watched

    patching = _Patching(model, task, clean, corrupted)
    sites = patching.all_of(at) if isinstance(at, str) else tuple(map(site_of, at))
    exchange = patching.exchange
    own = patching.losses(exchange.outputs_of[OWN])
    theirs = patching.losses(exchange.outputs_of[PARTNER])
    _require_numbers("clean", own, task.hops)
    _require_numbers("corrupted", theirs, task.hops)
    changes = [patching.change(site) for site in sites]
    patched = list[Tensor]()
    with watched(watch, "patched {} of {} sites".format) as told:
        for outputs in exchange.outputs(changes):
            patched.append(patching.losses(outputs))
            told(len(patched), len(sites))
    return Effects(sites, task.hops, own, theirs, torch.stack(patched))


def _require_numbers(
    run: str, losses: Float[Tensor, " hop"], hops: Sequence[str]
) -> None:
    """Makes sure that a run's loss by hop is finite."""
    by_hop = dict(zip(hops, losses.tolist(), strict=True))
    are_numbers = bool(losses.isfinite().all())
    require(are_numbers, f"{run}: loss by hop", by_hop, "numbers")


def site_of(site: Site | str) -> Site:
    """A site, by its name.

    Raises:
        HeadwayError: if no site has this name.
    """
    if not isinstance(site, str):
        return site
    return AttentionPath.parse(site) if " " in site else head_of(site)


def written(site: Site) -> str:
    """The name of a site."""
    return str(site) if isinstance(site, AttentionPath) else name_of(site)


class _Patching:
    """A corrupted run, ready to be put into clean ones."""

    def __init__(self, model: nn.Module, task: Task, clean: Batch, corrupted: Batch):
        shape = list(corrupted.inputs.shape)
        wanted = list(clean.inputs.shape)
        require(shape == wanted, "corrupted: inputs", shape, f"as clean, {wanted}")
        if not torch.equal(corrupted.roles, clean.roles):
            raise HeadwayError("corrupted: roles must stand where they stand in clean")
        self.exchange = Exchange(model, task, clean, {PARTNER: corrupted})
        self.patterns = self.exchange.patterns
        self.elsewhere = self.exchange.others[PARTNER]

    def losses(self, outputs: Tensor) -> Float[Tensor, " hop"]:
        """The loss by hop of outputs, against the clean targets."""
        task, targets = self.exchange.task, self.exchange.batch.targets
        asked = task.targets.at_queries(outputs, targets)
        return task.targets.partial_losses(asked, targets)

    def all_of(self, kind: str) -> tuple[Site, ...]:
        """All sites of a kind."""
        require(kind in ("paths", "heads"), "at", kind, "paths, heads, or a list")
        every = self.exchange.heads
        if kind == "heads":
            return tuple(every)
        names = [*filter(self._leads_alike, self.patterns.used_as("path"))]
        paths = list[Site]()
        for head in every:
            paths += [AttentionPath.of(*head, name) for name in names]
        return tuple(paths)

    def change(self, *sites: Site) -> Change:
        """The change by which some sites are the corrupted run's."""
        self._require_sites(sites)
        heads = {site for site in sites if not isinstance(site, AttentionPath)}
        along = dict[Head, Tensor]()
        for site in sites:
            if isinstance(site, AttentionPath) and site.at not in heads:
                is_along = self.patterns.alone(site.relation) > 0
                cells = is_along.to(self.patterns.dtype)
                along[site.at] = cells.maximum(along.get(site.at, cells))
        swaps: dict[Head, Swap] = dict.fromkeys(heads, WHOLE_HEAD)
        for head, cells in along.items():
            swaps[head] = Term(1 - cells, OWN, OWN), Term(cells, OWN, PARTNER)
        return Change(swaps)

    def _leads_alike(self, relation: str) -> bool:
        """True if a relation leads alike in both kinds of sequences."""
        ours = self.patterns.relation(relation)
        if not self.elsewhere.has(relation):
            return False
        theirs = self.elsewhere.relation(relation)
        same_queries = torch.equal(ours.queries, theirs.queries)
        return same_queries and torch.equal(ours.keys, theirs.keys)

    def _require_sites(self, sites: Iterable[Site]) -> None:
        layers, heads = self.exchange.model.n_layers, self.exchange.model.n_heads
        allowed = f"of {layers} layers and {heads} heads in each, both from 0"
        for site in sites:
            is_one = 0 <= site[0] < layers and 0 <= site[1] < heads
            require(is_one, "site", written(site), allowed)
            if isinstance(site, AttentionPath) and not self._leads_alike(site.relation):
                raise HeadwayError(
                    f"corrupted: {site.relation} must lead where it leads in clean"
                )
