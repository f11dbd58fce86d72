// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/live/live_page.h"

namespace stepscope {
namespace {

constexpr std::string_view page = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>stepscope live</title>
<meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; --line: #2563a8; --late: #c2410c; --silent: #7e22ce;
  --calm: #9ab8a4; --fine: #2e8b57; --faint: #8883; }
@media (prefers-color-scheme: dark) {
  :root { --line: #7ab0e8; --late: #fb923c; --silent: #c084fc; --calm: #4d6b58; }
}
body { font: 15px/1.45 system-ui, sans-serif; max-width: 70rem; margin: 1.5rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0 0 .3rem; padding-left: .7rem;
  border-left: .35rem solid var(--faint); }
h1.fine { border-color: var(--fine); } h1.wrong { border-color: var(--late); }
h2 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
#state { margin: 0; } .plot { position: relative; padding-left: 4.5rem; }
#curve { width: 100%; height: 11rem; display: block; border-bottom: 1px solid var(--faint); }
#curve path { fill: none; stroke: var(--line); stroke-width: 2;
  vector-effect: non-scaling-stroke; }
#curve path.level { stroke: var(--faint); stroke-width: 1; }
#curve path.since { stroke: var(--late); stroke-width: 1.5; stroke-dasharray: 5 4; }
.plot span { position: absolute; left: 0; width: 4.1rem; text-align: right; font-size: .8rem;
  opacity: .75; transform: translateY(-50%); }
#curve path.band { fill: var(--line); stroke: none; opacity: .18; }
.axis { padding-left: 4.5rem; display: flex; justify-content: space-between;
  font-size: .8rem; opacity: .75; }
#mesh { display: grid; gap: 2px;
  grid-template-columns: repeat(auto-fill, minmax(.85rem, 1fr)); }
#mesh i { height: .85rem; background: var(--calm); border-radius: 2px; }
#mesh i.late { background: var(--late); } #mesh i.silent { background: var(--silent); }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px;
  margin: 0 .3rem 0 .8rem; vertical-align: -1px; }
.key { margin-bottom: .4rem; } .key i:first-child { margin-left: 0; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: right; padding: .15rem .6rem; border-bottom: 1px solid var(--faint); }
td:first-child, th:first-child { text-align: left; } #events td { text-align: left; }
#events td:first-child { white-space: nowrap; }
#seen, #unseen { opacity: .8; font-size: .9rem; } #unseen { margin: .2rem 0 0; }
</style></head><body>
<h1 id="answer">stepscope live</h1><p id="state">Waiting for the first state.</p>
<p id="unseen"></p>
<h2 id="steps">Step times</h2>
<div class="plot"><svg id="curve" preserveAspectRatio="none" viewBox="0 0 1000 100" role="img"
  aria-label="step times"></svg><div id="levels"></div></div>
<div class="axis"><span id="from"></span><span id="to"></span></div>
<h2>Ranks</h2><div class="key"><i style="background:var(--calm)"></i>writes
<i style="background:var(--late)"></i>late <i style="background:var(--silent)"></i>silent</div>
<div id="mesh"></div>
<div id="collectives"><h2>Communicators, in the last half minute</h2>
<table><thead><tr><th>communicator</th><th>ranks seen</th><th>collectives</th><th>a step</th>
<th>waiting</th><th>transfer</th></tr></thead><tbody id="groups"></tbody></table></div>
<h2>Events</h2><table id="events"><tbody></tbody></table>
<h2>Seen</h2><p id="seen"></p>
<script>
"use strict";
const by = id => document.getElementById(id);
const time = ns => ns >= 1e9 ? (ns / 1e9).toPrecision(3) + " s"
  : ns >= 1e6 ? (ns / 1e6).toPrecision(3) + " ms" : (ns / 1e3).toPrecision(3) + " µs";
const span = s => s < 120 ? s.toFixed(0) + " s"
  : s < 7200 ? (s / 60).toFixed(0) + " min" : (s / 3600).toFixed(1) + " h";
