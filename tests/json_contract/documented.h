// SPDX-License-Identifier: Apache-2.0
// The contract of each command as documented, and a run compared with it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/json_contract/contract.h"
#include "tests/program/program.h"

namespace stepscope::contract {

inline const std::filesystem::path source = STEPSCOPE_SOURCE_DIR;

inline Shape documented(const std::string& command) {
  std::string verb = command.substr(command.find(' ') + 1);
  verb = verb.substr(0, verb.find(' '));
  std::ifstream in(source / "docs" / "reference" / "json" / (verb + ".md"));
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return read_contract(part_of(text, command));
}
inline void expect_contract(const std::string& command, const program::Outcome& run,
                            std::set<std::string> may_be_null) {
  ASSERT_TRUE(nlohmann::json::accept(run.printed)) << run.errors;
  const Shape shape = documented(command);
  Comparison comparison;
  compare(shape, nlohmann::json::parse(run.printed), comparison);
  EXPECT_EQ(comparison.problems, std::vector<std::string>{});
  std::set<std::string> unseen = paths(shape);
  for (const std::string& path : comparison.seen) unseen.erase(path);
  for (const std::string& path : may_be_null) unseen.erase(path);
  EXPECT_EQ(unseen, std::set<std::string>{});
}

}  // namespace stepscope::contract
