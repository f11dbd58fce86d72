#!/bin/bash
# docs_links_test.sh SOURCE: every relative link of the pages leads to a file, and to a heading of it if it names one.
# Every page is reachable from README.md directly or through one other page. Every path docs/….md in the code exists.
set -euo pipefail
cd "$1"
export LC_ALL=C.UTF-8

failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}

# The links of a page, without code: path of the target from the root, with #heading if given. One a line.
links_of() {
  local folder target
  folder=$(dirname "$1")
  sed -e '/^```/,/^```/d' -e 's/`[^`]*`//g' "$1" | { grep -oE '\]\([^) ]+\)' || true; } | sed -e 's/^](//' -e 's/)$//' |
    while IFS= read -r target; do
      case $target in
        *://* | mailto:*) ;;
        '#'*) echo "$1$target" ;;
        *) echo "$(realpath -m --relative-to=. "$folder/${target%%#*}")$(grep -oE '#.*' <<<"$target" || true)" ;;
      esac
    done
}

# The headings of a page as links name them.
headings_of() {
  sed -e '/^```/,/^```/d' "$1" | { grep -E '^#+ ' || true; } |
    sed -E -e 's/^#+ +//' -e 's/\[([^]]*)\]\([^)]*\)/\1/g' -e 's/.*/\L&/' -e 's/[^[:alnum:]_ -]//g' -e 's/ /-/g'
}


pages=(README.md ARCHITECTURE.md CONTRIBUTING.md)
while IFS= read -r page; do pages+=("$page"); done < <(find docs examples -name '*.md' | sort)

links=0
declare -A reached=()
near=()  # README.md, then the pages it links to
for page in "${pages[@]}"; do
  while IFS= read -r link; do
    links=$((links + 1))
    file=${link%%#*}
    if [ ! -e "$file" ]; then
      fail "$page links to $file, which does not exist"
    elif [[ $link == *'#'* ]] && ! headings_of "$file" | grep -qxF -- "${link#*#}"; then
      fail "$page links to $link, and there is no such heading"
    fi
    [ "$page" != README.md ] || near+=("$file")
  done < <(links_of "$page")
done
for page in README.md "${near[@]}"; do
  reached[$page]=1
  [[ $page == *.md && -e $page ]] || continue
  while IFS= read -r link; do reached[${link%%#*}]=1; done < <(links_of "$page")
done
for page in "${pages[@]}"; do
  [ -n "${reached[$page]:-}" ] || fail "$page is not reached from README.md through at most one other page"
done

while IFS=: read -r file path; do
  [ -e "$path" ] || fail "$file names $path, which does not exist"
done < <(grep -roE 'docs/[A-Za-z0-9_/-]+\.md' --include='*.cc' --include='*.h' --include='*.js' --include='*.py' --include='*.sh' \
  --include='*.txt' --include='*.cmake' --include='*.md' stepscope engine tests tools bench plugins cmake docs examples \
  README.md ARCHITECTURE.md CONTRIBUTING.md CMakeLists.txt | sort -u)

[ "$links" -ge 100 ] || fail "only $links links were found"
echo "${#pages[@]} pages, $links links"
exit $failed
