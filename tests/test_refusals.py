"""Configs that cannot be: each is refused in one line, by the name of its field."""

import math

import pytest

from commands import refusing
from headway.errors import HeadwayError
from headway.models import TransformerConfig
from headway.tasks import Conditional, Hops, Retrieval
from headway.training import Deepening, Mixture, RunConfig, TrainingConfig
from headway_experiments.curricula import (
    FinalHop,
    FinalMixture,
    Gaps,
    Growing,
    PerLayer,
    Scheduled,
)
from headway_experiments.language import Repeats
from headway_experiments.tasks import (
    Associations,
    Bigrams,
    Composition,
    Recall,
    TwoHops,
)
from headway_experiments.trained import Trained

CHAINS = {
    "d_token": (0, 3),
    "position_base": (1.0, 0.5, math.inf, math.nan),
    "n_chains": (0,),
}
RECALL = dict.fromkeys(("n_subjects", "n_relations", "n_answers", "n_noise"), (0,))
RECALL |= {"n_subjects": (0, True), "length": (2,)}
BIGRAMS = {"length": (3,), "n_tokens": (1,), "n_triggers": (0,), "noise": (1.0,)}
BIGRAMS |= {"concentration": (0.0,), "exponent": (-1.0, 1000.0)}
TRAINING = {"weight_decay": (math.inf, math.nan), "betas": ((0.9, 1.0),)}
TRAINING |= {"steps": (True,), "curriculum": ("nothing", 3)}
WEIGHTS = ("W_X", "W_K.a", "W_K.0 >", "2", "-1 W_K")
ALONE = {
    Retrieval: {"depth": (0,), **CHAINS},
    Conditional: {"n_values": (1,), **CHAINS},
    Hops: {"asked": ((), (0, 1), (2, 1)), "n_symbols": (2, 257), "n_places": (2,)},
    Associations: {"n_items": (1, True), "n_classes": (1,)},
    Composition: {"asked": ((), (2, 1)), "n_symbols": (1, 257), "hidden": (-1,)},
    Repeats: {"stretch": (0,), "lowest": (-1,)},
}
ALONE |= {Recall: RECALL, Bigrams: BIGRAMS}
ALONE |= {
    TransformerConfig: {"n_layers": (0,), "d_mlp": (-1,)},
    TrainingConfig: TRAINING,
}
ALONE[Trained] = {"weights": WEIGHTS}
"""Values that a field never takes."""

SECTIONS = {
    TransformerConfig: "model",
    TrainingConfig: "training",
    Trained: "training.curriculum",
}
PAIRS = {"layout": "pair"}
LAST_CLAMPED = "the last clamped step"


def complaint_of(cls, name, value):
    section = SECTIONS.get(cls, "task")
    return f"{section}.{name} = {value!r} is not allowed: it must be "


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        pytest.param(cls, name, value, id=f"{cls.__name__}-{name}-{value!r}")
        for cls, fields in ALONE.items()
        for name, values in fields.items()
        for value in values
    ],
)
def test_a_value_that_a_field_never_takes_is_refused_by_name(cls, name, value):
    with refusing(complaint_of(cls, name, value)):
        cls(**{name: value})


