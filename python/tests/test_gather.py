# SPDX-License-Identifier: Apache-2.0
"""How the traces of the ranks meet, with threads as ranks and folders as hosts; and packing."""

import gzip
import json
import os
import subprocess
import sys
import threading
import time

import pytest
from stepscope.loop import gather, meeting, pack

TRACE = '{"traceEvents": [{"name": "ProfilerStep#%d"}, {"name": "ProfilerStep#%d"}, %s]}'


def make_trace(path, first=5, last=9, length=1000):
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = path.with_suffix(".plain")
    plain.write_text(TRACE % (first, last, json.dumps(os.urandom(length).hex())))
    return {"path": str(path), "error": None, **pack.pack(str(plain), str(path))}


def meet(tmp_path, records, timeout_s=5.0, absent=()):
    """Each rank in a thread of its own, at a place in a folder."""
    threads = []
    for record in records:
        if record["rank"] == 0 or record["rank"] in absent:
            continue
        place = meeting.Folder(str(tmp_path / "place"))
        until = time.monotonic() + timeout_s
        threads.append(threading.Thread(target=gather.offer, args=(place, record, until)))
        threads[-1].start()
    place = meeting.Folder(str(tmp_path / "place"))
    found = gather.gather(place, records[0], len(records), str(tmp_path / "host0"), timeout_s)
    for thread in threads:
        thread.join(timeout_s)
        assert not thread.is_alive()
    left = [n for n in os.listdir(tmp_path / "place") if not n.startswith("ask")]
    assert left == []
    return found


def test_packing_keeps_the_text_and_finds_the_steps(tmp_path):
    plain, packed = tmp_path / "a.json", tmp_path / "a.json.gz"
    text = TRACE % (12, 13, json.dumps("x" * (3 << 20)))  # a name lies across no window's end
    text += " " * (pack.WINDOW - len(text) % pack.WINDOW - 7) + '"ProfilerStep#14"'
    plain.write_text(text)
    program = [sys.executable, "-I", "-S", pack.__file__, str(plain), str(packed)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["steps"] == [12, 14]
    assert told["bytes"] == packed.stat().st_size
    assert bytes.fromhex(told["tail"]) == packed.read_bytes()[-8:]
    assert gzip.decompress(packed.read_bytes()).decode() == text
    assert os.listdir(tmp_path) == ["a.json.gz"]


def test_packing_into_a_folder_that_cannot_be_written_fails_and_leaves_nothing(tmp_path):
    plain = tmp_path / "a.json"
    plain.write_text("{}")
    (tmp_path / "file").write_text("")
    program = [sys.executable, "-I", "-S", pack.__file__, str(plain), str(tmp_path / "file/a.gz")]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Not a directory" in done.stderr
    assert os.listdir(tmp_path) == ["file"]


def test_a_trace_without_steps(tmp_path):
    (tmp_path / "a").write_text('{"traceEvents": []}')
    assert pack.pack(str(tmp_path / "a"), str(tmp_path / "b"))["steps"] is None


@pytest.mark.parametrize("ranks", [1, 2, 64])
def test_ranks_that_share_a_folder(tmp_path, ranks):
    records = [{"rank": r, **make_trace(tmp_path / f"host0/rank{r}.json.gz")} for r in range(ranks)]
    found = (
        meet(tmp_path, records)
        if ranks > 1
        else gather.gather(meeting.Folder(str(tmp_path / "place")), records[0], 1, "", 1)
    )
    assert found.ranks == list(range(ranks))
    assert found.files == [record["path"] for record in records]
    assert found.sent == found.lost == []
    assert gather.common_steps(found.steps) is None


def test_ranks_that_share_no_folder_send_their_traces(tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "CHUNK", 10_000)
    monkeypatch.setattr(gather, "SHARED_S", 0.2)
    seen = gather.is_here
    monkeypatch.setattr(gather, "is_here", lambda r: "host0" in r["path"] and seen(r))
    records = [
        {"rank": r, **make_trace(tmp_path / f"host{r % 2}/rank{r}.json.gz", length=length)}
        for r, length in enumerate((100, 100_000, 100, 10))
    ]
    found = meet(tmp_path, records)
    assert found.ranks == [0, 1, 2, 3]
    assert found.sent == [1, 3]
    for r in (1, 3):
        assert found.files[r] == str(tmp_path / f"host0/rank{r}.json.gz")
        copy = (tmp_path / f"host0/rank{r}.json.gz").read_bytes()
        assert copy == (tmp_path / f"host1/rank{r}.json.gz").read_bytes()


def test_an_older_file_of_the_same_name_and_size_is_not_taken(tmp_path):
    record = make_trace(tmp_path / "rank1.json.gz")
    assert gather.is_here(record)
    data = bytearray((tmp_path / "rank1.json.gz").read_bytes())
    data[-5] ^= 1
    (tmp_path / "rank1.json.gz").write_bytes(data)
    assert not gather.is_here(record)


def test_a_rank_that_is_dead_and_one_that_could_not_write(tmp_path):
    records = [{"rank": r, **make_trace(tmp_path / f"host0/rank{r}.json.gz")} for r in range(4)]
    records[2] = {
        "rank": 2,
        "path": None,
        "bytes": 0,
        "tail": "",
        "steps": None,
        "error": "it cannot write into /traces: Read-only file system",
    }
    start = time.monotonic()
    found = meet(tmp_path, records, timeout_s=1.0, absent=[3])
    assert time.monotonic() - start < 3
    assert found.ranks == [0, 1]
    assert found.lost == [3]
    assert found.failed == {2: "it cannot write into /traces: Read-only file system"}


def test_a_rank_that_dies_while_it_sends(tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "SHARED_S", 0.0)
    monkeypatch.setattr(gather, "is_here", lambda r: r["rank"] == 0)
    monkeypatch.setattr(gather, "SENDING_S", 0.3)
    records = [{"rank": r, **make_trace(tmp_path / f"host{r}/rank{r}.json.gz")} for r in range(2)]
    place = meeting.Folder(str(tmp_path / "place"))
    place.put("record1", json.dumps(records[1]).encode())
    found = gather.gather(place, records[0], 2, str(tmp_path / "host0"), 0.3)
    assert found.ranks == [0]
    assert found.failed == {1: "rank 1 stopped sending its trace"}
    assert sorted(os.listdir(tmp_path / "host0")) == ["rank0.json.gz"]


def test_steps_in_common():
    assert gather.common_steps({0: [5, 9], 1: [5, 9]}) is None
    assert gather.common_steps({0: [5, 9], 1: [7, 11]}) == [7, 9]
    assert gather.common_steps({0: [5, 9], 1: [20, 24]}) == []
    assert gather.common_steps({0: [5, 9], 1: None}) is None
    assert gather.common_steps({}) is None
