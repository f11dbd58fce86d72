// SPDX-License-Identifier: Apache-2.0
// render_page REPORT.json PAGE.html: writes the page of a report, for the browser tests.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "stepscope/face/page/html.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: render_page REPORT.json PAGE.html\n", stderr);
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::ofstream out(argv[2], std::ios::binary);
  out << stepscope::render_html(json);
  out.close();
  if (json.empty() || !out) {
    std::fputs("render_page: cannot read the report or write the page\n", stderr);
    return 1;
  }
  return 0;
}
