# SPDX-License-Identifier: Apache-2.0
"""Late ranks and longer steps, on made-up jobs whose truth is known."""

import random

import pytest
from stepscope.loop import lateness, watch, words

MS = 1_000_000


def job(
    ranks,
    steps,
    *,
    late=(),
    delay_ms=0.0,
    phase="loss",
    noise=0.02,
    seed=0,
    work_ms=300.0,
    begin=0,
    heavy=False,
    others_wait=True,
):
    """Times by rank and step of a synchronous job: each rank's own work has noise, and all wait for
    the last. `late` ranks spend `delay_ms` more in `phase` from step `begin` on."""
    rng = random.Random(seed)
    out = {rank: {} for rank in range(ranks)}
    at = lateness.PHASES.index(phase)
    for step in range(steps):
        works = {}
        for rank in range(ranks):
            scale = rng.lognormvariate(0, noise)
            if heavy and rng.random() < 0.05:
                scale *= rng.uniform(1.2, 3)
            times = [0] * len(lateness.PHASES)
            times[lateness.PHASES.index("forward")] = int(work_ms / 3 * scale * MS)
            times[lateness.PHASES.index("backward")] = int(work_ms * 2 / 3 * scale * MS)
            if rank in late and step >= begin:
                times[at] += int(delay_ms * MS)
            works[rank] = times
        longest = max(map(sum, works.values()))
        for rank, times in works.items():
            wait = longest - sum(times) if others_wait else 0
            times[lateness.WAIT] = wait + 10 * MS
            out[rank][step] = tuple(times)
    return out


def late_ranks(times):
    """Who is late in the end."""
    group = lateness.Group(times)
    group.add(times)
    return group.late()


def named_at(times):
    """By rank that was late after any step: the first such step."""
    group = lateness.Group(times)
    first = {}
    for step in range(len(times[0])):
        group.add({rank: {step: steps[step]} for rank, steps in times.items()})
        for entry in group.late():
            first.setdefault(entry.rank, step)
    return first


@pytest.mark.parametrize("ranks", [2, 4, 64])
@pytest.mark.parametrize("phase", ["data", "forward", "loss", "backward", "optimizer"])
def test_the_late_rank_and_its_phase_are_named(ranks, phase):
    found = late_ranks(job(ranks, 40, late=[1], delay_ms=200, phase=phase))
    assert [entry.rank for entry in found] == [1]
    entry = found[0]
    assert entry.where == phase
    assert entry.late_ns == pytest.approx(200 * MS, rel=0.1)
    assert entry.where_ns == pytest.approx(200 * MS, rel=0.1)
    assert entry.wait_ns == pytest.approx(200 * MS, rel=0.15)
    assert entry.waiting == tuple(rank for rank in range(ranks) if rank != 1)
    assert entry.step_ns == pytest.approx(510 * MS, rel=0.1)


def test_the_sentence():
    entry = late_ranks(job(4, 40, late=[1], delay_ms=203, noise=1e-6))[0]
    assert entry.sentence(words) == (
        "rank 1 is late: its own work takes 203 ms longer than its peers' in a step of 513 ms,"
        " between forward and backward; ranks 0, 2, 3 wait 203 ms longer than it"
    )


def test_several_late_ranks_are_named_the_latest_first():
    times = job(8, 60, late=[2, 5], delay_ms=150)
    more = job(8, 60, late=[5], delay_ms=150, seed=1)
    both = {}
    for rank in times:
        both[rank] = {}
        for step in times[rank]:
            own = [
                a + (b if rank == 5 and i == 2 else 0)
                for i, (a, b) in enumerate(zip(times[rank][step], more[rank][step]))
            ]
            own[lateness.WAIT] = 0
            both[rank][step] = own
    for step in range(60):
        longest = max(sum(both[rank][step]) for rank in both)
        for rank in both:
            both[rank][step][lateness.WAIT] = longest - sum(both[rank][step])
            both[rank][step] = tuple(both[rank][step])
    assert [entry.rank for entry in late_ranks(both)] == [5, 2]


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("noise", [0.005, 0.05, 0.3])
@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_noise_alone_names_nobody(ranks, noise, heavy):
    for seed in range(40 if ranks < 64 else 5):
        times = job(ranks, 100, noise=noise, heavy=heavy, seed=seed)
        assert named_at(times) == {}


@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize("ranks, steps", [(2, 10_000), (4, 5000), (64, 400)])
def test_a_long_run_of_noise_names_nobody(ranks, steps, noise):
    assert named_at(job(ranks, steps, noise=noise, heavy=True, seed=7)) == {}


