// SPDX-License-Identifier: Apache-2.0
// Exports of Nsight Systems. Bytes that begin like a database are read directly. All others are a
// recipe: tables with some of their columns, rows of small and extreme values, and at the end
// changed bytes of the finished database. The invariants of sealed traces hold, and errors have a
// text.
#include <sqlite3.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/event/trace_test_text.h"
#include "stepscope/read/nsys/nsys.h"
#include "stepscope/stack/nsys_samples.h"

namespace stepscope {
namespace {

void expect(bool ok, const std::string& what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what.c_str());
  std::abort();
}

class Recipe {
 public:
  Recipe(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool done() const { return at_ >= size_; }
  unsigned byte() { return done() ? 0 : data_[at_++]; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

struct Table {
  std::string_view name;
  std::string_view columns;
};
// In the same order as in make_nsys_seeds.py.
constexpr std::array<Table, 28> tables = {{
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start,end,deviceId,contextId,streamId,correlationId,globalPid,demangledName,shortName"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start,end,eventClass,globalTid,correlationId,nameId"},
    {"NVTX_EVENTS", "start,end,eventType,text,textId,globalTid,domainId,binaryData"},
    {"StringIds", "id,value"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start,end,deviceId,contextId,streamId,correlationId,globalPid,bytes,copyKind,srcKind,"
     "dstKind"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "start,end,deviceId,contextId,streamId,correlationId,globalPid,bytes,memKind"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     "start,end,deviceId,contextId,streamId,correlationId,globalPid,graphId"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "start,end,contextId,streamId,correlationId,globalPid,syncType,eventId,eventSyncId"},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "streamId,correlationId,globalPid,eventId,eventSyncId"},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS",
     "start,globalPid,deviceId,address,bytes,memKind,memoryOperationType"},
    {"GPU_METRICS", "timestamp,typeId,metricId,value"},
    {"TARGET_INFO_GPU_METRICS", "typeId,metricId,metricName"},
    {"TARGET_INFO_GPU", "id,name,totalMemory,smCount,computeMajor,computeMinor"},
    {"TARGET_INFO_CUDA_DEVICE", "gpuId,cudaId,pid"},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs"},
    {"ANALYSIS_DETAILS", "duration,startTime,stopTime"},
    {"META_DATA_CAPTURE", "name,value"},
    {"META_DATA_EXPORT", "name,value"},
    {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "schemaId,type,name,offset,idx"},
    {"OSRT_API", "start,end,globalTid,nameId,callchainId"},
    {"OSRT_CALLCHAINS", "id,symbol,module,stackDepth"},
    {"SAMPLING_CALLCHAINS", "id,symbol,module,stackDepth"},
    {"COMPOSITE_EVENTS", "id,start,cpu,globalTid"},
    {"ThreadNames", "globalTid,nameId"},
    {"PROCESSES", "globalPid,name"},
    {"MPI_RANKS", "globalTid,rank"},
    {"TARGET_INFO_SYSTEM_ENV", "name,value"},
    {"DIAGNOSTIC_EVENT", "severity,text"},
}};

// Payloads of NCCL: a header of 32 bytes; communicator; bytes or size and rank; peer.
#define HEXADECIMAL(schema, size, fields) \
  "0100000000000000" schema "00000100000000" size "000000000000002000000000000000" fields "'"
#define PAYLOAD(schema, size, fields) "x'" HEXADECIMAL(schema, size, fields)
#define COMMUNICATOR "8877665544332211"
constexpr std::array<std::string_view, 36> texts = {
    "'iteration 3'",
    "'ncclAllReduce'",
    "'ncclSend'",
    "'ncclRecv'",
    "'ncclGroupStart'",
    "'ncclGroupEnd'",
    "'ncclCommInitRankConfig'",
    "'ncclDevKernel_SendRecv'",
    "'aten::mm, seq = 1, op_id = 2, sizes = [[8, 4], [4, 2]]'",
    "'cudaLaunchKernel_v7000'",
    "'MPI Rank 1'",
    "'EXPORT_PARAM_TIME_NORMALIZE'",
    "'PROCESS_0:ENVIRONMENT_VARIABLE'",
    "'RANK=\"1\"'",
    "'--nnodes=2'",
    "'NCCL communicator ID'",
    "'Message size [bytes]'",
    "'true'",
    "''",
    PAYLOAD("05", "18", COMMUNICATOR "00010000000000000000000000000000"),
    PAYLOAD("0b", "10", COMMUNICATOR "0200000000000000"),
    PAYLOAD("0b", "10", COMMUNICATOR "0200000001000000"),
    PAYLOAD("09", "14", COMMUNICATOR "001000000000000000000000"),
    PAYLOAD("09", "14", COMMUNICATOR "001000000000000001000000"),
    "'ncclDevKernel_AllReduce_Sum_f32_RING_LL'",
    "'PROCESS_0:COMMAND'",
    "'PROCESS_0:ARGUMENT_1'",
    "'--nproc-per-node=2'",
    "'WORLD_SIZE=2'",
    "'Hostname'",
    "'Not all events might have been collected.'",
    "'No. of ranks'",
    "'ncclAllGather'",
    "'ncclReduceScatter'",
    "'0x" HEXADECIMAL("07", "10", COMMUNICATOR "0010000000000000"),
    "'--nnodes'",
};

std::string value(Recipe& recipe) {
  const unsigned kind = recipe.byte();
  if (kind < 96) return std::to_string(kind % 32);
  if (kind < 160) return std::string(texts[(kind - 96) % texts.size()]);
  if (kind < 176) return std::to_string(281474976710656LL + (kind % 3) * 16777216LL + kind % 2);
  if (kind < 200) return std::to_string(1000 * recipe.byte() + recipe.byte());
  switch (kind % 8) {
    case 0:
      return "9223372036854775807";
    case 1:
      return "-9223372036854775808";
    case 2:
      return "1700000000000000000";
    case 3:
      return std::to_string(-static_cast<int>(recipe.byte()));
    case 4:
      return "1e300";
    case 5:
      return "4294967296";
    case 6:
      return "16777221";
    default:
      return "NULL";
  }
}

std::vector<std::string> names_of(std::string_view columns) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= columns.size();) {
    const std::size_t comma = std::min(columns.find(',', at), columns.size());
    names.emplace_back(columns.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

void add_table(Recipe& recipe, const Table& table, std::string& sql) {
  const unsigned left_out = recipe.byte();  // index of the omitted column; a larger one omits none
  std::vector<std::string> columns = names_of(table.columns);
  if (left_out < columns.size())
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(left_out));
  std::string list;
  for (const std::string& name : columns) list.append(list.empty() ? "" : ",").append(name);
  const std::string name(table.name);
  sql += "CREATE TABLE IF NOT EXISTS " + name + "(" + list + ");";
  const unsigned rows = recipe.byte() % 6;
  if (rows > 0) sql += "INSERT INTO " + name + "(" + list + ") VALUES ";
  for (unsigned r = 0; r < rows; ++r) {
    sql += r > 0 ? ",(" : "(";
    for (std::size_t c = 0; c < columns.size(); ++c)
      sql.append(c > 0 ? "," : "").append(value(recipe));
    sql += r + 1 < rows ? ")" : ");";
  }
}

std::string cooked(Recipe& recipe) {
  sqlite3* db = nullptr;
  sqlite3_open(":memory:", &db);
  const unsigned damage = recipe.byte();
  std::string sql = "PRAGMA page_size=512;BEGIN;CREATE TABLE META_DATA_EXPORT(name,value);";
  for (int n = 0; n < 28 && !recipe.done(); ++n)
    add_table(recipe, tables[recipe.byte() % tables.size()], sql);
  sqlite3_exec(db, (sql + "COMMIT;").c_str(), nullptr, nullptr, nullptr);
  sqlite3_int64 size = 0;
  unsigned char* data = sqlite3_serialize(db, "main", &size, 0);
  std::string bytes(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  sqlite3_free(data);
  sqlite3_close(db);
  for (unsigned n = damage < 128 ? 0 : damage % 8; n > 0 && !bytes.empty(); --n) {
    const std::size_t at = (recipe.byte() * 256U + recipe.byte()) % bytes.size();
    bytes[at] = static_cast<char>(recipe.byte());
  }
  return bytes;
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  std::optional<TimeWindow> window;
  if (!is_sqlite(bytes)) {
    Recipe recipe(data, size);
    bytes = cooked(recipe);
    // Reads a part of it, for every fourth first byte.
    if (size > 0 && data[0] % 4 == 3) window = {.from = Ns{10}, .until = Ns{60}};
  }
  auto traces = read_nsys_bytes(bytes, "input", {.window = window});
  if (!traces) expect(!traces.error().message().empty(), "an error says something");
  for (std::size_t i = 0; traces && i < traces->size(); ++i) {
    Trace& trace = (*traces)[i];
    seal(trace);
    const std::string broken = test::broken_rule(trace);
    expect(broken.empty(), broken);
  }
  const auto file = SqliteFile::open_bytes(bytes, "input");
  if (!file) return 0;
  const auto profile = read_nsys_samples(*file, "input", true);
  expect(profile || !profile.error().message().empty(), "an error says something");
  return 0;
}
