"""What the machine can do, as far as a run depends on it."""

import pytest
import torch

from headway.training import environment


@pytest.mark.parametrize(
    ("flags", "has"),
    [
        ("fpu avx512f avx512_bf16 sse", True),
        ("fpu amx_bf16 amx_tile", True),
        ("fp asimd bf16 i8mm", True),
        ("fpu avx512f avx512bw", False),
        ("", False),
    ],
)
def test_instructions_for_bfloat16_are_read_from_the_processor(monkeypatch, flags, has):
    monkeypatch.setattr(environment, "_cpuinfo", lambda *_: flags)
    assert environment.multiplies_bfloat16.__wrapped__() is has


def test_as_many_threads_are_useful_as_make_products_quicker(monkeypatch):
    before = torch.get_num_threads()
    took = {1: 1.0, 2: 0.55, 3: 0.54, 4: 0.3}
    timings = lambda *_, **__: [took[torch.get_num_threads()]] * 4  # noqa: E731
    monkeypatch.setattr(environment.timeit, "repeat", timings)
    torch.set_num_threads(4)
    try:
        assert environment.useful_threads(1) == 1
        assert environment.useful_threads() == 2
        assert environment.useful_threads(3) == 2
        assert environment.useful_threads(4) == 4
        assert torch.get_num_threads() == 4
        torch.set_num_threads(1)
        assert environment.useful_threads(4) == 1
        took[2] = 35.0
        torch.set_num_threads(2)
        assert environment.useful_threads() == 1
    finally:
        torch.set_num_threads(before)
