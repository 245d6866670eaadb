"""Models of one's own: is the induction circuit found, and is it faithful?

python benchmarks/own_models.py FOLDER --seeds 100 109. Three libraries' models are
trained by a plain loop on in-context bigrams, at even seeds in the package's task and
at odd ones in a task that is written here, kept in FOLDER, and searched with default
settings.
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
from torch import nn
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

import headway
from frame import options
from headway.relations import Edges, previous_token
from headway_experiments.tasks.bigrams import Bigrams
from strangers import HEADER, row

LENGTH, WIDTH, STEPS, SYMBOLS, LEADERS = 32, 64, 600, 16, 4
ABOVE = ("induction (all)", "induction (latest)", "follower")


@dataclass(frozen=True)
class Followers(headway.Task):
    """Random symbols; each of the first few is always followed by one drawn for its
    sequence.
    """

    @property
    def vocabulary(self):
        return SYMBOLS

    def draw(self, count, generator):
        free = torch.randint(SYMBOLS, (count, LENGTH + 1), generator=generator)
        return free, torch.randint(
            LEADERS, SYMBOLS, (count, LEADERS), generator=generator
        )

    def assemble(self, draws):
        tokens, followers = draws[0].clone(), draws[1]
        for at in range(LENGTH):
            last = tokens[:, at : at + 1]
            own = followers.gather(1, last.clamp(max=LEADERS - 1))
            tokens[:, at + 1 : at + 2] = own.where(
                last < LEADERS, tokens[:, at + 1 : at + 2]
            )
        asked = self._met(tokens[:, :-1]).any(2)
        targets = tokens[:, 1:].where(asked, headway.IGNORE_INDEX)
        return headway.Batch(tokens[:, :-1], targets[..., None])

    def _met(self, tokens):
        same = (tokens[:, :, None] == tokens[:, None]).tril(-1)
        return same & (tokens < LEADERS)[:, :, None]

    def relations(self, batch):
        same = self._met(batch.inputs)
        found = {
            "same leader": Edges.where(same),
            "follower": Edges.where(same.roll(1, 2)),
        }
        return found | {"previous token": previous_token(batch.inputs)}


class Encoder(nn.Module):
    """`nn.TransformerEncoder` with learnt places and the causal mask."""

    def __init__(self, vocabulary):
        super().__init__()
        self.token, self.place = (
            nn.Embedding(vocabulary, WIDTH),
            nn.Embedding(LENGTH, WIDTH),
        )
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 4 * WIDTH, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(WIDTH, vocabulary)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        return self.out(
            self.encoder(self.token(tokens) + self.place.weight, mask, is_causal=True)
        )


def neox(vocabulary):
    config = GPTNeoXConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=4 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    return GPTNeoXForCausalLM(config)


def wrapper(vocabulary):
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=WIDTH, depth=2, heads=2, attn_dim_head=WIDTH // 2)
    return TransformerWrapper(
        num_tokens=vocabulary, max_seq_len=LENGTH, attn_layers=layers
    )


MODELS = {"GPT-NeoX": neox, "nn.TransformerEncoder": Encoder, "x-transformers": wrapper}
TASKS = (Bigrams(length=LENGTH, n_tokens=32, asked_at="in-context"), Followers())


def trained(file, build, task, seed):
    """A model from a file; trained first if there is none."""
    torch.manual_seed(seed)
    model = build(task.vocabulary)
    if not file.exists():
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, STEPS)
        generator = torch.Generator().manual_seed(seed)
        for _ in range(STEPS):
            batch = task.sample(32, generator)
            outputs = model(batch.inputs)
            loss = task.targets.loss(getattr(outputs, "logits", outputs), batch.targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rate.step()
        torch.save(model.state_dict(), file)
    model.load_state_dict(torch.load(file, weights_only=True))
    return model.eval()


def main():
    given = options(__doc__, folder=[Path], seeds=(100, 109))
    print(HEADER)
    for name, seed in product(MODELS, range(given.seeds[0], given.seeds[1] + 1)):
        task = TASKS[seed % 2]
        file = given.folder[0] / f"{name}-{task.kind}-{seed}.pt"
        line, found = row(file.stem, trained(file, MODELS[name], task, seed), task)
        layers = {(path.layer, path.relation) for path in found.circuit.paths}
        right = (0, "previous token") in layers and layers & {
            (1, above) for above in ABOVE
        }
        print(line, "right" if right else "WRONG", flush=True)


if __name__ == "__main__":
    main()