const share = x => x === null ? "" : (100 * x).toFixed(1) + " %";
const count = n => n.toLocaleString("en");
function row(cells) {
  const tr = document.createElement("tr");
  for (const cell of cells) tr.appendChild(document.createElement("td")).textContent = cell;
  return tr;
}
// The curve ends a little above the 99th percentile, so that one long step does not flatten it.
function curve(steps, since) {
  const svg = by("curve");
  svg.replaceChildren();
  by("levels").replaceChildren();
  if (!steps || !steps.curve.length) {
    by("steps").textContent = "Step times: none are known yet";
    return;
  }
  const points = steps.curve, most = Math.max(...points.map(p => p.max_ns));
  const high = Math.min(most, 1.3 * steps.p99_ns);
  const x = i => points.length < 2 ? 0 : 1000 * i / (points.length - 1);
  const y = ns => 100 - 96 * Math.min(ns / high, 1);
  const at = (i, ns) => x(i).toFixed(1) + " " + y(ns).toFixed(2);
  const draw = (d, name) => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", d);
    path.setAttribute("class", name);
    svg.appendChild(path);
  };
  for (const ns of new Set([high, steps.p50_ns, 0])) {
    draw("M0 " + y(ns).toFixed(2) + "H1000", "level");
    const label = by("levels").appendChild(document.createElement("span"));
    label.style.top = (0.11 * y(ns)).toFixed(2) + "rem";
    label.textContent = ns === 0 ? "0" : time(ns);
  }
  const line = points.map((p, i) => (i ? "L" : "M") + at(i, p.mean_ns)).join("");
  const top = points.map((p, i) => (i ? "L" : "M") + at(i, p.max_ns)).join("");
  const under = points.map((p, i) => "L" + at(i, p.min_ns)).reverse().join("");
  draw(top + under + "Z", "band");
  draw(line, "mean");
  const first = since === null ? -1 : points.findIndex(p => p.last >= since);
  if (first >= 0) draw("M" + x(first).toFixed(1) + " 0V100", "since");
  const whence = { ranks: "the files of steps", log: "the training log",
    engine: "the engine's metrics",
    collectives: "repeating collectives" }[steps.source];
  by("steps").textContent = "Step times: " + time(steps.recent_ns) + " now, median " +
    time(steps.p50_ns) + ", p99 " + time(steps.p99_ns) + " (from " + whence + ")";
  by("from").textContent = "step " + count(points[0].last) + "; the longest: " + time(most) +
    (first >= 0 ? "; dashed: step " + count(since) + ", since which a rank is late" : "");
  by("to").textContent = "step " + count(steps.last);
}
function mesh(processes) {
  const alive = processes.filter(p => !p.replaced);
  alive.sort((a, b) => (a.rank ?? 1e9) - (b.rank ?? 1e9));
  const cells = alive.map(p => {
    const cell = document.createElement("i");
    cell.className = p.silent ? "silent" : p.late ? "late" : "";
    cell.title = (p.rank === null ? p.name : "rank " + p.rank + ", " + p.name) + ": " +
      (p.late ? "late by " + time(p.late.late_ns) + " a step" +
        (p.late.since === null ? "" : " since step " + count(p.late.since)) + ", " : "") +
      "wrote " + span(p.quiet_s) +
      " ago";
    return cell;
  });
  by("mesh").replaceChildren(...cells);
}
function show(s) {
  const alive = s.processes.filter(p => !p.replaced);
  const answer = by("answer");
  answer.textContent = s.answer.sentence + ".";
  answer.className = s.answer.fine === null ? "" : s.answer.fine ? "fine" : "wrong";
  by("state").textContent = "stepscope live: " + count(alive.length) +
    (alive.length === 1 ? " process" : " processes") + ", followed for " + span(s.followed_s) +
    (s.catching_up ? "; reading what was written before" : "") + ".";
  by("unseen").textContent = s.answer.unseen === null ? "" : "Not seen: " + s.answer.unseen + ".";
  const since = alive.filter(p => p.late && p.late.since !== null).map(p => p.late.since);
  curve(s.steps, since.length ? Math.min(...since) : null);
  mesh(s.processes);
  by("collectives").hidden = !s.communicators.length;
  by("groups").replaceChildren(...s.communicators.slice(0, 50).map(c => row([
    c.name ?? c.id, c.ranks_seen + "/" + c.ranks, count(c.collectives),
    c.collectives_in_a_step ?? "", share(c.wait_share),
    c.wait_share === null ? "" : share(1 - c.wait_share)])));
  by("events").tBodies[0].replaceChildren(...s.events.slice(-50).reverse().map(
    e => row([span(e.age_s) + " ago", e.sentence])));
  if (!s.events.length) by("events").tBodies[0].replaceChildren(row(["none yet"]));
  const c = s.coverage, f = s.files;
  by("seen").textContent = count(f.files) + (f.files === 1 ? " file, " : " files, ") +
    count(f.lines) + " lines" + (c.records === 0 ? "" : "; " + count(c.records) +
    " records of collectives, " + count(c.matched) +
    " of them in collectives that all ranks reported") +
    (c.least_bytes === null ? "" : "; smallest message " + count(c.least_bytes) + " B") + ".";
}
async function look() {
  try {
    const answer = await fetch("state.json" + location.search, { cache: "no-store" });
    if (!answer.ok) throw new Error("the server answers " + answer.status);
    show(await answer.json());
  } catch (error) {
    by("state").textContent = "No answer: " + error.message + ". What stands below is old.";
  }
  setTimeout(look, 2000);
}
look();
</script></body></html>
)html";

}  // namespace

std::string_view live_page() { return page; }

}  // namespace stepscope
