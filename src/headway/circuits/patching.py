"""Activation patching: a part of a corrupted run is put into a clean one.

The corrupted sequences are laid out as the clean ones: the same roles stand at the same positions.
So the effect of patching a part tells what the part carries.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from headway.circuits.ablation import heads_of
from headway.circuits.mechanism import Head, KnockOut, head_of, name_of
from headway.circuits.patterns import Patterns
from headway.errors import HeadwayError, require
from headway.models import Transformer
from headway.models.hooks import Edit, HookPoint
from headway.paths import Path, Relation
from headway.tasks import Batch, Task
from headway.text import aligned

ALLOWED = (
    "a path, L1.H0 s0←s2, a head, L1.H0, or a residual stream, s2 after layer 1 or s2 embedded"
)


class Residual(NamedTuple):
    """The residual stream where a role stands, in all chains: `s2 after layer 1`.

    Attributes:
        role: its name.
        layer: after which it is, from 0; -1 is before the first, written `s2 embedded`.
    """

    role: str
    layer: int

    def __str__(self):
        return f"{self.role} {f'after layer {self.layer}' if self.layer >= 0 else 'embedded'}"


Site = Path | Residual | Head
"""What is taken from the corrupted run: the values that a head reads along a relation, as far as it
attends along it in the run that is patched; a role's residual stream; or all that a head reads."""


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

    def __getitem__(self, site: Site | str) -> dict[str, float]:
        """The normalised effect of a site on every hop.

        Raises:
            HeadwayError: if the site was not patched.
        """
        known = ", ".join(map(written, self.sites))
        require(site_of(site) in self.sites, "site", str(site), f"one of {known}")
        effects = self.normalised[self.sites.index(site_of(site))]
        return dict(zip(self.hops, effects.tolist(), strict=True))

    def __str__(self):
        rows = [["", *self.hops]]
        for site, effects in zip(self.sites, self.normalised.tolist(), strict=True):
            rows.append([written(site), *(f"{effect:z.2f}" for effect in effects)])
        return "\n".join(aligned(rows, "l" + "r" * len(self.hops), gap=2))


