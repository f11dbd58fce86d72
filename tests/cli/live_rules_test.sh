#!/bin/bash
# live_rules_test.sh PROGRAM SOURCE: the alert rules for stepscope live by promtool (Debian: prometheus), and a real
# Prometheus that asks the program and fires an alert. Skipped without promtool.
set -uo pipefail
program=$1
rules=$2/integrations/prometheus
command -v promtool >/dev/null && command -v prometheus >/dev/null || {
  echo "no prometheus here (Debian: prometheus): skipped"
  exit 77
}
dir=$(mktemp -d)
trap 'kill $follower $server 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
follower= server=
fail() {
  echo "FAILED: $*" >&2
  tail -20 "$dir"/*.log "$dir/err" >&2 2>/dev/null
  exit 1
}
promtool check rules "$rules/stepscope_live.rules.yml" || fail "the rules"
(cd "$rules" && promtool test rules stepscope_live_test.yml) || fail "the tests of the rules"
python3 -m json.tool "$2/integrations/grafana/stepscope_live.json" >/dev/null || fail "the dashboard is JSON"

# Each family that rules and the dashboard use is one that the program writes.
mkdir "$dir/job"
for n in $(seq 0 99); do
  for rank in 0 1 2 3; do
    wait_us=$((n < 50 || rank == 2 ? 5000 : 65000))
    printf '{"header":{"id":"0xa","comm_name":"DP","rank":%d,"n_ranks":4,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.2","dump_timestamp_us":%d,"hostname":"h","pid":%d},"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_msg_size_bytes":%d,"coll_exec_time_us":%d}}\n' \
      "$rank" $((1750000000000000 + n * 100000)) "$rank" "$n" $((1048576 * (1 + n % 2))) "$wait_us" >>"$dir/job/h-pid$rank.log"
  done
done
"$program" live "$dir/job" --once --openmetrics "$dir/live.prom" >/dev/null || fail "stepscope live"
promtool check metrics <"$dir/live.prom" || fail "the metrics"
grep -ohE 'stepscope_live_[a-z_]+' "$rules/stepscope_live.rules.yml" "$2/integrations/grafana/stepscope_live.json" | sort -u |
  while read -r name; do
    grep -q "^$name[ {]" "$dir/live.prom" || { echo "no family $name" >&2; exit 1; }
  done || fail "families"

"$program" live "$dir/job" --plain --interval 0.2s --silent 600s --serve 0 >"$dir/out" 2>"$dir/err" &
follower=$!
for _ in $(seq 100); do grep -q serving "$dir/err" && break; sleep 0.1; done
place=$(sed -n 's/^stepscope: serving http:\/\/\(.*\)\/$/\1/p' "$dir/err")
[ -n "$place" ] || fail "the place that is served"
sed -E 's/for: [0-9]+m/for: 1s/' "$rules/stepscope_live.rules.yml" >"$dir/rules.yml"
cat >"$dir/prometheus.yml" <<YML
global: {scrape_interval: 500ms, evaluation_interval: 500ms}
rule_files: [$dir/rules.yml]
scrape_configs: [{job_name: train, static_configs: [{targets: ["$place"]}]}]
YML
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data" --web.listen-address="127.0.0.1:$port" \
  >"$dir/prometheus.log" 2>&1 &
server=$!
for _ in $(seq 60); do
  python3 - "$port" <<'PY' && { echo "fired"; exit 0; }
import json, sys, urllib.request
try:
    alerts = json.load(urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1] + "/api/v1/alerts", timeout=2))["data"]["alerts"]
except OSError:
    sys.exit(1)
sys.exit(not any(a["labels"]["alertname"] == "TrainingRankLate" and a["state"] == "firing" for a in alerts))
PY
  sleep 0.5
done
fail "no alert fires"
