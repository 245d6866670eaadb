import torch

from headway.models import Transformer, TransformerConfig, accuracy_lens, logit_lens, loss_lens
from headway.tasks import Hops


def test_every_layer_is_read_as_if_it_were_the_last():
    task = Hops(asked=(1, 2), n_places=12)
    shape = TransformerConfig(n_layers=3, d_model=16, n_heads=2, init="fan_in")
    sizes = (task.d_input, task.d_target, task.length, task.n_read)
    model = Transformer(shape, *sizes, vocabulary=task.vocabulary)
    batch = task.sample(8, torch.Generator().manual_seed(0))
    whole = list(model.blocks)
    told, losses = logit_lens(model, batch.inputs), loss_lens(model, task, batch)
    right = accuracy_lens(model, task, batch)
    assert told.shape == (3, 8, task.n_read, task.vocabulary)
    assert losses.shape == right.shape == (3, 2)
    for layer in range(3):
        model.blocks = torch.nn.ModuleList(whole[: layer + 1])
        torch.testing.assert_close(told[layer], model(batch.inputs))
        each = torch.nn.functional.cross_entropy(
            told[layer].flatten(0, 1).repeat_interleave(2, 0),
            batch.targets.flatten(),
            reduction="none",
        ).unflatten(0, (8, task.n_read, 2))
        asked = batch.targets >= 0
        for hop in (0, 1):
            torch.testing.assert_close(losses[layer, hop], each[..., hop][asked[..., hop]].mean())
            said = told[layer].argmax(-1)[asked[..., hop]]
            wanted = batch.targets[..., hop][asked[..., hop]]
            torch.testing.assert_close(right[layer, hop], (said == wanted).float().mean())