def patch(
    model: Transformer,
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
        model: that is patched.
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


@torch.no_grad()
def patch_all(
    model: Transformer,
    task: Task,
    clean: Batch,
    corrupted: Batch,
    at: Literal["paths", "heads", "roles"] | Iterable[Site | str],
) -> Effects:
    """The effects of patching each of some sites alone on the loss of every hop (see `patch`).

    Args:
        at: the sites, such as `found.circuit.paths`; or all `paths` that circuits may use, all
            `heads`, or all `roles`, before the first layer and after each.

    Raises:
        HeadwayError: as `patch`.
    """
    patching = _Patching(model, task, clean, corrupted)
    sites = patching.all_of(at) if isinstance(at, str) else tuple(map(site_of, at))

    def losses(said: Tensor) -> Tensor:
        return task.targets.partial_losses(said, clean.targets)

    patched = [losses(patching.outputs(site)) for site in sites]
    return Effects(
        sites,
        task.hops,
        losses(model(clean.inputs)),
        losses(model(corrupted.inputs)),
        torch.stack(patched) if patched else torch.zeros(0, task.n_hops),
    )


def site_of(site: Site | str) -> Site:
    """A site, by its name.

    Raises:
        HeadwayError: if no site has this name.
    """
    if not isinstance(site, str):
        return site
    if found := re.fullmatch(r"(.+) (?:after layer ([0-9]{1,6})|embedded)", site):
        return Residual(found[1], -1 if found[2] is None else int(found[2]))
    require(bool(re.match(r"L[0-9]+\.H[0-9]+( |$)", site)), "site", site, ALLOWED)
    return Path.parse(site) if " " in site else head_of(site)


def written(site: Site) -> str:
    """The name of a site."""
    return str(site) if isinstance(site, Path | Residual) else name_of(site)


class _Patching:
    """A corrupted run, ready to be put into clean ones."""

    def __init__(self, model: Transformer, task: Task, clean: Batch, corrupted: Batch):
        self.model, self.task, self.clean = model, task, clean
        shapes = [list(batch.inputs.shape) for batch in (corrupted, clean)]
        require(shapes[0] == shapes[1], "corrupted: inputs", shapes[0], f"as clean, {shapes[1]}")
        if not torch.equal(corrupted.roles, clean.roles):
            raise HeadwayError("corrupted: roles must stand where they stand in clean")
        self.patterns = Patterns(model, clean, task.edges(clean))
        self.elsewhere = task.edges(corrupted)
        parts = ("hook_v", "hook_z", "hook_resid_pre", "hook_resid_post")
        _, self.corrupted = model.run_with_cache(
            corrupted.inputs, names=lambda name: name.endswith(parts)
        )

    def all_of(self, kind: str) -> tuple[Site, ...]:
        """All sites of a kind."""
        require(kind in ("paths", "heads", "roles"), "at", kind, "paths, heads, roles, or a list")
        if kind == "roles":
            return tuple(
                Residual(r, n) for r in self.task.roles for n in range(-1, self.model.n_layers)
            )
        every = heads_of(self.model)
        if kind == "heads":
            return tuple(every)
        names = [n for n, edges in self.patterns.relations.items() if edges.use == "path"]
        return tuple(Path.of(*head, name) for head in every for name in names)

    def outputs(self, *sites: Site) -> Float[Tensor, "batch query output"]:
        """The outputs on the clean sequences with the sites of the corrupted run."""
        relations: dict[Head, set[Relation]] = {}
        edits: list[tuple[str, Edit]] = []
        for site in sites:
            self._require_there(site)
            if isinstance(site, Path):
                relations.setdefault(site.at, set()).add(site.relation)
            elif isinstance(site, Residual):
                where = self.clean.roles[:, self.task.roles.index(site.role)]
                rows = torch.arange(len(where), device=where.device)[:, None]
                post = f"blocks.{site.layer}.hook_resid_post"
                name = post if site.layer >= 0 else "blocks.0.hook_resid_pre"
                edits.append(self._replaced(name, (rows, where)))
            else:
                layer, head = site
                index = (slice(None), slice(None), head)
                edits.append(self._replaced(f"blocks.{layer}.attn.hook_z", index))
        along = [edit for at, names in relations.items() for edit in self._along(at, names)]
        return self.model.run_with_hooks(self.clean.inputs, [*along, *edits])

    def _replaced(self, name: str, index: tuple) -> tuple[str, Edit]:
        """Takes what stands at an index from the corrupted run."""

        def put(value: Tensor, _: HookPoint) -> Tensor:
            value = value.clone()
            value[index] = self.corrupted[name][index]
            return value

        return name, put

    def _along(self, at: Head, relations: set[Relation]) -> list[tuple[str, Edit]]:
        """Takes the values that a head reads along some relations from the corrupted run."""
        (layer, head), cut = at, KnockOut(frozenset(relations))
        v, pattern, z = (f"blocks.{layer}.attn.hook_{name}" for name in ("v", "pattern", "z"))
        seen: dict[str, Tensor] = {}

        def look(value: Tensor, point: HookPoint) -> None:
            seen[point.name] = value

        def put(read: Tensor, _: HookPoint) -> Tensor:
            own = seen[pattern][:, head]
            along = own - self.patterns.edit(at, cut, own)
            read = read.clone()
            read[:, :, head] += along @ (self.corrupted[v] - seen[v])[:, :, head]
            return read

        return [(v, look), (pattern, look), (z, put)]

    def _require_there(self, site: Site) -> None:
        """Checks that model and task have a site, and a path leads where it leads in clean."""
        layers, heads = self.model.n_layers, self.model.n_heads
        if isinstance(site, Residual):
            allowed = f"of one of the roles ({', '.join(self.task.roles)}) and of {layers} layers"
            fits = site.role in self.task.roles and -1 <= site.layer < layers
            require(fits, "site", str(site), allowed)
            return
        fits = 0 <= site[0] < layers and 0 <= site[1] < heads
        allowed = f"of {layers} layers and {heads} heads in each, both from 0"
        require(fits, "site", written(site), allowed)
        if isinstance(site, Path):
            ours = self.patterns.relation(site.relation)
            theirs = self.elsewhere.get(site.relation)
            if theirs is None or not (
                torch.equal(ours.queries, theirs.queries) and torch.equal(ours.keys, theirs.keys)
            ):
                raise HeadwayError(f"corrupted: {site.relation} must lead where it leads in clean")