def who_is_named(ranks, steps, **fault):
    """The ranks that are named in 20 jobs (of many ranks, 3), and in which share of them."""
    seeds = range(20 if ranks < 64 else 3)
    named = [r for seed in seeds for r in named_at(job(ranks, steps, seed=seed, **fault))]
    return set(named), len(named) / len(seeds)


@pytest.mark.parametrize("begin", [0, 100])
@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_a_late_rank_is_named_soon(ranks, begin):
    fault = {"late": [1], "delay_ms": 60, "begin": begin}
    assert who_is_named(ranks, begin + 10, **fault) == ({1}, 1)
    who, share = who_is_named(ranks, begin + 40, heavy=True, **fault)
    assert who == {1}
    assert share >= 0.9


@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_a_rank_whose_lateness_is_small_in_the_noise_is_named_later(ranks):
    who, share = who_is_named(ranks, 260, late=[1], delay_ms=45, noise=0.1, begin=150)
    assert who == {1}
    assert share >= 0.9


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
def test_noise_alone_is_no_change_of_the_step_time(noise):
    for seed in range(50):
        times = job(4, 2 * lateness.REFERENCE, noise=noise, heavy=True, seed=seed)
        first = {r: dict(list(t.items())[: lateness.REFERENCE]) for r, t in times.items()}
        last = {r: dict(list(t.items())[lateness.REFERENCE :]) for r, t in times.items()}
        assert lateness.slower(first, last) is None


def test_a_delay_that_is_too_small_or_that_nobody_waits_for_names_nobody():
    assert late_ranks(job(4, 100, late=[1], delay_ms=5, noise=1e-4)) == []  # 1.6 %
    assert late_ranks(job(4, 100, late=[1], delay_ms=200, others_wait=False)) == []


def test_too_few_steps_tell_nothing():
    assert late_ranks(job(2, 7, late=[1], delay_ms=200)) == []
    assert late_ranks(job(2, 8, late=[1], delay_ms=200)) != []
    assert late_ranks(job(1, 50, late=[0], delay_ms=200)) == []


def test_a_rank_that_is_late_in_three_of_four_steps_is_named():
    times = job(2, 100, late=[1], delay_ms=100, noise=1e-3)
    calm = job(2, 100, noise=1e-3)
    mixed = {r: {s: (times if s % 5 else calm)[r][s] for s in range(100)} for r in times}
    assert [entry.rank for entry in late_ranks(mixed)] == [1]


def test_steps_that_become_longer_name_who_and_where():
    before = job(4, 50, noise=0.01)
    everyone = job(4, 50, noise=0.01, late=[0, 1, 2, 3], delay_ms=60, phase="optimizer", seed=1)
    found = lateness.slower(before, everyone)
    assert (found.where, found.ranks) == ("optimizer", (0, 1, 2, 3))
    assert found.now_ns - found.before_ns == pytest.approx(60 * MS, rel=0.1)
    one = job(4, 50, noise=0.01, late=[2], delay_ms=60, phase="data", seed=1)
    found = lateness.slower(before, one)
    assert (found.where, found.ranks) == ("data", (2,))
    network = {
        r: {
            s: tuple(x + 60 * MS * (i == lateness.WAIT) for i, x in enumerate(t))
            for s, t in steps.items()
        }
        for r, steps in job(4, 50, noise=0.01, seed=2).items()
    }
    found = lateness.slower(before, network)
    assert found.ranks == ()
    assert found.sentence(words, 4).endswith("communication takes longer")
    assert lateness.slower(before, job(4, 50, noise=0.01, seed=3)) is None


# The judge of a running job.


def feed(judge, times, first=0, count=10, peers=None, now=0.0, world=None):
    for rank, steps in times.items():
        rows = [(s, steps[s]) for s in range(first, first + count) if s in steps]
        head = peers[rank] if peers else None
        judge.add(watch.encode(rank, world or len(times), head, "wait", 0.0, rows), now)


def run(times, peers=None, count=10, world=None):
    judge = watch.Watch(start=0.0)
    lines = []
    for first in range(0, max(max(steps) for steps in times.values()) + 1, count):
        feed(judge, times, first, count, peers, now=first, world=world)
        lines += [(first + count, line) for line in judge.judge(first)]
    return judge, lines


def test_a_record_is_read_as_it_was_written():
    rows = [(7, tuple(range(8))), (8, tuple(range(8, 16)))]
    head, steps = watch.decode(watch.encode(3, 4, [1, 3], "forward", 2.5, rows))
    assert head == {"rank": 3, "world": 4, "peers": [1, 3], "phase": "forward", "age_s": 2.5}
    assert steps == rows
    with pytest.raises(ValueError):
        watch.decode(watch.encode(3, 4, None, "wait", 0, rows)[:-8])


