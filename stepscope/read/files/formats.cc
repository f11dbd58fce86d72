// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/files/formats.h"

#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/sqlite_file.h"
#include "stepscope/digest/digest_file.h"
#include "stepscope/read/files/read_digest.h"
#include "stepscope/read/kineto/kineto.h"
#include "stepscope/read/kineto/rocprof.h"
#include "stepscope/read/kineto/xplane.h"
#include "stepscope/read/perfetto/perfetto.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 3> json_endings = {".json", ".json.gz", ".json.zst"};

constexpr std::array<std::string_view, 3> sqlite_endings = {".sqlite", ".sqlite.gz", ".sqlite.zst"};

constexpr std::array<std::string_view, 6> perfetto_endings = {
    ".pftrace",        ".pftrace.gz",        ".pftrace.zst",
    ".perfetto-trace", ".perfetto-trace.gz", ".perfetto-trace.zst"};

constexpr std::array<std::string_view, 1> digest_endings = {".digest"};

constexpr std::array<std::string_view, 2> xplane_endings = {".xplane.pb", ".xplane.pb.gz"};

using ReadFrom = Result<std::vector<Trace>>(ByteSource& source, const std::string& path,
                                            const ReadControl& control);
template <ReadFrom* read_from>
Result<std::vector<Trace>> read_file(const std::string& path, const ReadControl& control) {
  auto source = open_source(path);
  return source ? read_from(**source, path, control) : source.error();
}

// `nsys export --type json` and `jsonlines`: a table of strings, then one event a line, perhaps as
// a list, or with blanks and line ends between the values.
bool is_nsys_json(std::string_view head) {
  std::string text(head.substr(0, 400));
  std::erase_if(text, [](char c) { return is_space(c); });
  const std::string_view begin = std::string_view(text).substr(text.starts_with('[') ? 1 : 0);
  if (head.starts_with(R"({"data":[")") || begin.starts_with(R"({"data":["[Unknown]")"))
    return true;
  return begin.starts_with('{') && contains(begin.substr(0, 200), R"("Type":)") &&
         contains_any(begin, {R"("CudaEvent":{)", R"("NvtxEvent":{)", R"("TraceProcessEvent":{)",
                              R"("GpuInfoEvent":{)", R"("TargetSystemInfo":{)"});
}

Result<std::vector<Trace>> refuse_nsys_json(const std::string& path, const ReadControl&) {
  return Error{.what = "begins as the JSON of `nsys export --type json`, which is not read",
               .file = path,
               .hint = "export the report with `nsys export --type sqlite REPORT.nsys-rep`"};
}

// PyTorch's ExecutionTraceObserver ("schema": "1.1.1-chakra.0.0.4", then "nodes"), Chakra's
// messages, each with its length in front, the first with the schema or the version, and its JSON.
bool is_execution_trace(std::string_view head) {
  if (!head.starts_with('{'))
    return contains(head.substr(0, 12), "\x0a\x06schema") ||
           contains(head.substr(0, 32), "chakra.");
  const std::string_view begin = head.substr(0, 400);
  return contains(begin, "\"workload_graph\"") ||
         (contains(begin, "\"schema\"") && contains(begin, "\"nodes\"") &&
          !contains(head, "\"traceEvents\""));
}

Result<std::vector<Trace>> refuse_execution_trace(const std::string& path, const ReadControl&) {
  return Error{.what = "is an execution trace (Chakra, ExecutionTraceObserver), which is not read",
               .file = path,
               .hint = "give the torch.profiler trace that was recorded with it"};
}

// Files that are not JSON, or of no known format, get the error of the Kineto reader, which names
// the byte.
constexpr std::array<Format, 8> all = {{
    {"digest", is_digest, read_file<read_digest_from>, digest_endings},
    {"nsys", is_sqlite, read_nsys, sqlite_endings},
    {"xplane", is_xplane, read_file<read_xplane_from>, xplane_endings},
    {"perfetto", is_perfetto, read_file<read_perfetto_from>, perfetto_endings},
    {"nsys_json", is_nsys_json, refuse_nsys_json, json_endings},
    {"execution_trace", is_execution_trace, refuse_execution_trace, json_endings},
    {"rocprof", is_rocprof, read_file<read_rocprof_from>, json_endings},
    {"kineto", [](std::string_view) { return true; }, read_kineto, json_endings},
}};

}  // namespace

std::span<const Format> formats() { return all; }

}  // namespace stepscope
