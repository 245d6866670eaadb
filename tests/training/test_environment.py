"""What the machine can do, as far as a run depends on it."""

import pytest

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
