// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/byte_size.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

struct Unit {
  std::string_view name;  // in upper case
  std::string_view shown;
  std::int64_t bytes;
};
constexpr std::array<Unit, 14> units = {{{"TIB", "TiB", std::int64_t{1} << 40},
                                         {"TB", "TB", 1'000'000'000'000},
                                         {"T", "TB", 1'000'000'000'000},
                                         {"GIB", "GiB", std::int64_t{1} << 30},
                                         {"GB", "GB", 1'000'000'000},
                                         {"G", "GB", 1'000'000'000},
                                         {"MIB", "MiB", 1 << 20},
                                         {"MB", "MB", 1'000'000},
                                         {"M", "MB", 1'000'000},
                                         {"KIB", "KiB", 1 << 10},
                                         {"KB", "KB", 1000},
                                         {"K", "KB", 1000},
                                         {"B", "B", 1},
                                         {"", "B", 1}}};

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  text = text.substr(0, 64);
  std::string_view rest = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  if (rest.starts_with('+')) rest.remove_prefix(1);
  const auto number = take_number<double>(rest);
  std::string unit(rest.substr(std::min(rest.find_first_not_of(' '), rest.size())));
  for (char& c : unit)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  for (const Unit& u : units) {
    if (unit != u.name || !number) continue;
    const double bytes = *number * static_cast<double>(u.bytes);
    if (bytes >= 1 && bytes <= 1e15) return static_cast<std::int64_t>(std::llround(bytes));
  }
  return Error{.what = "\"" + std::string(text) + "\" is no size",
               .hint = "write 1KB, 64MiB or 1GB"};
}

std::string byte_size_text(Bytes bytes) {
  for (const Unit& u : units)
    if (bytes.value >= u.bytes && bytes.value % u.bytes == 0)
      return std::to_string(bytes.value / u.bytes).append(u.shown);
  return "0B";
}

}  // namespace stepscope
