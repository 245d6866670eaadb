"""Without the implicit curriculum nothing is learnt (Musat 2024, section 7.2), at smoke scale."""

from dataclasses import replace

import pytest

from headway.training import fast, train


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_plateau_stays_without_the_curriculum_and_falls_with_it(tmp_path, seed):
    losses = {}
    for curriculum in (True, False):
        config = fast(depth=2, seed=seed, mixture=False)
        # Both get the same steps at the same rates.
        training = replace(
            config.training,
            steps=450,
            cooldown_steps=0,
            cooldown_below=0.0,
            stop_below=0.0,
            checkpoint_every=0,
        )
        config = replace(
            config, task=replace(config.task, curriculum=curriculum), training=training
        )
        metrics = train(config, tmp_path / str(curriculum)).metrics()
        losses[curriculum] = metrics[-1]["val_loss"]
    assert losses[False] > 0.7
    assert losses[True] < 0.6
