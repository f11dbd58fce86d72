#!/bin/bash
# check_page.sh: lints the modules of the report page and runs their unit tests (Debian's eslint and nodejs).
set -euo pipefail
cd "$(dirname "$0")/../stepscope/face/page"

# Debian's modules, also for a nodejs from elsewhere.
NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH} eslint --no-inline-config --max-warnings 0 --format unix .
mapfile -t tests < <(find . -name '*_test.js' | sort)
[ ${#tests[@]} -gt 0 ] || { echo "check_page: no test found" >&2; exit 1; }
node --test "${tests[@]}"
