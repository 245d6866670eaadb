"""A model of Hugging Face's, as it is: a small GPT-2, trained here, and the relation of
its head.

pip install '.[llm]'
"""

import torch
from torch.nn.functional import cross_entropy
from transformers import GPT2Config, GPT2LMHeadModel

from headway import discover, tapped
from own_loop import TwoBack

if __name__ == "__main__":
    task = TwoBack()
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=task.vocabulary,
        n_positions=task.length,
        n_embd=32,
        n_layer=1,
        n_head=1,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    for step in range(1, 201):
        batch = task.sample(32, generator)
        logits = model(batch.inputs).logits[:, -task.n_read :]
        loss = cross_entropy(logits.flatten(0, 1), batch.targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}  loss {loss:.3f}", flush=True)

    model.eval()  # without dropout
    print("layers:", tapped(model, batch.inputs[:2]).n_layers)
    print(discover(model, task))  # L0.H0: 2 back
