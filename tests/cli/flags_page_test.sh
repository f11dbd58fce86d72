#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: flags_page_test.sh STEPSCOPE SOURCE [--write]
# docs/reference/flags.md is what the program prints; --write puts that into the page.
set -euo pipefail
page=$2/docs/reference/flags.md
if [ "${3:-}" = --write ]; then
  "$1" man --markdown >"$page"
  echo "written: $page"
else
  diff -u "$page" <("$1" man --markdown) || { echo "FAILED: run this test with --write"; exit 1; }
fi
