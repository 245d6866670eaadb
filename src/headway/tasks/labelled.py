"""The retrieval problem with every position told its chain and its role."""

import torch
from torch import Tensor

from headway.tasks.base import Batch
from headway.tasks.retrieval import Retrieval, RetrievalConfig


class Labelled(Retrieval):
    """Samples the sequences of `Retrieval`, with labels in place of the position code.

    With D = 2 and the chains a b c and p q r, whose ids are 0 and 1, one sequence reads

        token   b  c    q  r    p  q    a  b    a   p
        chain   0  0    1  1    1  1    0  0    0   1
        role    s3 s4   s3 s4   s1 s2   s1 s2   s0  s0

    so the model reads a token (K numbers), a one-hot chain (N) and a one-hot role (2D + 1). Any
    attention along paths can be written into a single head, and so any pattern of paths planted
    in a model: for scoring discovery, not for learning. The config's position code is not used.
    """

    def __init__(self, config: RetrievalConfig | None = None, device: str = "cpu"):
        super().__init__(config, device)
        self.d_input = self.d_token + self.n_chains + len(self.role_names)

    def assemble(self, draws: tuple[Tensor, ...], depth: int | None = None) -> Batch:
        """Puts every chain's symbols at the slots drawn for it, and labels every position."""
        batch = super().assemble(draws, depth)
        roles = batch.roles
        count, n_roles, n_chains = roles.shape
        inputs = batch.inputs.new_zeros(count, batch.inputs.shape[1], self.d_input)
        inputs[..., : self.d_token] = batch.inputs[..., : self.d_token]
        at = torch.arange(count, device=roles.device)[:, None, None]
        chain = torch.arange(n_chains, device=roles.device)
        role = torch.arange(n_roles, device=roles.device)[:, None]
        inputs[at, roles, self.d_token + chain] = 1
        inputs[at, roles, self.d_token + n_chains + role] = 1
        return Batch(inputs, batch.targets, roles)
