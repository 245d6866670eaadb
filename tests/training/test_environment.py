"""The machine's abilities, as far as a run depends on it."""

import pytest

from headway.training import environment


@pytest.mark.parametrize(
    ("vendor", "flags", "quicker"),
    [
        ("AuthenticAMD", "fpu avx512f avx512_bf16 sse", True),
        ("GenuineIntel", "fpu avx512f avx512_bf16 sse", False),
        ("GenuineIntel", "fpu avx512_bf16 amx_bf16 amx_tile", True),
        ("", "fp asimd bf16 i8mm", True),
        ("AuthenticAMD", "fpu avx512f avx512bw", False),
        ("", "", False),
    ],
)
def test_whether_bfloat16_is_quicker_is_read_from_the_processor(
    monkeypatch, vendor, flags, quicker
):
    monkeypatch.setattr(environment, "_cpuinfo", lambda *of: vendor if "vendor_id" in of else flags)
    assert environment.multiplies_bfloat16.__wrapped__() is quicker