def test_a_rank_that_becomes_late_is_said_once_and_its_end_once():
    calm, late = job(4, 400), job(4, 400, late=[3], delay_ms=120)
    times = {r: {s: (late if 100 <= s < 200 else calm)[r][s] for s in range(400)} for r in calm}
    judge, lines = run(times)
    said = [(step, line.split(":")[0]) for step, line in lines if line.startswith("rank")]
    assert [line for _, line in said] == ["rank 3 is late", "rank 3 is no longer late"]
    assert 100 < said[0][0] <= 120
    assert 200 < said[1][0] <= 300
    assert judge.state()["stepscope/late_ranks"] == 0


@pytest.mark.parametrize("ranks", [2, 64])
def test_a_long_run_of_noise_says_nothing(ranks):
    _, lines = run(job(ranks, 2000 if ranks == 2 else 300, noise=0.1, heavy=True), count=20)
    assert lines == []


def test_ranks_are_compared_within_their_group():
    """Two pipeline stages of two data-parallel ranks: the second stage has twice the work, and the
    first one waits for it."""
    small, large = job(2, 60, work_ms=100), job(2, 60, work_ms=200, seed=1)
    small = {
        r: {
            s: tuple(x + 100 * MS * (i == lateness.WAIT) for i, x in enumerate(t))
            for s, t in steps.items()
        }
        for r, steps in small.items()
    }
    times = {0: small[0], 1: small[1], 2: large[0], 3: large[1]}
    peers = {0: [0, 1], 1: [0, 1], 2: [2, 3], 3: [2, 3]}
    assert run(times, peers)[1] == []
    assert run(times)[1] != []  # as peers they would differ
    slow = job(2, 60, work_ms=200, seed=1, late=[0], delay_ms=50, phase="backward")
    times = {0: small[0], 1: small[1], 2: slow[0], 3: slow[1]}
    lines = [line for _, line in run(times, peers)[1]]
    assert len(lines) == 1
    assert lines[0].startswith("rank 2 is late")
    assert "rank 3 waits" in lines[0]


def test_slow_drift_is_said_and_said_again_when_it_grows():
    calm = job(2, 400, noise=0.01)
    times = {
        r: {s: tuple(int(x * (1 + max(0, s - 100) / 1000)) for x in t) for s, t in steps.items()}
        for r, steps in calm.items()
    }
    lines = [line for _, line in run(times)[1]]
    assert 2 <= len(lines) <= 4
    begin = lines[0].split(":")[0]  # the step stays that of the first line
    assert 100 <= int(begin.removeprefix("steps have become longer since about step ")) <= 200
    assert all(line.startswith(begin + ":") for line in lines)


def test_a_silent_rank_and_a_job_that_stands_still():
    times = job(4, 60)
    judge = watch.Watch(silent_s=60, start=0.0)
    feed(judge, {r: times[r] for r in (0, 1, 3)}, count=60, now=10, world=4)
    assert judge.judge(20) == []
    assert judge.judge(65) == [
        "rank 2 has sent nothing for 65 s (it has ended no step): it has ended, its Python threads"
        " do not run, or it cannot reach the others"
    ]
    for rank, phase in ((0, "wait"), (1, "wait"), (3, "forward")):
        judge.add(watch.encode(rank, 4, None, phase, 90.0, []), 100)
    assert judge.judge(100) == [
        "no rank has ended a step for 90 s (the last was 59): rank 3 is in forward; ranks 0, 1 are"
        " waiting for a collective"
    ]
    assert judge.judge(101) == []
    feed(judge, times, 59, 1, now=102)
    assert set(judge.judge(102)) == {"rank 2 sends again", "steps end again"}
    assert judge.judge(170)[0].startswith("rank 0 has sent nothing for 68 s")


def test_a_late_rank_that_is_lost_is_not_said_to_have_recovered():
    judge, lines = run(job(3, 60, late=[1], delay_ms=100))
    assert [line for _, line in lines if "is late" in line]
    for rank in (0, 2):
        judge.add(watch.encode(rank, 3, None, "forward", 1.0, []), 200)
    lines = judge.judge(200)
    assert lines[0].startswith("rank 1 has sent nothing for ")
    assert not any("no longer" in line for line in lines)


def test_summary_is_flat():
    judge, _ = run(job(2, 60, late=[1], delay_ms=100))
    state = judge.state()
    assert state["stepscope/late_rank"] == 1
    assert state["stepscope/late_ms"] == pytest.approx(100, rel=0.1)
    assert all(isinstance(value, (int, float)) for value in state.values())
