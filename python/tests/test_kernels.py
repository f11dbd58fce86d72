# SPDX-License-Identifier: Apache-2.0
"""The measurement of kernels, on the CPU with a clock of the test's own."""

import json

import pytest

torch = pytest.importorskip("torch")

from stepscope.torch import kernels  # noqa: E402

TINY = kernels.Sizes(
    rows=(16,),
    widths=((8, 24), (8, 25)),
    uneven=((16, 25, 8),),
    grouped=((16, 8, 8, 2),),
    attention=((1, 2, 16, 8),),
    pointwise=(2048,),
    parameters=((2, 64),),
    copies=(1,),
    launches=4,
)


class Cpu:
    name = "a CPU"
    units = 3
    place = torch.device("cpu")

    def __init__(self):
        self.calls = 0

    def synchronize(self):
        pass

    def seconds_of(self, work):
        work()
        self.calls += 1
        return 0.001 * self.calls


class Ticks:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 0.5
        return self.now


def test_every_kind_has_a_line_with_its_fields(tmp_path):
    out = tmp_path / "kernels.jsonl"
    count, failed = kernels.write(out, Cpu(), TINY, Ticks())
    assert not list(tmp_path.glob("*.part"))
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == count and sum("error" in line for line in lines) == failed
    assert all(line["device"] == "a CPU" and line["units"] == 3 for line in lines)
    whole = {}
    for line in lines:
        if "error" not in line:
            whole.setdefault(line["kind"], []).append(line)
    assert {(p["format"], p["m"], p["k"], p["n"]) for p in whole["product"]} >= {
        ("bf16", 16, 8, 24),
        ("bf16", 16, 8, 25),
        ("bf16", 16, 25, 8),
        ("fp32", 16, 8, 24),
    }
    assert all(p["s"] > 0 for p in whole["product"])
    (attention,) = whole["attention"]
    assert (attention["batch"], attention["heads"], attention["length"], attention["size"]) == (
        1,
        2,
        16,
        8,
    )
    assert attention["backward_s"] > attention["s"]
    assert {p["work"]: p["bytes"] for p in whole["pointwise"]} == {
        "add": 6 * 2048,
        "cast_add": 10 * 2048,
        "half_of_rows": 4 * 2048,
    }
    assert whole["optimizer"][0]["parameters"] == 128
    assert whole["copy"][0]["bytes"] == 1 << 20
    assert "from_pinned_s" not in whole["copy"][0]  # no host copies without a GPU
    launch = whole["launch"][0]
    assert launch["add_host_s"] == 0.5 / 4 and launch["add_s"] == 1.0 / 4


def test_a_kernel_that_fails_is_a_line_with_its_error():
    class Lacking(Cpu):
        def seconds_of(self, work):
            raise RuntimeError("no such kernel")

    for line in kernels.lines(Lacking(), TINY, Ticks()):
        if line["kind"] != "launch":
            assert line["error"] == "RuntimeError: no such kernel"
            assert "s" not in line


def test_without_a_gpu_the_command_says_so(tmp_path, capsys):
    if torch.cuda.is_available():
        pytest.skip("a GPU is here")
    with pytest.raises(SystemExit) as exit_of:
        kernels.main([str(tmp_path / "out.jsonl")])
    assert exit_of.value.code == 2
    assert "no GPU" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
