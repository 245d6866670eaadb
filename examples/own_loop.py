"""A model and a loop of one's own, recorded: `headway report runs/own-loop` makes its
page.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from headway import Batch, Recorder, Task, discover, emergence


@dataclass(frozen=True)
class TwoBack(Task):
    """Random tokens; the answer at every position from the third on is the token two
    back.
    """

    vocabulary = 6

    def draw(self, count, generator):
        return (
            torch.randint(6, (count, 10), generator=generator, device=generator.device),
        )

    def assemble(self, draws):
        return Batch(draws[0], draws[0][:, :-2, None])


class Model(nn.Module):
    """One layer of attention with a causal mask; nothing in it knows of headway."""

    def __init__(self, width=32):
        super().__init__()
        self.token, self.place = nn.Embedding(6, width), nn.Embedding(10, width)
        self.attention = nn.MultiheadAttention(width, num_heads=1, batch_first=True)
        self.out = nn.Linear(width, 6)

    def forward(self, tokens):
        x = self.token(tokens) + self.place.weight[: tokens.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.out(x + self.attention(x, x, x, attn_mask=mask)[0])


if __name__ == "__main__":
    torch.manual_seed(0)
    task, model = TwoBack(), Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    with Recorder("runs/own-loop", model, task) as recorder:
        for step in range(1, 101):
            batch = task.sample(32, generator)
            logits = model(batch.inputs)[:, -task.n_read :]
            loss = cross_entropy(logits.flatten(0, 1), batch.targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 5 == 0:
                recorder.save(step, loss)
    found = discover("runs/own-loop")
    print(found)  # L0.H0: 2 back
    print(emergence("runs/own-loop", found))
