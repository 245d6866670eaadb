"""The slow, obvious way to ablate: entry by entry."""

import torch

from headway.circuits import Identity, KnockOut, Uniform


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
