#!/bin/bash
# live_test.sh PROGRAM: a growing, rotated and truncated log is followed; commands run once per event; files, the port
# and the token; the end by a signal.
set -uo pipefail
program=$1
dir=$(mktemp -d)
trap 'kill "$follower" 2>/dev/null; rm -rf "$dir"' EXIT
follower=
fail() {
  echo "FAILED: $*" >&2
  cat "$dir/out" "$dir/err" >&2 2>/dev/null
  exit 1
}
# until_true SECONDS COMMAND...: waits until the command succeeds.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" 2>/dev/null; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}
step() { printf 'step %5d  loss 4.0000  norm 2.976  lr 3.00e-04     %s ms   4.46 k tokens/s   16.6 %% MFU\n' "$1" "$2"; }
state() { python3 -c 'import json,sys; s=json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$dir/state.json" "$1"; }

mkdir "$dir/job"
for n in $(seq 0 39); do step "$n" "200.$((n % 10))"; done >"$dir/job/train.log"
"$program" live "$dir/job" --plain --interval 0.1s --silent 2s --json "$dir/state.json" --openmetrics "$dir/live.prom" \
  --serve 0 --on slowdown 'echo "$STEPSCOPE_EVENT $STEPSCOPE_SENTENCE" >>'"$dir/events" \
  --on silence "echo \$STEPSCOPE_EVENT >>$dir/silences" >"$dir/out" 2>"$dir/err" &
follower=$!
until_true 10 state 's["steps"] and s["steps"]["last"] == 39' || fail "what was there is read"
for n in $(seq 40 89); do step "$n" "300.$((n % 10))"; done >>"$dir/job/train.log"
printf 'step    90  loss 4.0000  norm 2.976' >>"$dir/job/train.log"
until_true 10 state 's["steps"]["last"] == 89' || fail "appended lines are read, half a line is not"
printf '  lr 3.00e-04     300.0 ms   4.46 k tokens/s   16.6 %% MFU\n' >>"$dir/job/train.log"
until_true 10 state 's["steps"]["last"] == 90' || fail "the rest of a line"
until_true 10 test -s "$dir/events" || fail "a command for the slowdown"
mv "$dir/job/train.log" "$dir/job/train.log.1"
step 91 300.1 >>"$dir/job/train.log.1"
step 92 300.2 >"$dir/job/train.log"
until_true 10 state 's["steps"]["last"] == 92 and s["files"]["rotations"] == 1' || fail "rotation"
: >"$dir/job/train.log"
step 93 300.3 >"$dir/job/train.log"
until_true 10 state 's["steps"]["last"] == 93' || fail "truncation"
until_true 10 grep -qx stands_still "$dir/silences" || fail "silence"
[ "$(grep -c '^slower ' "$dir/events")" = 1 ] || fail "one command per event: $(cat "$dir/events")"
grep -q '^stepscope_live_stands_still 1$' "$dir/live.prom" || fail "the file for a node exporter"
grep -q 'total counter' "$dir/live.prom" || fail "its counters have the names of their samples"
place=$(sed -n 's/^stepscope: serving http:\/\/\(.*\)\/$/\1/p' "$dir/err")
[ -n "$place" ] || fail "the place that is served"
python3 - "$place" <<'PY' || fail "the port"
import sys, urllib.request, urllib.error, http.client
get = lambda path: urllib.request.urlopen("http://" + sys.argv[1] + path, timeout=5).read().decode()
assert get("/metrics").endswith("# EOF\n")
assert '"schema":"stepscope.live/1"' in get("/state.json")
assert "<title>stepscope live</title>" in get("/")
for path, header, status in (("/x", {}, 404), ("/", {"X": "a" * 20000}, 431)):
    try:
        urllib.request.urlopen(urllib.request.Request("http://" + sys.argv[1] + path, headers=header), timeout=5)
        sys.exit("no error for " + path)
    except urllib.error.HTTPError as error:
        assert error.code == status, error.code
    except (urllib.error.URLError, ConnectionError, http.client.HTTPException):
        assert status == 431
PY
kill -INT "$follower"
wait "$follower"
[ $? = 0 ] || fail "the end by a signal"

# A token.
printf 'short\n' >"$dir/token"
"$program" live "$dir/job" --serve 0 --token-file "$dir/token" >"$dir/out" 2>"$dir/err" && fail "a short token"
grep -q 'fewer than 16' "$dir/err" || fail "a short token: $(cat "$dir/err")"
"$program" live "$dir/job" --serve 0.0.0.0:0 >"$dir/out" 2>"$dir/err" && fail "an open address without a token"
grep -q 'give --token-file' "$dir/err" || fail "an open address: $(cat "$dir/err")"
printf 'a-long-and-secret-word\n' >"$dir/token"
"$program" live "$dir/job" --plain --serve 0 --token-file "$dir/token" >"$dir/out" 2>"$dir/err" &
follower=$!
until_true 10 grep -q serving "$dir/err" || fail "serving with a token"
place=$(sed -n 's/^stepscope: serving http:\/\/\(.*\)\/$/\1/p' "$dir/err")
python3 - "$place" <<'PY' || fail "the token"
import sys, urllib.request, urllib.error
def status(path, **headers):
    try:
        return urllib.request.urlopen(urllib.request.Request("http://" + sys.argv[1] + path, headers=headers), timeout=5).status
    except urllib.error.HTTPError as error:
        return error.code
assert status("/metrics") == 401
assert status("/metrics", Authorization="Bearer a-long-and-secret-wore") == 401
assert status("/metrics", Authorization="Bearer a-long-and-secret-word") == 200
assert status("/?token=a-long-and-secret-word") == 200
PY
kill -TERM "$follower"
wait "$follower"
[ $? = 0 ] || fail "the end by SIGTERM"
follower=
echo "live: ok"
