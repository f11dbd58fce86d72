// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/output_flags.h"

namespace stepscope {

void declare_json(CLI::App& app, std::string& path) {
  app.add_option("--json", path, "Write everything as JSON to this file, - for standard output")
      ->type_name("FILE")
      ->group("Outputs");
}

void declare_html(CLI::App& app, std::string& path) {
  app.add_option("--html", path, "Write one self-contained page to this file")
      ->type_name("FILE")
      ->group("Outputs");
}

void declare_csv(CLI::App& app, std::string& directory) {
  app.add_option("--csv", directory, "Write the tables as CSV files into this directory")
      ->type_name("DIR")
      ->group("Outputs");
}

void declare_programs(CLI::App& app, std::string& chakra, std::string& goal) {
  app.add_option("--chakra", chakra,
                 "Write the steps as Chakra execution traces, for ASTRA-sim, into this directory")
      ->type_name("DIR")
      ->group("Outputs");
  app.add_option("--goal", goal, "Write the steps as a GOAL schedule, for LogGOPSim, to this file")
      ->type_name("FILE")
      ->group("Outputs");
}

}  // namespace stepscope
