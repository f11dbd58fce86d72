// SPDX-License-Identifier: Apache-2.0
// For tests: builds a small export table by table, as nsys does.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/nsys/nsys.h"

namespace stepscope::test {

class NsysBuilder {
 public:
  NsysBuilder() {
    check(sqlite3_open(":memory:", &db_) == SQLITE_OK, "a database in memory opens");
    sql("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)");
  }
  ~NsysBuilder() { sqlite3_close(db_); }
  NsysBuilder(const NsysBuilder&) = delete;
  NsysBuilder& operator=(const NsysBuilder&) = delete;

  NsysBuilder& sql(const std::string& text) {
    char* message = nullptr;
    const int code = sqlite3_exec(db_, text.c_str(), nullptr, nullptr, &message);
    check(code == SQLITE_OK, std::string(message != nullptr ? message : "sql") + " in " + text);
    return *this;
  }

  static constexpr std::int64_t pid_of(std::int64_t pid) { return 0x1000000000000 | pid << 24; }
  static constexpr std::int64_t tid_of(std::int64_t pid, std::int64_t tid) {
    return pid_of(pid) | tid;
  }
  // The id of a text in StringIds.
  std::int64_t id(const std::string& text) {
    const auto [at, fresh] = ids_.try_emplace(text, 100 + 3 * static_cast<int>(ids_.size()));
    if (fresh)
      sql("INSERT INTO StringIds VALUES (" + number(at->second) + "," + quoted(text) + ")");
    return at->second;
  }

  // Schema 3: the columns that are read and one that is not.
  NsysBuilder& session(std::int64_t utc = 1'700'000'000'000'000'000) {
    sql("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION','2026.2.1'),"
        "('EXPORT_SCHEMA_VERSION','3.25.0');"
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);"
        "CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER, "
        "stopTime INTEGER);"
        "INSERT INTO ANALYSIS_DETAILS VALUES (1,100000,5000,105000)");
    return sql("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (" + number(utc) + ",'')");
  }
  NsysBuilder& kernel(std::int64_t start, std::int64_t end, int correlation,
                      const std::string& name = "gemm", std::int64_t pid = 7, int device = 0,
                      int stream = 7) {
    once(
        "CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, "
        "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid "
        "INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER)");
    return insert("CUPTI_ACTIVITY_KIND_KERNEL", {start, end, device, device + 1, stream,
                                                 correlation, pid_of(pid), id(name), id(name), 4});
  }
  NsysBuilder& call(std::int64_t start, std::int64_t end, int correlation,
                    const std::string& name = "cudaLaunchKernel_v7000", std::int64_t pid = 7,
                    std::int64_t tid = 70) {
    once(
        "CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, "
        "eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)");
    return insert("CUPTI_ACTIVITY_KIND_RUNTIME",
                  {start, end, 0, tid_of(pid, tid), correlation, id(name)});
  }
  NsysBuilder& copy(std::int64_t start, std::int64_t end, int correlation, std::int64_t bytes,
                    int kind = 1, std::int64_t pid = 7) {
    once(
        "CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, "
        "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid "
        "INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER)");
    return insert("CUPTI_ACTIVITY_KIND_MEMCPY",
                  {start, end, 0, 1, 7, correlation, pid_of(pid), bytes, kind, 0, 2});
  }
  // A push/pop range; `end` < 0 leaves it open. `payload` is SQL of a blob or text.
  NsysBuilder& range(std::int64_t start, std::int64_t end, const std::string& text,
                     std::int64_t pid = 7, std::int64_t tid = 70, int type = 59,
                     const std::string& payload = "NULL", bool registered = false) {
    once(
        "CREATE TABLE IF NOT EXISTS NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, "
        "text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER, binaryData BLOB)");
    return sql("INSERT INTO NVTX_EVENTS VALUES (" + number(start) + "," +
               (end < 0 ? "NULL" : number(end)) + "," + number(type) + "," +
               (registered ? "NULL," + number(id(text)) : quoted(text) + ",NULL") + "," +
               number(tid_of(pid, tid)) + ",0," + payload + ")");
  }
  // NCCL's range with its payload: 32 bytes of header, then the fields.
  NsysBuilder& nccl(std::int64_t start, std::int64_t end, const std::string& name, int schema,
                    const std::string& fields, std::int64_t pid = 7) {
    const std::string payload = little_endian(1, 8) + little_endian((1 << 24) + schema, 8) +
                                little_endian(static_cast<std::int64_t>(fields.size() / 2), 8) +
                                little_endian(32, 8) + fields;
    return range(start, end, name, pid, 70, 59, "x'" + payload + "'", true);
  }
  // Little-endian bytes in hexadecimal.
  static std::string little_endian(std::int64_t value, int bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (int i = 0; i < bytes; ++i) {
      const auto byte = static_cast<std::size_t>(value >> (8 * i) & 0xFF);
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
    return out;
  }

  [[nodiscard]] std::string bytes() const {
    sqlite3_int64 size = 0;
    unsigned char* data = sqlite3_serialize(db_, "main", &size, 0);
    check(data != nullptr, "the database has bytes");
    std::string out(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    sqlite3_free(data);
    return out;
  }
  [[nodiscard]] Result<std::vector<Trace>> read(
      const std::optional<TimeWindow>& window = {}) const {
    return read_nsys_bytes(bytes(), "export.sqlite", {.window = window});
  }
  // The sealed traces. The read must succeed.
  [[nodiscard]] std::vector<Trace> traces() const {
    auto result = read();
    check(result.has_value(), result ? "" : result.error().message());
    for (Trace& trace : *result) seal(trace);
    return std::move(*result);
  }
  [[nodiscard]] Trace trace() const {
    auto all = traces();
    check(all.size() == 1, "one process");
    return std::move(all.front());
  }

 private:
  static std::string number(std::int64_t value) { return std::to_string(value); }
  static std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out + "'";
  }
  void once(const std::string& text) { sql(text); }
  NsysBuilder& insert(const std::string& table, std::initializer_list<std::int64_t> values) {
    std::string text = "INSERT INTO " + table + " VALUES (";
    for (const std::int64_t value : values) text += number(value) + ",";
    text.back() = ')';
    return sql(text);
  }

  sqlite3* db_ = nullptr;
  std::map<std::string, std::int64_t> ids_;
};

}  // namespace stepscope::test
