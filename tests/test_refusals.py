"""Configs that cannot be: each is refused in one line, by the name of its field."""

import math

import pytest

from commands import refusing
from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.tasks import Conditional, Hops, Retrieval
from headway.training import Deepening, Mixture, RunConfig, TrainingConfig
from headway_experiments.curricula import FinalHop, FinalMixture, Gaps, Growing, PerLayer, Scheduled
from headway_experiments.language import Repeats
from headway_experiments.tasks import Associations, Bigrams, Composition, Recall, TwoHops
from headway_experiments.trained import Trained

CHAINS = {"d_token": (0, 3), "position_base": (1.0, 0.5, math.inf, math.nan), "n_chains": (0,)}
ALONE = {
    Retrieval: {"depth": (0,), **CHAINS},
    Conditional: {"n_values": (1,), **CHAINS},
    Hops: {"asked": ((), (0, 1), (2, 1)), "n_symbols": (2, 257), "n_places": (2,)},
    Associations: {"n_items": (1, True), "n_classes": (1,)},
    Recall: {"n_subjects": (0, True), "n_relations": (0,), "n_answers": (0,), "n_noise": (0,)}
    | {"length": (2,)},
    Composition: {"asked": ((), (2, 1)), "n_symbols": (1, 257), "hidden": (-1,)},
    Bigrams: {"length": (3,), "n_tokens": (1,), "n_triggers": (0,), "noise": (1.0,)}
    | {"concentration": (0.0,), "exponent": (-1.0, 1000.0)},
    Repeats: {"stretch": (0,), "lowest": (-1,)},
    TransformerConfig: {"n_layers": (0,), "d_mlp": (-1,)},
    TrainingConfig: {"weight_decay": (math.inf, math.nan), "betas": ((0.9, 1.0),), "steps": (True,)}
    | {"curriculum": ("nothing", 3)},
    Trained: {"weights": ("W_X", "W_K.a", "W_K.0 >", "2", "-1 W_K")},
}
"""Values that a field never takes."""
SECTIONS = {TransformerConfig: "model", TrainingConfig: "training", Trained: "training.curriculum"}
TOGETHER = [
    (Conditional, {"n_chains": 5}, "from 1 to 4"),
    (Associations, {"n_classes": 5, "n_items": 4}, ""),
    (Recall, {"n_noise": -1, "length": 3}, ""),
    (TwoHops, {"n_symbols": 8, "n_chains": 3}, ""),
    (Bigrams, {"layout": "pair", "asked_at": "all"}, ""),
    (Bigrams, {"layout": "pair", "asked_at": "in-context", "noise": 0.5}, ""),
    (Bigrams, {"n_triggers": 65}, "from 1 to 64"),
    (Repeats, {"n_places": 7}, "at least 8"),
    (Repeats, {"start": 50_000}, "below n_tokens"),
    (Repeats, {"n_tokens": 50_000, "lowest": 49_999}, "at least 50042"),
    (TransformerConfig, {"n_heads": 3, "d_model": 64}, "a divisor of model.d_model = 64"),
    (TrainingConfig, {"cooldown_steps": 6, "steps": 5}, "training.steps = 5"),
    (TrainingConfig, {"train_examples": 7, "batch_size": 8}, ""),
    (TrainingConfig, {"clamped_after": 9000, "steps": 9000}, "below 9000, the last clamped step"),
    (TrainingConfig, {"clamped_until": 9001, "steps": 9000}, "at most training.steps = 9000"),
    (TrainingConfig, {"clamped_after": 4, "clamped_until": 4}, "below 4, the last clamped step"),
    (TrainingConfig, {"weight_decay": 0.1, "optimizer": "sgd"}, "0 with"),
    *(
        (cls, {name: value}, "")
        for cls in ALONE
        for name in ALONE[cls]
        for value in ALONE[cls][name]
    ),
]
"""Fields of which the first has a value that it does not take beside the others, and what it may
be."""


@pytest.mark.parametrize(("cls", "fields", "allowed"), TOGETHER)
def test_a_value_that_cannot_be_is_refused_by_name(cls, fields, allowed):
    (name, value), *_ = fields.items()
    whole = f"{SECTIONS.get(cls, 'task')}.{name}"
    with refusing(f"{whole} = {value!r} is not allowed: it must be ", allowed):
        cls(**fields)


