# SPDX-License-Identifier: Apache-2.0
"""A program that reads only brief answers finds culprit and cost; and the tools of the MCP server."""

import asyncio
import json
import os
import sys

import pytest
from conftest import EXAMPLE, SHARED
from stepscope.brief import brief

import stepscope as ss
from stepscope import mcp_server

# Folder, the kinds that are right (docs/reference/verdict.md), the ranks, steps or stage at fault, and what the mean step
# loses in µs (made_jobs/INDEX.md).
JOBS = [
    ("slow_rank", {"slow_rank"}, {"ranks": [3]}, 2506),
    ("late_host", {"late_host"}, {"ranks": [3]}, 12081),
    ("loader", {"data_loader"}, {"ranks": [1]}, 15923),
    ("gc", {"pauses"}, {}, 3318),
    ("slow_tp", {"slow_group"}, {"ranks": [0, 1]}, 4217),
    ("slow_dp", {"slow_group"}, {"ranks": [3, 7, 11, 15]}, 24154),
    ("throttle", {"throttling"}, {"ranks": [10]}, 6869),
    ("outlier", {"outlier_step"}, {"steps": [7]}, 1806),
    ("stage", {"stage_imbalance"}, {"stage": 1}, 15301),
    ("loader_all", {"data_loader", "sync_calls"}, {}, 4734),
    ("sync", {"sync_calls"}, {}, 8082),
]


@pytest.mark.skipif(not (SHARED / "made_jobs").is_dir(), reason="needs the shared jobs")
@pytest.mark.parametrize(
    ("folder", "kinds", "where", "cost_us"), JOBS, ids=[job[0] for job in JOBS]
)
def test_a_reader_of_brief_answers_names_culprit_and_cost(folder, kinds, where, cost_us):
    answer = json.loads(json.dumps(mcp_server.analyze(str(SHARED / "made_jobs" / folder))))
    assert len(json.dumps(answer)) < 8000
    verdict = answer["verdict"]
    assert verdict["kind"] in kinds, verdict
    for key, value in where.items():
        assert verdict[key] == value, verdict
    assert verdict["gain_ns"] == pytest.approx(cost_us * 1000, rel=0.25)


@pytest.mark.skipif(not (SHARED / "made_jobs").is_dir(), reason="needs the shared jobs")
def test_a_healthy_job_has_no_fault():
    verdict = mcp_server.analyze(str(SHARED / "made_jobs/healthy"))["verdict"]
    assert (
        verdict["kind"] == "exposed_communication"
        and verdict["ranks"] == []
        and verdict["alternatives"] == []
    )


def test_brief_answers_are_short_and_tell_the_answer(tmp_path):
    plan = {"machine": "h100_sxm_80gb", "gpus": 64, "global_batch": 256, "seq": 8192}
    times = tmp_path / "a.csv"
    times.write_text("\n".join(str(100 + i % 3) for i in range(60)))
    slower = tmp_path / "b.csv"
    slower.write_text("\n".join(str(110 + i % 3) for i in range(60)))
    results = [
        ss.analyze(EXAMPLE),
        ss.whatif(EXAMPLE),
        ss.compare(times, slower, max_regression="2%"),
        ss.predict("llama-3-8b", plan=ss.Plan(zero=3), vary={"zero": [1, 2, 3]}, **plan),
        ss.predict(collective=ss.Collective(name="all_reduce", group=64), machine="h100_sxm_80gb"),
        ss.plan("llama-3-8b", against="zero=3", **plan),
    ]
    for result in results:
        text = json.dumps(brief(result))
        assert len(text) < 8000, type(result)
        assert brief(result)["sentence"]
    assert brief(results[2])["regression"] is True
    assert (
        brief(results[5])["best"][0]["step_time_ns"]
        <= brief(results[5])["against"][0]["step_time_ns"]
    )


