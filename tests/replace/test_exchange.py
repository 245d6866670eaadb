import pytest
import torch
from torch.testing import assert_close

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
from sampling import seeded

TASK = Retrieval(depth=2, n_chains=2)


def model_of(task, n_layers=2, **shape):
    config = TransformerConfig(n_layers=n_layers, d_model=12, n_heads=2, **shape)
    sizes = (task.d_input, task.d_target, task.length, task.n_read, 0, task.vocabulary)
    return moved(Transformer(config, *sizes))


def exchange_of(model, count=6):
    given = partners(TASK, count, seeded(0))
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
    patterns = {}
    values = {}
    for source, batch in batches.items():
        pattern, value = carried(model, batch.inputs, layer)
        patterns[source] = pattern[:, number]
        values[source] = value[:, number]
    share = torch.rand(patterns[OWN].shape, generator=seeded(1))
    own = Term(share, OWN, OWN)
    elsewhere = Term(1 - share, OWN, ELSEWHERE)
    swap = (own, elsewhere, Term(0.5, PARTNER, PARTNER))
    read = torch.zeros_like(values[OWN])
    for term in swap:
        read += term.share * patterns[term.attends] @ values[term.reads]
    expected = with_read(model, exchange.batch.inputs, head, read)
    said = next(exchange.outputs([Change({head: swap})]))
    assert_close(said, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(said, exchange.outputs_of[OWN], atol=1e-3)


def test_changes_side_by_side_are_those_alone(monkeypatch):
    exchange = exchange_of(model_of(TASK))
    whole_head = Change({(0, 0): WHOLE_HEAD})
    several = Change({(0, 1): (), (1, 1): WHOLE_HEAD}, {(1, 0): Identity()})
    changes = [whole_head, Change({}), several]
    together = [*exchange.outputs(changes)]
    monkeypatch.setattr("headway.replace.ablation.TOGETHER", 1)
    alone = [*exchange.outputs(changes)]
    assert_close(together, alone, atol=1e-5, rtol=1e-5)
    assert_close(together[1], exchange.outputs_of[OWN], atol=1e-5, rtol=1e-5)


def test_with_every_head_exchanged_one_layer_adds_what_it_adds_in_the_partner():
    model = model_of(TASK, n_layers=1, d_mlp=0)
    exchange = exchange_of(model)
    every = Change(dict.fromkeys(exchange.heads, WHOLE_HEAD))
    said = next(exchange.outputs([every]))
    own = exchange.batch.inputs
    theirs = exchange.others[PARTNER].batch.inputs
    block = model.layers[0]
    attended = block.attn(block.ln1(model.embedded(theirs)), model.mask)
    expected = model.read(block.finish(model.embedded(own) + attended))
    assert_close(said, expected, atol=1e-5, rtol=1e-5)


def changes_of_many_kinds(sequences, length):
    share = torch.rand(sequences, length, 1, generator=seeded(1))
    mixed = (Term(share, OWN, ELSEWHERE), Term(1 - share, PARTNER, PARTNER))
    exchanged = {(0, 0): WHOLE_HEAD}
    return [
        Change(exchanged),
        Change({(1, 1): ()}),
        Change({}),
        Change({**exchanged, (1, 0): mixed}),
        Change({**exchanged, (1, 0): mixed}, {(0, 1): Identity()}),
        Change({}, {(1, 1): Identity()}),
    ]


def test_a_tapped_module_gives_what_the_model_gives():
    model = model_of(TASK)
    ours = exchange_of(model)
    theirs = exchange_of(tapped(Plain(model), ours.batch.inputs[:2]))
    changes = changes_of_many_kinds(*ours.batch.inputs.shape[:2])
    expected = [*theirs.outputs(changes)]
    said = [*ours.outputs(changes)]
    assert_close(said, expected, atol=1e-5, rtol=1e-5)
    # What is shared is computed once, and only from the first layer that changes.
    assert ours.passes - 1 < theirs.passes - 3


def test_what_is_no_module_of_torch_is_refused():
    given = partners(TASK, 16, seeded(0))
    with pytest.raises(
        HeadwayError, match=r"^model = Foreign is not allowed: .* torch\.nn"
    ):
        Exchange.among(Foreign(model_of(TASK)), TASK, given)
