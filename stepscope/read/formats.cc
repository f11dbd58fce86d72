// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/formats.h"

#include <array>

#include "stepscope/base/sqlite_file.h"
#include "stepscope/read/perfetto.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 3> json_endings = {".json", ".json.gz", ".json.zst"};

constexpr std::array<std::string_view, 3> sqlite_endings = {".sqlite", ".sqlite.gz", ".sqlite.zst"};

constexpr std::array<std::string_view, 6> perfetto_endings = {
    ".pftrace",        ".pftrace.gz",        ".pftrace.zst",
    ".perfetto-trace", ".perfetto-trace.gz", ".perfetto-trace.zst"};

// Kineto is the only JSON format so far: what is no JSON gets its reader's message, which names the
// byte.
constexpr std::array<Format, 3> all = {{
    {"nsys", is_sqlite, read_nsys, sqlite_endings},
    {"perfetto", is_perfetto, read_perfetto, perfetto_endings},
    {"kineto", [](std::string_view) { return true; }, read_kineto, json_endings},
}};

}  // namespace

std::span<const Format> formats() { return all; }

}  // namespace stepscope
