// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/outputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace stepscope {
namespace {

TEST(Outputs, AFilesNameDoesNotSteerTheTerminal) {
  Failures failures;
  testing::internal::CaptureStderr();
  failures.add({.what = "this is no JSON", .file = "a\033]0;title\007.json"});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(failures.any());
  EXPECT_EQ(said.find('\033'), std::string::npos) << said;
  EXPECT_NE(said.find(".json: this is no JSON"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with('\n'));
}

// A verb with inputs, settings and outputs, as analyze declares them.
class OutputFiles : public testing::Test {
 protected:
  OutputFiles() {
    std::filesystem::create_directories(dir_ + "/traces");
    for (const char* name : {"/traces/rank0.json", "/traces/report.html", "/rank1.json", "/m.json"})
      std::ofstream(dir_ + name) << "{}";
    std::filesystem::create_symlink(dir_ + "/rank1.json", dir_ + "/link.json");
  }
  ~OutputFiles() override { std::filesystem::remove_all(dir_); }

  // "" or what is wrong.
  std::string complaint(std::vector<std::string> words) const {
    CLI::App app;
    std::vector<std::string> inputs;
    std::string machine;
    OutputPaths paths;
    app.add_option("INPUT", inputs);
    app.add_option("--machine", machine);
    declare_json(app, paths.json);
    declare_html(app, paths.html);
    declare_csv(app, paths.csv);
    for (std::string& word : words)
      if (!word.starts_with('-') && !word.starts_with('/')) word = dir_ + "/" + word;
    std::ranges::reverse(words);
    app.parse(words);
    const auto checked = check_outputs(app);
    return checked ? "" : checked.error().message();
  }

  std::string dir_ = testing::TempDir() + "outputs_test_" + std::to_string(getpid());
};

TEST_F(OutputFiles, NeverOverwriteWhatIsRead) {
  for (const char* out : {"--json", "--html"}) {
    EXPECT_NE(complaint({"rank1.json", out, "rank1.json"}), "");
    EXPECT_NE(complaint({"rank1.json", out, "link.json"}), "");
    EXPECT_NE(complaint({"rank1.json", out, "traces/../rank1.json"}), "");
    EXPECT_NE(complaint({"traces", out, "traces/rank0.json"}), "");
    EXPECT_NE(complaint({"traces/*.json", out, "traces/rank0.json"}), "");
    EXPECT_NE(complaint({"rank1.json", "--machine", "m.json", out, "m.json"}), "");
  }
  EXPECT_EQ(
      complaint({"rank1.json", "--json", "rank1.json"}),
      "--json " + dir_ + "/rank1.json would overwrite a file that INPUT " + dir_ +
          "/rank1.json reads; choose another place for the output, or delete that file first");
}

TEST_F(OutputFiles, AreEachAFileOfTheirOwn) {
  EXPECT_EQ(
      complaint({"rank1.json", "--json", "out", "--html", "out"}),
      "--json and --html name one file: " + dir_ + "/out; give each output a file of its own");
  EXPECT_NE(complaint({"rank1.json", "--json", "out", "--html", "traces/../out"}), "");
}

TEST_F(OutputFiles, OfACalibrationAreAFileEach) {
  CLI::App app("", "calibrate");
  std::string file;
  OutputPaths paths;
  app.add_option("FILE", file);
  declare_json(app, paths.json);
  declare_html(app, paths.html);
  app.parse("here.json --html here.json");
  EXPECT_FALSE(check_outputs(app));
  app.clear();
  app.parse("here.json --html here.html");
  EXPECT_TRUE(check_outputs(app));
}

TEST_F(OutputFiles, MayStandBesideInputs) {
  EXPECT_EQ(complaint({"traces", "--html", "traces/report.html"}), "");  // no trace: it is not read
  EXPECT_EQ(complaint({"traces", "--json", "traces/new.json"}), "");
  EXPECT_EQ(complaint({"traces", "--json", "rank1.json"}), "");
  EXPECT_EQ(complaint({"rank1.json", "--csv", "traces", "--json", "traces/rank0.json"}), "");
  EXPECT_EQ(complaint({"rank1.json", "--json", std::string(5000, 'x')}), "");  // no such name
  EXPECT_EQ(complaint({"rank1.json", "--json", "-", "--html", "/dev/null"}), "");
  EXPECT_EQ(complaint({"/dev/null", "--json", "/dev/null", "--html", "/dev/null"}), "");
}

}  // namespace
}  // namespace stepscope
