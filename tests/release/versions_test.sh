#!/bin/bash
# versions_test.sh PROGRAM SOURCE: the version in CMakeLists.txt, which Python's metadata and the packages use, is that
# of the newest entry of CHANGELOG.md and what the program prints.
set -euo pipefail
program=$1
cd "$2"
version=$(sed -nE 's/^project\(stepscope VERSION ([0-9]+\.[0-9]+\.[0-9]+).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || { echo "FAILED: no version in CMakeLists.txt"; exit 1; }
failed=0
agrees() {
  [ "$2" = "$version" ] || { echo "FAILED: $1 says '$2', CMakeLists.txt $version"; failed=1; }
}
agrees "the newest entry of CHANGELOG.md" "$(sed -nE 's/^## ([^ ]+).*/\1/p' CHANGELOG.md | head -1)"
agrees "stepscope --version" "$("$program" --version)"
agrees "the manual page" "$("$program" man | sed -nE 's/^\.TH .*stepscope ([0-9.]+).*/\1/p')"

# pyproject.toml has no version of its own; its pattern finds that of CMakeLists.txt.
agrees "the pattern of pyproject.toml" "$(python3 - <<'PY'
import re
text = open("pyproject.toml").read()
assert 'dynamic = ["version"]' in text and not re.search(r"^version\s*=", text, re.M)
pattern = re.search(r"^regex = '(.*)'$", text, re.M)[1]
print(re.search(pattern, open("CMakeLists.txt").read())["value"])
PY
)"
exit $failed
