// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/csv/train_csv.h"

#include <string>

#include "stepscope/report/json/train_json.h"

namespace stepscope {

std::vector<CsvFile> train_csv(const TrainResult& r) {
  const Json tree = train_tree(r);
  std::vector<CsvFile> files;
  for (const char* name : {"steps", "rank_steps", "memory", "collectives"})
    if (!tree[name].empty()) files.push_back(csv_table(std::string(name) + ".csv", tree[name]));
  return files;
}

}  // namespace stepscope
