#!/bin/bash
# readme_picture.sh PROGRAM: makes docs/images/page.png, the page of the bundled example for README.md. Needs chromium.
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
picture=docs/images/page.png

# The two figures are from examples/train_tiny/README.md.
"$program" analyze examples/train_tiny/traces/ddp --model-flops-per-step 23353884672 --peak-tflops 0.076 \
  --html "$work/report.html" >/dev/null
mkdir -p "$(dirname "$picture")"
chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 --window-size=1200,1000 \
  --virtual-time-budget=10000 --user-data-dir="$work/profile" --screenshot="$work/page.png" \
  "file://$work/report.html" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
bytes=$(stat -c %s "$work/page.png")
[ "$bytes" -lt 200000 ] || { echo "readme_picture: $bytes bytes, and 200000 are the limit"; exit 1; }
mv "$work/page.png" "$picture"
echo "$picture: $bytes bytes"
