"""The runs that the paper's figures are made of (Musat 2024), as groups, at three scales.

`paper` is as printed, for a GPU. `small` asks the same of models that two cores train in minutes,
with sequences of the full depth alone, as in the paper; what it changes is told at each group.
`smoke` only shows that everything works, in seconds.
"""

from headway.changes import changed
from headway.models import TransformerConfig
from headway.papers.setups.group import Configs, Group, crossed, roomy, smoke
from headway.tasks import Retrieval
from headway.training import RunConfig, TrainingConfig
from headway.training.curriculum import FinalHop
from headway.training.recipes import paper


def with_curriculum(scale: str) -> Configs:
    """Section 7, IC: one to eight layers, eight seeds each.

    Small: D = 4 instead of 5, one to six layers of four heads, width 64, trained as `fast` trains.
    """
    match scale:
        case "paper":
            return crossed(range(1, 9), range(8), lambda n, seed: _section_7(5, n, seed))
        case "small":
            return crossed(range(1, 7), range(8), lambda n, seed: _small_layers(4, n, seed))
        case _:
            return crossed((1, 2), (0, 1), smoke)


def without_curriculum(scale: str) -> Configs:
    """Section 7, non-IC, D = 3: one to eight layers, eight seeds each.

    Small: as with the curriculum; 1, 2, 3, 4, 6 and 8 layers, three seeds.
    """

    def small(layers: int, seed: int) -> RunConfig:
        return changed(_small_layers(3, layers, seed), {"training.curriculum": FinalHop()})

    def full(layers: int, seed: int) -> RunConfig:
        return changed(_section_7(3, layers, seed), {"training.curriculum": FinalHop()})

    def short(layers: int, seed: int) -> RunConfig:
        fields = {"task.depth": 3, "training.curriculum": FinalHop(), "training.steps": 40}
        return changed(smoke(layers, seed), {**fields, "training.cooldown_steps": 10})

    match scale:
        case "paper":
            return crossed(range(1, 9), range(8), full)
        case "small":
            return crossed((1, 2, 3, 4, 6, 8), range(3), small)
        case _:
            return crossed((1, 2), (0, 1), short)


def transformers_abc(scale: str) -> Configs:
    """Section 8: Transformers A, B and C, 12 layers of one head, D = 3.

    Small: eight seeds of `fast` with 12 layers, so that there are as many heads to
    do without.
    """
    match scale:
        case "paper":
            return {name: paper(3, seed) for seed, name in enumerate("ABC")}
        case "small":
            more = {"model.n_layers": 12}
            return {f"seed={seed}": changed(roomy(3, seed), more) for seed in range(8)}
        case _:
            return {f"seed={seed}": smoke(3, seed) for seed in (1, 2)}


def transformer_d(scale: str) -> Configs:
    """Section 9: Transformer D, 24 layers of one head without MLPs, D = 4; a checkpoint every 80
    steps.

    Small: four seeds of `fast` with 7 layers, which have MLPs.
    """
    match scale:
        case "paper":
            training = TrainingConfig(steps=6_400, batch_size=256, checkpoint_every=80)
            model = TransformerConfig(n_layers=24, d_model=512, n_heads=1, d_head=16, d_mlp=0)
            return {"D": RunConfig(Retrieval(depth=4), model, training)}
        case "small":
            return {f"seed={seed}": roomy(4, seed) for seed in range(4)}
        case _:
            return {"seed=1": smoke(3, 1)}


PRINTED = (
    Group("ic", "with the curriculum, by layers", with_curriculum),
    Group("non-ic", "without the curriculum, by layers", without_curriculum),
    Group("abc", "Transformers A, B, C", transformers_abc, taken_apart=True),
    Group("d", "Transformer D", transformer_d, taken_apart=True),
)


def _section_7(depth: int, layers: int, seed: int) -> RunConfig:
    """As printed: 8 heads, width 128, 10 000 steps of 512 from 2^20 sequences, Adam 1e-3."""
    return RunConfig(
        task=Retrieval(depth=depth),
        model=TransformerConfig(n_layers=layers, d_model=128, n_heads=8),
        training=TrainingConfig(
            steps=10_000,
            batch_size=512,
            train_examples=2**20,
            eval_every=50,
            checkpoint_every=0,
            save_every=500,
        ),
        seed=seed,
    )


def _small_layers(depth: int, layers: int, seed: int) -> RunConfig:
    return changed(
        roomy(depth, seed),
        {
            "model.n_layers": layers,
            "model.n_heads": 4,
            "training.steps": 2_000,
            "training.batch_size": 64,
            "training.weight_decay": 0.05,
            "training.cooldown_steps": 1_000,
            "training.patience": 0,
            "training.stop_below": 0.04,
            "training.checkpoint_every": 0,
        },
    )
