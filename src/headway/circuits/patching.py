"""Activation patching: a part of a corrupted run is put into a clean one.

The corrupted sequences are laid out as the clean ones: the same roles stand at the same positions.
So the effect of patching a part tells what the part carries. (Residual streams are patched by the
hooks of a `Transformer`.)
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.circuits.ablation import heads_of
from headway.circuits.mechanism import Head, head_of, name_of
from headway.circuits.patterns import Patterns, as_it_is, edges_of
from headway.errors import HeadwayError, require
from headway.models import Tapped, Transformer, tapped
from headway.models.interception import Read
from headway.relations.paths import AttentionPath
from headway.settings import computes_as_usual
from headway.tasks import Batch, Task
from headway.text import aligned

Site = AttentionPath | Head
"""The part taken from the corrupted run: the values that a head reads along a relation, as it
attends along it in the run that is patched; or all that a head reads."""


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
        """0 where a patch changes nothing, 1 where it costs as much as corrupting all; nan or
        infinite for a hop that corrupting all does not change."""
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
    corrupted = task.assemble((symbols.roll(1, 0), slots))  # others' symbols, at the same slots
    patch(model, task, clean, corrupted, at="L1.H0 s0←s2")
    ```

    Args:
        model: that is patched: any module whose attention can be tapped.
        task: whose sequences they are.
        clean: sequences.
        corrupted: as many others, laid out alike.
        at: what is put in, a `Site` or its name; or several together, as a list.

    Raises:
        HeadwayError: if model and task have no such site, or the corrupted sequences are laid out
            otherwise.
    """
    sites = at if isinstance(at, list) else [at]
    return _Patching(model, task, clean, corrupted).outputs(*map(site_of, sites))


@computes_as_usual
@torch.no_grad()
def patch_all(
    model: nn.Module,
    task: Task,
    clean: Batch,
    corrupted: Batch,
    at: Literal["paths", "heads"] | Iterable[Site | str],
) -> Effects:
    """The effects of patching each of some sites alone on the loss of every hop (see `patch`).

    Args:
        at: the sites, such as `found.circuit.paths`; or all `heads`, or all `paths` that circuits
            may use, but those whose relation leads elsewhere in the corrupted sequences.

    Raises:
        HeadwayError: as `patch`; or if the loss of either run is no number.
    """
    patching = _Patching(model, task, clean, corrupted)
    sites = patching.all_of(at) if isinstance(at, str) else tuple(map(site_of, at))
    whole = patching.outputs(), patching.corrupted_outputs
    outputs = chain(whole, (patching.outputs(site) for site in sites))
    asked = [task.targets.at_queries(one, clean.targets) for one in outputs]
    losses = [task.targets.partial_losses(one, clean.targets) for one in asked]
    for name, loss in zip(("clean", "corrupted"), losses, strict=False):
        by_hop = dict(zip(task.hops, loss.tolist(), strict=True))
        require(bool(loss.isfinite().all()), f"{name}: loss by hop", by_hop, "numbers")
    return Effects(sites, task.hops, losses[0], losses[1], torch.stack(losses)[2:])


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
        self.task, self.clean = task, clean
        shapes = [list(batch.inputs.shape) for batch in (corrupted, clean)]
        require(shapes[0] == shapes[1], "corrupted: inputs", shapes[0], f"as clean, {shapes[1]}")
        if not torch.equal(corrupted.roles, clean.roles):
            raise HeadwayError("corrupted: roles must stand where they stand in clean")
        self.model = model if isinstance(model, Tapped) else tapped(model, clean.inputs[:2])
        module = self.model.module
        own = module if isinstance(module, Transformer) else self.model
        self.patterns = Patterns(own, clean, edges_of(task, own, clean))
        self.elsewhere = edges_of(task, own, corrupted)
        self.read: dict[int, list[Read]] = {}
        """The values that every layer of the corrupted run reads, in the order of its products."""
        self.corrupted_outputs = self.model(corrupted.inputs, as_it_is, self._record)

    def _record(self, read: Read) -> Tensor:
        self.read.setdefault(read.layer, []).append(read)
        return read.product(read.pattern, read.values)

    def all_of(self, kind: str) -> tuple[Site, ...]:
        """All sites of a kind."""
        require(kind in ("paths", "heads"), "at", kind, "paths, heads, or a list")
        every = heads_of(self.model)
        if kind == "heads":
            return tuple(every)
        names = [n for n in self.patterns.used_as("path") if self._leads_alike(n)]
        return tuple(AttentionPath.of(*head, name) for head in every for name in names)

    def _leads_alike(self, relation: str) -> bool:
        """True if a relation leads from and to the same positions in both kinds of sequences."""
        ours, theirs = self.patterns.relation(relation), self.elsewhere.get(relation)
        return theirs is not None and (
            torch.equal(ours.queries, theirs.queries) and torch.equal(ours.keys, theirs.keys)
        )

    def outputs(self, *sites: Site) -> Float[Tensor, "batch query output"]:
        """The outputs on the clean sequences with the sites of the corrupted run."""
        layers, heads = self.model.n_layers, self.model.n_heads
        for site in sites:
            fits = 0 <= site[0] < layers and 0 <= site[1] < heads
            allowed = f"of {layers} layers and {heads} heads in each, both from 0"
            require(fits, "site", written(site), allowed)
            if isinstance(site, AttentionPath) and not self._leads_alike(site.relation):
                raise HeadwayError(f"corrupted: {site.relation} must lead where it leads in clean")
        own: dict[int, Tensor] = {}
        count = Counter[int]()

        def look(layer: int, pattern: Tensor) -> Tensor:
            own[layer] = pattern
            return pattern

        def put(read: Read) -> Tensor:
            layer, whole = read.layer, torch.zeros_like(own[read.layer])
            self._require_same(read, own[layer])
            theirs, along = self.read[layer][count[layer]], whole.clone()
            count[layer] += 1
            for site in (site for site in sites if site[0] == layer):
                is_path = isinstance(site, AttentionPath)
                there = self.patterns.alone(site.relation) if is_path else 1.0
                (along if is_path else whole)[:, site[1]] += there
            taken = read.pattern.where(read.laid(whole + along) > 0, 0.0)
            given = theirs.pattern.where(read.laid(whole) > 0, taken)
            out = read.product(read.pattern, read.values)
            return out - read.product(taken, read.values) + read.product(given, theirs.values)

        found = self.model(self.clean.inputs, look, put)
        for layer in sorted({site[0] for site in sites}):
            require(count[layer] > 0, "layer", layer, "one whose pattern is multiplied with values")
        return found

    def _require_same(self, read: Read, own: Tensor) -> None:
        """Makes sure that values meet the pattern as the tap saw it."""
        with suppress(RuntimeError):  # another layout
            there = read.laid(torch.ones_like(own)).bool()
            if torch.allclose(read.pattern.nan_to_num(0.0) * there, read.laid(own), atol=1e-3):
                return
        raise HeadwayError(
            f"what heads of layer {read.layer} read cannot be patched: their pattern is changed, or"
            " laid out anew, before it meets values"
        )
