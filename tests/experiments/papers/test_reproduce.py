import json
import shutil

import pytest
from known import GROUPS, written

from commands import refused
from headway.errors import HeadwayError
from headway.fields import to_json
from headway.terminal import cli
from headway.training import Run
from headway.training.config import FORMAT
from headway_experiments import figures, reproduce, result_files
from headway_experiments.curricula import FinalHop
from headway_experiments.paper import FIGURES, layers
from in_process import swept_here

UNLEARNT = {
    "ic_in_chain_order",
    "ic_later_costs_more",
    "d_in_chain_order",
    "d_induction_first",
    "d_looks_in_order",
    "d_reuse",
    "depths_correlation",
    "depths_first_hop_correlation",
    "circuits_more_layers=8",
    "circuits_more_width=32",
    "circuits_more_heads=2",
    "algorithm_tight_jumps",
    "algorithm_full_jumps",
    "algorithm_mixture_jumps",
    "algorithm_mixture_passes",
    "algorithm_by_mixture",
    "algorithm_by_model",
    "algorithm_by_curriculum",
    "algorithm_jump_layers",
    "algorithm_pass_layers",
    "algorithm_kept",
    "two_hops_fall",
    "two_hops_blind",
    "doubling_jumps",
    "heart_named_used",
    "heart_written_used",
}
"""Measures that smoke models, of one hop and shape, or that learn nothing, cannot show;
other tests do."""


QUICK = ("fig2", "theorem1", "fig5", "fig6", "appendix-e")
"""Those that take little time."""
DRAWN = {
    **{name: {name} for name in ("theorem1", "fig3", "fig4", "depths", "curricula")},
    **{name: {name} for name in ("algorithms", "identifiability")},
    **{name: {f"{name}-seed=1"} for name in ("fig5", "fig6", "appendix-d")},
    "fig7": {"fig7-emergence-seed=1"},
    "appendix-c": {"appendix-c-abc-seed=1", "appendix-c-d-seed=1"},
}
"""Some of the figures of every experiment that has any at this scale."""


@pytest.fixture(
    scope="module", params=[QUICK, pytest.param(tuple(FIGURES), marks=pytest.mark.slow)]
)
def names(request):
    """Some experiments, or all."""
    return request.param


@pytest.fixture(scope="module")
def smoke(names, tmp_path_factory):
    """Experiments at the smallest scale, run once."""
    folder = tmp_path_factory.mktemp("paper")
    asked = names if names == QUICK else ["paper"]
    with swept_here():
        cli.main(["reproduce", *asked, "--scale", "smoke", "--folder", str(folder)])
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_runs_and_is_drawn(smoke, names):
    for name in names:
        assert (smoke / "results" / "smoke" / f"{name}.json").exists()
    drawn = {path.stem for path in (smoke / "figures").glob("*.svg")}
    assert set().union(*(DRAWN.get(name, set()) for name in names)) <= drawn


def test_every_claim_but_those_of_language_models_is_measured(smoke, names):
    for claim in (claim for name in names for claim in FIGURES[name].claims):
        result = result_files.read(claim.figure, "smoke", smoke / "results")
        if claim.figure == "fig2":
            assert "language models" in result.missing
        else:
            assert claim.measure in result.measures, claim.measure
            is_unlearnt = claim.measure in UNLEARNT
            assert bool(result.measures[claim.measure]) != is_unlearnt, claim.measure


def test_no_folder_of_this_machine_is_told_in_the_results(smoke):
    for path in (smoke / "results").rglob("*.json"):
        assert str(smoke) not in path.read_text()


def test_runs_of_another_scale_are_not_taken_for_done(smoke):
    with pytest.raises(HeadwayError, match="is there already with"):
        GROUPS["abc"].costs("small", smoke)


def test_again_nothing_is_trained_and_the_same_is_drawn(smoke, capsys):
    before = contents(smoke / "figures"), contents(smoke / "abc")
    cli.main(
        ["reproduce", "fig5", "appendix-e", "--scale", "smoke", "--folder", str(smoke)]
    )
    after = contents(smoke / "figures"), contents(smoke / "abc")
    assert before == after
    assert "2 done before" in capsys.readouterr().out


def test_the_numbers_are_those_of_the_run_folders(smoke, names):
    found = result_files.read("fig5", "smoke", smoke / "results").measures
    for name, loss in found["abc_val_loss"].items():
        run = Run.open(smoke / "abc" / name)
        circuit = run.read("circuit.json")
        assert loss == run.metrics()[-1]["val_loss"]
        assert found["abc_replaced_loss"][name] == circuit["loss"]["replaced"]
        assert found["abc_useful_heads"][name] == circuit["useful_heads"]
    if "fig4" not in names:
        return
    final = result_files.read("fig4", "smoke", smoke / "results").measures[
        "non_ic_final_loss"
    ]
    for name, loss in final.items():
        lines = Run.open(smoke / "non-ic" / name).metrics()
        last = [m["val_loss"] for m in lines if m["step"] > lines[-1]["step"] - 100]
        assert loss == pytest.approx(sum(last) / len(last))


def test_claims_are_judged_from_the_results(smoke, capsys):
    cli.main(["claims", "--scale", "smoke", "--results", str(smoke / "results")])
    told = capsys.readouterr().out
    assert told.count("not run") >= 1
    gap = "Not measured: fig2, smoke: no language models are asked at scale smoke"
    assert gap in " ".join(told.split())
    assert told.count("holds") >= 5


