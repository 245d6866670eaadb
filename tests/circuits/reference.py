"""The slow, obvious way to ablate and to search: one candidate at a time, whole forward passes."""

import math

import torch

from headway.circuits import Bench, Identity, KnockOut, Uniform


def pattern_of(bench, head, mechanism, own, intact):
    """The pattern [batch, query, key] of a mechanism, written entry by entry.

    `own` is what the head attends to here, `intact` what all heads of the intact model attend to.
    """
    n, causal = own.shape[-1], bench.model.config.causal
    pattern = torch.zeros_like(own)
    for b in range(len(own)):
        for i in range(n):
            seen = i + 1 if causal else n
            uniform = torch.zeros(n)
            uniform[:seen] = 1 / seen
            if isinstance(mechanism, Uniform):
                pattern[b, i] = uniform
            elif isinstance(mechanism, Identity):
                pattern[b, i, i] = 1
            else:
                pairs = [
                    (int(key), 1 / len(keys))
                    for name in mechanism.relations
                    for query, keys in zip(
                        bench.patterns.relations[name].queries[b],
                        bench.patterns.relations[name].keys[b],
                        strict=True,
                    )
                    if query == i
                    for key in keys
                ]
                if isinstance(mechanism, KnockOut):
                    pattern[b, i] = own[b, i]
                    for key, _ in pairs:
                        pattern[b, i, key] = 0
                elif pairs:
                    for key, weight in pairs:
                        pattern[b, i, key] += weight
                    pattern[b, i] /= sum(weight for _, weight in pairs)
                else:
                    row = intact[:, *head, i]
                    fills = {
                        "zero": torch.zeros(n),
                        "uniform": uniform,
                        "own": own[b, i],
                        "mean": row.mean(0),
                        "resample": row[b - 1],
                    }
                    pattern[b, i] = fills[bench.patterns.rows if mechanism.relations else "zero"]
    return pattern


class SlowBench(Bench):
    """A bench that computes every candidate on its own, from the first layer to the last.

    Nothing is shared, remembered or dropped early. Patterns are made once and kept, so that the
    time of a search is that of forward passes.
    """

    def __init__(self, bench: Bench):
        super().__init__(bench.model, bench.task, bench.batch, bench.patterns.rows, shared=False)
        self.parts = [slice(0, self.sequences)]
        self._forwards = 0

    @torch.no_grad()
    def outputs(self, candidates, part):
        self._forwards += len(candidates)
        n_read = self.batch.targets.shape[1]
        said = [self.model(self.batch.inputs, self.tap(one))[:, -n_read:] for one in candidates]
        return torch.stack(said)[:, part]

    def error(self, candidate):
        self.candidates += 1
        (said,) = self.outputs([candidate], slice(None))
        wrong = said.unflatten(-1, self.batch.targets.shape[2:]) - self.batch.targets
        return wrong.square().mean((1, 3))

    def errors(self, candidates):
        return torch.stack([self.error(candidate) for candidate in candidates])

    def losses(self, candidates, limit=math.inf):
        losses = [self.error(candidate).mean().item() for candidate in candidates]
        return [loss if loss < limit or limit == math.inf else math.inf for loss in losses]

    def worst(self, groups, limit=math.inf):
        return [max(self.losses(group, limit)) for group in groups]

    def gains(self, circuit, changes):
        self._forwards += 3
        return super().gains(circuit, changes)

    @property
    def forwards(self):
        return self._forwards