def test_errors_are_answers_that_say_what_to_do():
    assert (
        "remedy" in mcp_server.analyze("/nothing/here")
        and mcp_server.analyze("/nothing/here")["file"]
    )
    assert "bandwidth" in json.dumps(mcp_server.whatif(str(EXAMPLE), ["bandwith:2"]))
    assert "unexpected" in mcp_server.analyze(str(EXAMPLE), options={"modell": "gpt2"})["error"]


def test_the_server_reads_its_folders_alone(tmp_path):
    inside, outside = tmp_path / "runs", tmp_path / "runs-of-others"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.csv").write_text("\n".join(str(100 + i % 3) for i in range(60)))
    (inside / "link").symlink_to(outside)
    access = mcp_server.Access((str(inside),))
    compare = mcp_server.guarded(mcp_server.compare, access)
    own = str(inside / "a.csv")
    assert "error" not in compare(own, own)
    # compare takes patterns of traces only.
    assert compare(own, b=[str(inside / "*.csv")])["error"] == "is no trace"
    for place in (
        str(outside / "a.csv"),
        str(inside / ".." / "runs-of-others" / "a.csv"),
        str(inside / "link" / "a.csv"),
        str(inside / "l*" / "*.csv"),
        str(tmp_path / "*" / "a.csv"),
        "/etc/passwd",
        "file:///etc/passwd",
        "/",
        "no-such-file.csv",
    ):
        refused = compare(own, [own, place])
        assert refused["error"].startswith("this server reads below"), place
        assert (refused["file"], "stepscope mcp FOLDER" in refused["remedy"]) == (place, True)
    for url in ("https://localhost:1/a.csv", "s3://bucket/a.csv"):
        assert "network" in compare(own, url)["error"]
    live = mcp_server.guarded(mcp_server.live, access)
    assert "network" in live("localhost:28028")["error"]
    allowed = mcp_server.guarded(mcp_server.compare, mcp_server.Access((str(inside),), urls=True))
    assert "network" not in allowed(own, "http://127.0.0.1:1/a.csv")["error"]
    # A machine or model may be a file, also in options.
    predict = mcp_server.guarded(mcp_server.predict, mcp_server.Access())
    assert predict("llama-3-8b", "h100_sxm_80gb", 8, 8, 8192)["sentence"]
    machine = outside / "machine.json"
    machine.write_text("{}")
    for arguments in (
        ("llama-3-8b", str(machine), 8, 8, 8192),
        (str(machine), "h100_sxm_80gb", 8, 8, 8192),
        ("llama-3-8b", "h100_sxm_80gb", 8, 8, 8192, {"plan": {"ds_config": str(machine)}}),
    ):
        assert predict(*arguments)["error"] == "this server reads no files"


def test_the_server_speaks_the_protocol(tmp_path):
    pytest.importorskip("mcp")
    line = '{"stepscope":"step","rank":%d,"world":2,"pid":%d,"step":%d,"wall_ns":100,"wait_ns":9}\n'
    for rank in range(2):
        steps = "".join(line % (rank, 100 + rank, step) for step in range(20))
        (tmp_path / f"steps-rank{rank}.jsonl").write_text(steps)
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def talk():
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "stepscope.mcp_server", str(EXAMPLE), str(tmp_path)],
            env=dict(os.environ),
        )
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = await session.list_tools()
            answer = await session.call_tool("analyze", {"inputs": str(EXAMPLE)})
            live = await session.call_tool("live", {"sources": str(tmp_path)})
            other = await session.call_tool("analyze", {"inputs": "/etc"})
            answers = [json.loads(given.content[0].text) for given in (answer, live, other)]
            return {tool.name for tool in tools.tools}, *answers

    names, answer, live, other = asyncio.run(talk())
    assert other["error"].startswith("this server reads below")
    assert (live["steps"]["last"], live["processes"], live["late"]) == (19, 2, [])
    assert names == {"analyze", "whatif", "compare", "live", "predict", "plan"}
    assert answer["verdict"]["kind"] == "data_loader"
