// SPDX-License-Identifier: Apache-2.0
// This tree follows its own rules: the layer table of ARCHITECTURE.md, the lengths of files and
// lines, and compiler flags that run on every x86-64.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/tree/layers.h"
#include "tests/tree/source_tree.h"
#include "tests/tree/type_names.h"

namespace stepscope::tree {
namespace {

using Lines = std::vector<std::string>;

const std::filesystem::path root = STEPSCOPE_SOURCE_DIR;

class Repository : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GT(files.size(), 100U);
    ASSERT_GT(layers.size(), 8U);
  }

  static const std::vector<SourceFile> files;
  static const std::vector<Layer> layers;
};

const std::vector<SourceFile> Repository::files = read_source_tree(root);
const std::vector<Layer> Repository::layers = parse_layers(read_text(root / "ARCHITECTURE.md"));

TEST_F(Repository, ArrowsOfTheLayerTableLeadDown) { EXPECT_EQ(table_faults(layers), Lines{}); }

TEST_F(Repository, IncludesKeepTheLayerTable) { EXPECT_EQ(arrow_faults(layers, files), Lines{}); }

TEST_F(Repository, ModulesLinkWhatTheLayerTableAllows) {
  const std::string cmake = read_text(root / "CMakeLists.txt");
  EXPECT_NE(cmake.find("stepscope_module(base"), std::string::npos);
  EXPECT_EQ(link_faults(layers, cmake), Lines{});
  const std::string engine = read_text(root / "engine" / "CMakeLists.txt");
  EXPECT_NE(engine.find("stepscope_module(nn"), std::string::npos);
  EXPECT_EQ(link_faults(layers, engine), Lines{});
}

TEST_F(Repository, NoTwoFoldersIncludeEachOther) { EXPECT_EQ(two_way_pairs(files), Lines{}); }

TEST_F(Repository, NoIncludesGoInCircles) { EXPECT_EQ(include_circles(files), Lines{}); }

TEST_F(Repository, IncludesKeepTheTableOfRooms) {
  const Lines rooms = parse_rooms(read_text(root / "ARCHITECTURE.md"));
  ASSERT_GT(rooms.size(), 30U);
  EXPECT_EQ(room_faults(rooms, files), Lines{});
}

TEST_F(Repository, NoPairsOfHeaderAndSourceIncludeEachOther) {
  EXPECT_EQ(pair_circles(files), Lines{});
}

TEST_F(Repository, NoFolderIsCrowded) { EXPECT_EQ(crowded_folders(files, 25), Lines{}); }

TEST_F(Repository, NoTwoHeadersHaveOneName) { EXPECT_EQ(header_names_used_twice(files), Lines{}); }

TEST_F(Repository, NoConstantOfASourceHidesOneOfAHeader) {
  EXPECT_EQ(hidden_constants(files), Lines{});
}

TEST_F(Repository, NoTwoFilesDefineTypesOfOneName) {
  EXPECT_EQ(types_defined_twice(files), Lines{});
}

TEST_F(Repository, EveryFolderOfTheTableExistsUnlessItComesLater) {
  for (const Layer& layer : layers) {
    EXPECT_NE(std::filesystem::is_directory(root / "stepscope" / layer.folder) ||
                  std::filesystem::is_directory(root / "engine" / layer.folder),
              layer.later)
        << layer.folder;
  }
}

TEST_F(Repository, FilesHaveAtMost600LinesOf100Columns) {
  Lines faults;
  for (const SourceFile& file : files) {
    if (file.lines.size() > 600) {
      faults.push_back(file.path + ": " + std::to_string(file.lines.size()) + " lines");
    }
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (columns(file.lines[i]) > 100) {
        faults.push_back(file.path + ":" + std::to_string(i + 1) + ": too long");
      }
    }
  }
  EXPECT_EQ(faults, Lines{});
}

TEST_F(Repository, FilesOpenWithTheirLicence) {
  Lines faults;
  for (const SourceFile& file : files) {
    if (file.lines.empty() || file.lines[0] != "// SPDX-License-Identifier: Apache-2.0") {
      faults.push_back(file.path);
    }
  }
  EXPECT_EQ(faults, Lines{});
}

TEST(Build, NoFlagTiesTheBinaryToThisMachine) {
  const std::string commands =
      read_text(std::filesystem::path(STEPSCOPE_BINARY_DIR) / "compile_commands.json");
  ASSERT_NE(commands.find("-std=c++20"), std::string::npos);
  for (const std::string flag : {"-march=", "-mtune=", "-mcpu=", "-mavx", "-mbmi", "-msse4"}) {
    EXPECT_EQ(commands.find(flag), std::string::npos) << flag;
  }
}

}  // namespace
}  // namespace stepscope::tree