@pytest.mark.parametrize("device", ["", "tpu", "cuda:", "cuda:x", "cuda:-1", "mps:0", "cpu\n"])
def test_what_is_no_device(device):
    with refusing("it must be cpu, cuda, cuda:N or mps"):
        RunConfig(Retrieval(), device=device)


K_HOP, OF_HOPS = Hops(n_places=8), r"training\.curriculum\.hops = "
CURRICULA = [
    (Retrieval(1), Deepening(), "one depth only"),
    (Hops(), Deepening(), "it is for a chain under the causal mask"),
    (Conditional(), Deepening(), "one depth only"),
    (Conditional(), Mixture(), "^training.curriculum = mixture .* one depth"),
    (Retrieval(2, order="shallow-first"), Mixture(), "one depth only"),
    (Retrieval(3), Gaps(()), OF_HOPS + r"\(\) .* rise to 3, the number of hops"),
    *((Retrieval(3), Gaps(hops), OF_HOPS) for hops in ((3, 1), (1, 2), (1, 1, 3), (1, 4))),
    (K_HOP, FinalHop(), "^training.curriculum = final_hop .* asks for one hop"),
    (K_HOP, FinalMixture(), "= final_mixture .* one hop"),
    (Retrieval(1), Scheduled("random"), "= scheduled .* several hops"),
    (K_HOP, Scheduled("random"), "= scheduled .* several hops"),
    (Composition(asked=(4,)), Scheduled("random"), "= scheduled"),
    (Retrieval(), Scheduled("falling", 10), r"curriculum\.every = 10 .* last of 3 stages"),
    (Conditional(), Scheduled("rising", 10), r"curriculum\.every"),
    (Retrieval(2), Growing(20), r"curriculum\.every = 20 .* training.steps = 20"),
    (Conditional(), Growing(2), "= growing .* one depth"),
    (Conditional(), PerLayer(), "= per_layer .* hops of one chain"),
    (K_HOP, PerLayer(), "= per_layer"),
    (Retrieval(5), PerLayer(), r"^model\.n_layers = 4 .* at least 5, the number of hops"),
    (K_HOP, Trained("W_K > W_V", 20), "curriculum.every = 20 is not allowed"),
]
SGD = {"steps": 20, "cooldown_steps": 0, "warmup_steps": 0, "optimizer": "sgd", "weight_decay": 0.0}
MODELS = [
    *((task, {}, {**SGD, "curriculum": one}, told) for task, one, told in CURRICULA),
    *((K_HOP, {}, {"curriculum": {"kind": kind}}, f"kind = {kind!r}") for kind in ("nothing", 3)),
    (K_HOP, {}, {"optimizer": "muon", "curriculum": Trained("W_K")}, "optimizer = 'muon'"),
    *(
        (
            Retrieval(4),
            {"n_layers": n},
            {"curriculum": Deepening()},
            f"n_layers = {n} .* 4, the few",
        )
        for n in (3, 5)
    ),
    (Composition(), {"causal": True}, {}, r"^model\.causal = True is not allowed: .* later"),
    *(
        (
            Retrieval(2),
            {"n_layers": 3, "n_heads": 2},
            {"clamped": (path,)},
            f"= '{path}' .* {allowed}",
        )
        for path, allowed in (
            *((path, "3 layers of 2 heads") for path in ("L3.H0 s0←s2", "L0.H2 s0←s2")),
            *(("L0.H0 s0←s9", "along one of s0←s1"), ("s0←s2", "written as L1.H0 s0←s2")),
        )
    ),
]
"""Parts that do not go together: a task, fields of a model and of training, and what is told."""


@pytest.mark.parametrize(("task", "model", "training", "complaint"), MODELS)
def test_what_does_not_go_together_is_refused(task, model, training, complaint):
    model = {"causal": not task.looks_ahead, **model}
    with pytest.raises(HeadwayError, match=complaint) as refusal:
        RunConfig(task, TransformerConfig(**model), TrainingConfig(**training))
    assert "\n" not in str(refusal.value)