@pytest.mark.parametrize("also", [[], ["--judge-only"]])
def test_a_dry_run_only_tells_the_cost(tmp_path, capsys, also):
    asked = ["reproduce", "fig4", "fig6", "--scale", "paper", "--folder", str(tmp_path)]
    cli.main([*asked, "--dry-run", *also])
    told = " ".join(capsys.readouterr().out.split())
    assert "PFLOP left" in told
    assert "ic: 0 of 64 done" in told
    assert list(tmp_path.iterdir()) == []


def test_what_is_done_so_far_can_be_judged_without_training(smoke, tmp_path):
    (run, *_) = sorted((smoke / "abc").glob("*/outcome.json"))
    shutil.copytree(run.parent, tmp_path / "abc" / run.parent.name)
    given = [
        "reproduce",
        "fig5",
        "--scale",
        "smoke",
        "--folder",
        str(tmp_path),
        "--judge-only",
    ]
    cli.main(given)
    planned = len(GROUPS["abc"].plan("smoke"))
    found = result_files.read("fig5", "smoke", tmp_path / "results")
    assert found is not None
    assert f"{planned - 1} of {planned} runs of abc are not done" in found.missing
    assert set(found.measures["abc_val_loss"]) == {run.parent.name}
    assert len(list((tmp_path / "abc").iterdir())) == 1


def test_the_costs_are_about_those_of_the_paper(tmp_path):
    """125 PFLOP for figure 4, 1.2 for each of A to C, 0.3 for D: attention itself adds
    little.
    """
    names = ("ic", "non-ic", "abc", "d")
    costs = {name: GROUPS[name].costs("paper", tmp_path)[0] for name in names}
    cost = {name: operations for name, _, _, operations in costs.values()}
    assert cost["ic"] + cost["non-ic"] == pytest.approx(125e15, rel=0.1)
    assert cost["abc"] / 3 == pytest.approx(1.2e15, rel=0.1)
    assert cost["d"] == pytest.approx(0.3e15, rel=0.1)
    assert [total for _, total, _, _ in costs.values()] == [64, 64, 3, 1]


def test_the_paper_scale_is_as_printed():
    (config,) = GROUPS["d"].plan("paper").values()
    assert config.model.n_layers == 24
    assert config.model.d_model == 512
    assert config.model.head_width == 16
    assert config.model.mlp_width == 0
    assert config.task.depth == 4
    assert config.training.steps == 6400
    for config in GROUPS["non-ic"].plan("paper").values():
        assert config.task.depth == 3
        assert config.training.curriculum == FinalHop()
        assert config.model.n_heads == 8
        assert config.training.batch_size == 512


def test_what_is_not_done_or_failed_is_said(smoke, tmp_path):
    fig6 = FIGURES["fig6"]
    found, missing = reproduce.measured(fig6, "smoke", tmp_path)
    assert found == {}
    assert missing == "1 of 1 runs of d are not done"
    folder = tmp_path / "d" / "seed=1"
    folder.mkdir(parents=True)
    config = Run.open(smoke / "d" / "seed=1").config
    (folder / "config.json").write_text(
        json.dumps({"format": FORMAT, **to_json(config)})
    )
    failed = {"status": "failed", "message": "the loss is nan", "step": 3, "seconds": 1}
    (folder / "outcome.json").write_text(json.dumps(failed))
    found, missing = reproduce.measured(fig6, "smoke", tmp_path)
    assert found == {}
    assert "d/seed=1 failed: the loss is nan" in missing
    assert {v.said for v in reproduce.verdicts(fig6, "smoke", found, missing)} == {
        "not run"
    }


def test_results_that_cannot_be_kept_are_told(tmp_path):
    words = ("reproduce", "fig3", "--folder", tmp_path, "--results", "/dev/null")
    assert "/dev/null" in refused(*words)


def test_later_hops_cost_more_only_if_they_do(tmp_path):
    hops = "x_1", "x_2", "x_3", "x_4"
    losses = {1: (0.9, 0.9), 2: (0.1, 0.9), 3: (0.1, 0.1)}
    steps = {
        n: {1: dict(zip(hops, (*two, 0.9, 0.9), strict=True))}
        for n, two in losses.items()
    }

    def found(folder):
        names = {n: f"layers={n},seed=0" for n in steps}
        return layers.by_layers(
            {name: written(folder, "ic", name, steps[n]) for n, name in names.items()},
            {},
        )

    once = found(tmp_path / "once")
    assert once["ic_later_costs_more"] == {
        "x_1, x_2": pytest.approx(0.8 / 3),
        "x_2, x_3": pytest.approx(0.8 / 3),
        "x_3, x_4": pytest.approx(0),
    }
    assert once["ic_rank_correlation"] == {"seed=0": pytest.approx(-1.0)}
    steps[2][200] = {"x_1": 0.9, "x_2": 0.1, "x_3": 0.9, "x_4": 0.9}
    again = found(tmp_path / "again")
    assert again["ic_later_costs_more"]["x_1, x_2"] < 0
    assert again["ic_in_chain_order"]["layers=3,seed=0"] == 1.0


def test_an_interrupt_tells_the_command_that_goes_on(tmp_path, monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.sweeps.sweep", stopped)
    words = ["reproduce", "fig4", "fig5", "--scale", "smoke", "--folder", str(tmp_path)]
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    assert stop.value.code == 130
    told = capsys.readouterr().err
    assert told == f"headway: interrupted; continue with: headway {' '.join(words)}\n"


def test_results_are_kept_where_nothing_can_be_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    cli.main(["reproduce", "theorem1", "--folder", str(tmp_path)])
    assert "without figures: they need" in capsys.readouterr().out
    assert (tmp_path / "results" / "small" / "theorem1.json").is_file()
