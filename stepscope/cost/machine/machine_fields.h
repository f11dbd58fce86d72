// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a machine file with one sticky error: the first wrong field is the one that
// is reported. Internal to the parser.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/compute_parameters.h"
#include "stepscope/cost/machine/links.h"
#include "stepscope/cost/machine/machine_host.h"

namespace stepscope {

class MachineFields {
 public:
  using Json = nlohmann::json;
  explicit MachineFields(std::string_view path) : path_(path) {}

  void fail(const std::string& field, const std::string& why);
  bool is_object(const Json& value, const std::string& field);
  // Refuses any other key.
  void only(const Json& object, const std::string& prefix, std::span<const std::string_view> known);
  std::string text(const Json& object, const std::string& prefix, const char* key, bool required);
  std::optional<double> number(const Json& value, const std::string& field);
  std::optional<double> number(const Json& object, const std::string& prefix, const char* key);
  std::optional<int> whole(const Json& object, const std::string& prefix, const char* key);
  std::optional<bool> truth(const Json& object, const std::string& prefix, const char* key);
  std::optional<ByteRate> rate(const Json& object, const std::string& prefix, const char* key);
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  // The field that the error is about, dotted.
  [[nodiscard]] const std::string& wrong_field() const { return wrong_field_; }

 private:
  std::string path_;
  std::optional<Error> error_;
  std::string wrong_field_;
};

// The two tiers of links of a machine file's root (machine_links.cc).
[[nodiscard]] std::optional<ScaleUp> read_scale_up(const nlohmann::json& root,
                                                   MachineFields& fields);
[[nodiscard]] std::optional<ScaleOut> read_scale_out(const nlohmann::json& root,
                                                     MachineFields& fields);

// How near the device comes to its peaks, and what lies behind it (machine_compute.cc).
[[nodiscard]] std::optional<ComputeCurves> read_compute(const nlohmann::json& root,
                                                        MachineFields& fields);
[[nodiscard]] std::optional<Host> read_host(const nlohmann::json& root, MachineFields& fields);
[[nodiscard]] std::optional<Nvme> read_nvme(const nlohmann::json& root, MachineFields& fields);

}  // namespace stepscope