@pytest.mark.parametrize(
    ("cls", "fields", "allowed"),
    [
        (Conditional, {"n_chains": 5}, "from 1 to 4"),
        (Associations, {"n_classes": 5, "n_items": 4}, ""),
        (Recall, {"n_noise": -1, "length": 3}, ""),
        (TwoHops, {"n_symbols": 8, "n_chains": 3}, ""),
        (Bigrams, {**PAIRS, "asked_at": "all"}, ""),
        (Bigrams, {**PAIRS, "asked_at": "in-context", "noise": 0.5}, ""),
        (Bigrams, {"n_triggers": 65}, "from 1 to 64"),
        (Repeats, {"n_places": 7}, "at least 8"),
        (Repeats, {"start": 50_000}, "below n_tokens"),
        (Repeats, {"n_tokens": 50_000, "lowest": 49_999}, "at least 50042"),
        (
            TransformerConfig,
            {"n_heads": 3, "d_model": 64},
            "a divisor of model.d_model = 64",
        ),
        (TrainingConfig, {"cooldown_steps": 6, "steps": 5}, "training.steps = 5"),
        (TrainingConfig, {"train_examples": 7, "batch_size": 8}, ""),
        (
            TrainingConfig,
            {"clamped_after": 9000, "steps": 9000},
            f"below 9000, {LAST_CLAMPED}",
        ),
        (
            TrainingConfig,
            {"clamped_until": 9001, "steps": 9000},
            "at most training.steps = 9000",
        ),
        (
            TrainingConfig,
            {"clamped_after": 4, "clamped_until": 4},
            f"below 4, {LAST_CLAMPED}",
        ),
        (TrainingConfig, {"weight_decay": 0.1, "optimizer": "sgd"}, "0 with"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(cls, fields, allowed):
    name, value = next(iter(fields.items()))
    with refusing(complaint_of(cls, name, value), allowed):
        cls(**fields)


@pytest.mark.parametrize(
    "device", ["", "tpu", "cuda:", "cuda:x", "cuda:-1", "mps:0", "cpu\n"]
)
def test_what_is_no_device(device):
    with refusing("it must be cpu, cuda, cuda:N or mps"):
        RunConfig(Retrieval(), device=device)


K_HOP = Hops(n_places=8)
OF_HOPS = r"training\.curriculum\.hops = "
GAPS = [(3, 1), (1, 2), (1, 1, 3), (1, 4)]
RANDOM = Scheduled("random")
SGD = {
    "steps": 20,
    "cooldown_steps": 0,
    "warmup_steps": 0,
    "optimizer": "sgd",
    "weight_decay": 0.0,
}


def refused(task, model, training, complaint):
    """A run's config is refused in one line that has the complaint in it."""
    causal = not task.looks_ahead
    fields = {"causal": causal, **model}
    with pytest.raises(HeadwayError, match=complaint) as refusal:
        RunConfig(task, TransformerConfig(**fields), TrainingConfig(**training))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("task", "curriculum", "complaint"),
    [
        (Retrieval(1), Deepening(), "one depth only"),
        (Hops(), Deepening(), "it is for a chain under the causal mask"),
        (Conditional(), Deepening(), "one depth only"),
        (Conditional(), Mixture(), "^training.curriculum = mixture .* one depth"),
        (Retrieval(2, order="shallow-first"), Mixture(), "one depth only"),
        (Retrieval(3), Gaps(()), OF_HOPS + r"\(\) .* rise to 3, the number of hops"),
        *((Retrieval(3), Gaps(hops), OF_HOPS) for hops in GAPS),
        (K_HOP, FinalHop(), "^training.curriculum = final_hop .* asks for one hop"),
        (K_HOP, FinalMixture(), "= final_mixture .* one hop"),
        (Conditional(), PerLayer(), "= per_layer .* hops of one chain"),
        (K_HOP, PerLayer(), "= per_layer"),
        (
            Retrieval(5),
            PerLayer(),
            r"^model\.n_layers = 4 .* at least 5, the number of hops",
        ),
        (Retrieval(1), RANDOM, "= scheduled .* several hops"),
        (K_HOP, RANDOM, "= scheduled .* several hops"),
        (Composition(asked=(4,)), RANDOM, "= scheduled"),
        (
            Retrieval(),
            Scheduled("falling", 10),
            r"curriculum\.every = 10 .* last of 3 stages",
        ),
        (Conditional(), Scheduled("rising", 10), r"curriculum\.every"),
        (Retrieval(2), Growing(20), r"curriculum\.every = 20 .* training.steps = 20"),
        (Conditional(), Growing(2), "= growing .* one depth"),
        (K_HOP, Trained("W_K > W_V", 20), "curriculum.every = 20 is not allowed"),
    ],
)
def test_a_curriculum_that_is_not_for_the_task_is_refused(task, curriculum, complaint):
    refused(task, {}, {**SGD, "curriculum": curriculum}, complaint)


@pytest.mark.parametrize("kind", ["nothing", 3])
def test_a_curriculum_of_an_unknown_kind_is_refused(kind):
    refused(K_HOP, {}, {"curriculum": {"kind": kind}}, f"kind = {kind!r}")


def test_weights_are_not_trained_alone_by_muon():
    training = {"optimizer": "muon", "curriculum": Trained("W_K")}
    refused(K_HOP, {}, training, "optimizer = 'muon'")


@pytest.mark.parametrize("n_layers", [3, 5])
def test_deepening_has_the_fewest_layers(n_layers):
    complaint = f"n_layers = {n_layers} .* 4, the few"
    refused(
        Retrieval(4), {"n_layers": n_layers}, {"curriculum": Deepening()}, complaint
    )


def test_a_task_that_looks_ahead_has_no_causal_model():
    complaint = r"^model\.causal = True is not allowed: .* later"
    refused(Composition(), {"causal": True}, {}, complaint)


CLAMPED = {
    "L3.H0 s0←s2": "3 layers of 2 heads",
    "L0.H2 s0←s2": "3 layers of 2 heads",
    "L0.H0 s0←s9": "along one of s0←s1",
    "s0←s2": "written as L1.H0 s0←s2",
}


@pytest.mark.parametrize("path", CLAMPED)
def test_a_path_that_is_not_in_the_model_is_not_clamped(path):
    complaint = f"= '{path}' .* {CLAMPED[path]}"
    model = {"n_layers": 3, "n_heads": 2}
    refused(Retrieval(2), model, {"clamped": (path,)}, complaint)
