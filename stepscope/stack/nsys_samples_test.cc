// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/nsys_samples.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

constexpr const char* texts =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (1,'main'),(2,'compute'),(3,'/app'),(4,'poll'),(5,'trainer');"
    // pid 7, thread 70
    "CREATE TABLE ThreadNames (nameId, priority, globalTid);"
    "INSERT INTO ThreadNames VALUES (5,20,281475094151238);"
    "CREATE TABLE PROCESSES (globalPid, pid, name TEXT);"
    "INSERT INTO PROCESSES VALUES (281475094151168,7,'python3');";

std::string database(const std::string& sql) {
  sqlite3* db = nullptr;
  sqlite3_open(":memory:", &db);
  EXPECT_EQ(sqlite3_exec(db, (texts + sql).c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_int64 size = 0;
  unsigned char* data = sqlite3_serialize(db, "main", &size, 0);
  std::string bytes(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  sqlite3_free(data);
  sqlite3_close(db);
  return bytes;
}

Result<Profile> read(const std::string& bytes, bool keep_samples = false) {
  const auto file = SqliteFile::open_bytes(bytes, "export.sqlite");
  if (!file) return file.error();
  return read_nsys_samples(*file, "export.sqlite", keep_samples);
}

constexpr const char* samples =
    "CREATE TABLE COMPOSITE_EVENTS (id, start, cpu, globalTid);"
    "INSERT INTO COMPOSITE_EVENTS VALUES (1,10,0,281475094151238),(2,30,0,281475094151238),"
    "(3,50,1,281475094151238);"
    "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);"
    "INSERT INTO SAMPLING_CALLCHAINS VALUES (1,2,3,0),(1,1,3,1),(2,1,3,1),(2,2,3,0),(3,1,3,0),"
    "(9,1,3,0);";

TEST(NsysSamples, ChainsBecomeStacksOfTheirThreadFromTheOutermostIn) {
  const auto p = read(database(samples));
  ASSERT_TRUE(p.has_value()) << p.error().message();
  EXPECT_EQ(p->unit, WeightUnit::samples);
  EXPECT_EQ(test::folded(*p),
            (test::Folded{{"python3 7|trainer 70;main (/app)", 1},
                          {"python3 7|trainer 70;main (/app);compute (/app)", 2}}));
  EXPECT_EQ(p->inputs[0].stacks, 3u);
  EXPECT_EQ(p->inputs[0].notes.at("chains of no sample"), 1u);
}

TEST(NsysSamples, InstantsAreAbsoluteWhereTheSessionsStartIsKnown) {
  const auto p = read(
      database(std::string(samples) + "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs);"
                                      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1000)"),
      true);
  ASSERT_TRUE(p.has_value());
  EXPECT_TRUE(p->inputs[0].unix_clock);
  ASSERT_EQ(p->samples.size(), 3u);
  EXPECT_EQ(p->samples[0].start, Ns{1010});
}

TEST(NsysSamples, WithoutSamplesSystemCallsWeighWhatTheyTook) {
  const auto p = read(database(
      "CREATE TABLE OSRT_API (start, end, globalTid, nameId, callchainId);"
      "INSERT INTO OSRT_API VALUES (10,40,281475094151238,4,1),(50,60,281475094151238,4,NULL),"
      "(70,75,281475094151238,4,1);"
      "CREATE TABLE OSRT_CALLCHAINS (id, symbol, module, stackDepth);"
      "INSERT INTO OSRT_CALLCHAINS VALUES (1,4,3,0),(1,1,3,1)"));
  ASSERT_TRUE(p.has_value()) << p.error().message();
  EXPECT_EQ(p->unit, WeightUnit::nanoseconds);
  EXPECT_EQ(test::folded(*p), (test::Folded{{"python3 7|trainer 70;main (/app);poll (/app)", 35}}));
}

TEST(NsysSamples, WithoutChainsTheSwitchThatRecordsThemIsNamed) {
  const auto p = read(database(""));
  ASSERT_FALSE(p.has_value());
  EXPECT_NE(p.error().message().find("--sample=process-tree"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
