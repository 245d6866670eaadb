import pytest
import torch

from headway.errors import HeadwayError
from headway.models import Transformer, TransformerConfig, tapped
from headway.replace.exchange import (
    ELSEWHERE,
    OWN,
    PARTNER,
    WHOLE_HEAD,
    Change,
    Exchange,
    Term,
)
from headway.replace.mechanism import Identity
from headway.replace.partners import partners
from headway.tasks import Retrieval
from known_circuits import Foreign
from random_models import Plain, moved

TASK = Retrieval(depth=2, n_chains=2)


def model_of(task, seed=0):
    config = TransformerConfig(n_layers=2, d_model=12, n_heads=2)
    sizes = (
        task.d_input,
        task.d_target,
        task.length,
        task.n_read,
        seed,
        task.vocabulary,
    )
    return moved(Transformer(config, *sizes), seed)


def exchange_of(model, count=6):
    given = partners(TASK, count, torch.Generator().manual_seed(0))
    return Exchange.among(model, TASK, given)


def carried(model, inputs, layer):
    """The pattern and the values of a layer, [sequence, head, position, …]."""
    _, cache = model.run_with_cache(inputs)
    return cache["pattern", layer], cache["v", layer].transpose(1, 2)


def with_read(model, inputs, head, read):
    """The outputs when a head reads something else, [sequence, position, d_head]."""
    layer, number = head

    def put(z, hook):
        z[:, :, number] = read

    return model.run_with_hooks(inputs, [(f"blocks.{layer}.attn.hook_z", put)])


@pytest.mark.parametrize("head", [(0, 1), (1, 0)])
def test_a_head_reads_the_sum_of_its_terms(head):
    model = model_of(TASK)
    exchange = exchange_of(model)
    batches = {
        OWN: exchange.batch,
        **{name: p.batch for name, p in exchange.others.items()},
    }
    layer, number = head
    patterns, values = {}, {}
    for source, batch in batches.items():
        pattern, value = carried(model, batch.inputs, layer)
        patterns[source], values[source] = pattern[:, number], value[:, number]
    share = torch.rand(patterns[OWN].shape, generator=torch.Generator().manual_seed(1))
    swap = (
        Term(share, OWN, OWN),
        Term(1 - share, OWN, ELSEWHERE),
        Term(0.5, PARTNER, PARTNER),
    )
    read = sum(
        term.share * patterns[term.attends] @ values[term.reads] for term in swap
    )
    expected = with_read(model, exchange.batch.inputs, head, read)
    said = next(exchange.outputs([Change({head: swap})]))
    torch.testing.assert_close(said, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(said, exchange.outputs_of[OWN], atol=1e-3)


def test_changes_side_by_side_are_those_alone(monkeypatch):
    exchange = exchange_of(model_of(TASK))
    changes = [
        Change({(0, 0): WHOLE_HEAD}),
        Change({}),
        Change({(0, 1): (), (1, 1): WHOLE_HEAD}, {(1, 0): Identity()}),
    ]
    together = [*exchange.outputs(changes)]
    monkeypatch.setattr("headway.replace.exchange.TOGETHER", 1)
    alone = [*exchange.outputs(changes)]
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        together[1], exchange.outputs_of[OWN], atol=1e-5, rtol=1e-5
    )


def test_with_every_head_exchanged_one_layer_adds_what_it_adds_in_the_partner():
    config = TransformerConfig(n_layers=1, d_model=12, n_heads=2, d_mlp=0)
    sizes = (TASK.d_input, TASK.d_target, TASK.length, TASK.n_read, 0, TASK.vocabulary)
    model = moved(Transformer(config, *sizes), 0)
    exchange = exchange_of(model)
    every = Change(dict.fromkeys(exchange.heads, WHOLE_HEAD))
    said = next(exchange.outputs([every]))
    own, theirs = (
        batch.inputs for batch in (exchange.batch, exchange.others[PARTNER].batch)
    )
    block = model.layers[0]
    attended = block.attn(block.ln1(model.embedded(theirs)), model.mask)
    expected = model.read(block.finish(model.embedded(own) + attended))
    torch.testing.assert_close(said, expected, atol=1e-5, rtol=1e-5)


def test_a_tapped_module_gives_what_the_model_gives():
    model = model_of(TASK)
    ours = exchange_of(model)
    theirs = exchange_of(tapped(Plain(model), ours.batch.inputs[:2]))
    changes = [Change({(0, 0): WHOLE_HEAD}), Change({(1, 1): ()})]
    expected, said = [*ours.outputs(changes)], [*theirs.outputs(changes)]
    torch.testing.assert_close(said, expected, atol=1e-5, rtol=1e-5)


def test_what_is_no_module_of_torch_is_refused():
    given = partners(TASK, 16, torch.Generator().manual_seed(0))
    with pytest.raises(
        HeadwayError, match=r"^model = Foreign is not allowed: .* torch\.nn"
    ):
        Exchange.among(Foreign(model_of(TASK)), TASK, given)
