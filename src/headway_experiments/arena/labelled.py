"""The retrieval problem with every position told its chain and its role."""

from dataclasses import dataclass

import torch
from torch import Tensor

from headway.tasks import Batch, Retrieval


@dataclass(frozen=True)
class Labelled(Retrieval):
    """The sequences of `Retrieval`, with labels in place of the position code.

    With D = 2 and the chains a b c and p q r, whose ids are 0 and 1, one sequence reads

        token   b  c    q  r    p  q    a  b    a   p
        chain   0  0    1  1    1  1    0  0    0   1
        role    s3 s4   s3 s4   s1 s2   s1 s2   s0  s0

    so the model reads a token (K numbers), a one-hot chain (N) and a one-hot role (2D + 1). Any
    attention along paths can be written into a single head, and so any pattern of paths planted
    in a model: for scoring discovery, not for learning. The position code is not used.
    """

    def assemble(self, draws: tuple[Tensor, ...]) -> Batch:
        batch = super().assemble(draws)
        roles = batch.roles
        count, n_roles, n_chains = roles.shape
        k, length = self.d_token, batch.inputs.shape[1]
        inputs = batch.inputs.new_zeros(count, length, k + n_chains + n_roles)
        inputs[..., :k] = batch.inputs[..., :k]
        at = torch.arange(count, device=roles.device)[:, None, None]
        chain = torch.arange(n_chains, device=roles.device)
        role = torch.arange(n_roles, device=roles.device)[:, None]
        inputs[at, roles, k + chain] = 1
        inputs[at, roles, k + n_chains + role] = 1
        return Batch(inputs, batch.targets, roles)

    def flow(self) -> None:
        """None: where every position is told its role, attention needs nothing in common."""
        return None
