// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/model_json.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

std::string complaint(std::string_view json) {
  const auto model = parse_model(json, "m.json");
  return model ? "" : model.error().message();
}

std::string with(const std::string& fields) {
  return R"({"name": "m", "source": "s", "layers": 2, "hidden": 64, "heads": 4,
  "feed_forward": 256, "vocabulary": 100, "positions": "rotary")" +
         fields + "\n}";
}

TEST(ModelFile, DerivesWhatFollowsFromOtherFields) {
  const auto m = parse_model(with(""), "m.json");
  ASSERT_TRUE(m) << m.error().message();
  EXPECT_EQ(m->kv_heads, 4);
  EXPECT_EQ(m->head_size, 16);
  EXPECT_EQ(m->source, "s");
  EXPECT_TRUE(m->causal);
  EXPECT_FALSE(m->experts || m->latent || m->patches || m->window);
}

TEST(ModelFile, NamesTheLineColumnAndFieldThatIsWrong) {
  EXPECT_EQ(complaint(with(",\n  \"hiden\": 3")),
            "m.json: line 3, column 3: field \"hiden\" is not a field of a model file; "
            "docs/reference/models.md has all fields, data/models has examples");
  EXPECT_NE(complaint(with(R"(, "gated": 1)")).find("\"gated\" must be true or false"),
            std::string::npos);
  EXPECT_NE(complaint(with(R"(, "kv_heads": -1)")).find("\"kv_heads\" must be a whole number"),
            std::string::npos);
  EXPECT_NE(complaint(with(R"(, "kv_heads": 3)"))
                .find("m.json: line 2, column 66: kv_heads = 3 does not divide"),
            std::string::npos);
  EXPECT_NE(complaint(with(R"(, "activation": "tanh")")).find("one of relu, gelu, silu"),
            std::string::npos);
  EXPECT_NE(complaint(with(R"(, "experts": {"count": 8, "top_k": 2})"))
                .find("\"experts.feed_forward\" is missing"),
            std::string::npos);
  EXPECT_NE(complaint(with(R"(, "latent": 3)")).find("\"latent\" must be an object"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"source": "s"})").find("\"name\" is missing"), std::string::npos);
  EXPECT_NE(complaint("[]").find("must be an object"), std::string::npos);
  EXPECT_NE(complaint(R"({"name": "m", "source": "s", "layers": 1, "hidden": 10, "heads": 3,
                          "feed_forward": 1, "vocabulary": 1})")
                .find("\"head_size\" is missing, and heads do not divide hidden"),
            std::string::npos);
}

TEST(ModelFile, SaysWhereASizeIsThatTheModelCannotHave) {
  const std::string experts =
      ",\n  \"experts\": {\"count\": 8, \"top_k\": 2, \"feed_forward\": 7, \"dense_layers\": [5]}";
  EXPECT_NE(complaint(with(experts)).find("m.json: line 3, column 58: experts.dense_layers = 5 is"),
            std::string::npos)
      << complaint(with(experts));
  EXPECT_EQ(
      complaint("{\"name\": \"m\", \"source\": \"s\",\n \"layers\": 0, \"hidden\": 64, \"heads\": "
                "4, \"feed_forward\": 256, \"vocabulary\": 100}"),
      "m.json: line 2, column 2: layers = 0 is out of range; it must be 1 to 2000");
}

TEST(ModelFile, HoldsThePublishedCountAgainstTheSizes) {
  const std::int64_t n = parameter_count(*parse_model(with(""), "m.json")).total;
  EXPECT_EQ(complaint(with(", \"parameters\": " + std::to_string(n))), "");
  EXPECT_NE(complaint(with(", \"parameters\": 7")).find("\"parameters\" is 7, but the sizes make"),
            std::string::npos);
}

TEST(ModelFile, IsWrittenAndReadBackTheSame) {
  std::vector<Transformer> models(model_catalogue().begin(), model_catalogue().end());
  Transformer odd = *find_model("mixtral-8x7b");
  odd.window = 128;
  odd.window_every = 2;
  odd.qk_norm = odd.pooler = true;
  odd.experts->capacity_factor = 1.25;
  odd.experts->every = 2;
  odd.experts->dense_layers = {3, 30};
  odd.activation_dropout = 0.05;
  odd.notes = {"a note"};
  models.push_back(odd);
  for (const Transformer& m : models) {
    const std::string text = model_json(m);
    const auto again = parse_model(text, "again.json");
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(model_json(*again), text);
    EXPECT_EQ(parameter_count(*again).total, parameter_count(m).total);
    EXPECT_EQ(again->window, m.window);
    EXPECT_EQ(again->notes, m.notes);
  }
}

TEST(ModelCatalogue, HoldsEveryModelOnceWithItsSource) {
  std::set<std::string> names;
  for (const Transformer& m : model_catalogue()) {
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
    EXPECT_FALSE(m.source.empty()) << m.name;
  }
  EXPECT_GE(names.size(), 24U);
}

TEST(FindModel, SuggestsTheNearestNames) {
  EXPECT_EQ(find_model("Llama-3-70B")->layers, 80) << "case does not matter";
  for (const char* id : {"meta-llama/Meta-Llama-3-70B", "meta-llama/Meta-Llama-3-70B-Instruct",
                         "llama3-70b", "Llama_3_70B"})
    EXPECT_EQ(find_model(id)->layers, 80) << id;
  EXPECT_EQ(find_model("Qwen/Qwen2.5-7B-Instruct")->name, "qwen2.5-7b");
  EXPECT_EQ(find_model("mistralai/Mistral-7B-v0.1")->name, "mistral-7b");
  EXPECT_EQ(find_model("meta-llama/Llama-2-7b-chat-hf")->name, "llama-2-7b");
  EXPECT_EQ(find_model("deepseek-ai/DeepSeek-V3")->name, "deepseek-v3");
  EXPECT_EQ(find_model("meta-llama/Llama-3.1-8B")->name, "llama-3-8b");
  EXPECT_EQ(find_model("meta-llama/Llama-3.1-70B-Instruct")->name, "llama-3-70b");
  EXPECT_EQ(find_model("meta-llama/Llama-3.3-70B-Instruct")->name, "llama-3-70b");
  EXPECT_EQ(find_model("meta-llama/Llama-3.1-405B")->name, "llama-3-405b");
  EXPECT_EQ(find_model("llama-3.1-405b-mlperf")->name, "llama-3.1-405b-mlperf");
  EXPECT_FALSE(find_model("meta-llama/Llama-3.2-1B")) << "another model of the family";
  EXPECT_FALSE(find_model("mistralai/Mistral-7B-v0.3")) << "its vocabulary is larger";
  const auto missing = find_model("llama4-70b");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("llama-3-70b"), std::string::npos);
  EXPECT_FALSE(find_model(std::string(100000, 'x')));
  EXPECT_FALSE(find_model(""));
}

TEST(FindModel, ReadsAFileWhereAPathIsGiven) {
  const std::string path = ::testing::TempDir() + "model_json_test.json";
  std::ofstream(path) << with("");
  EXPECT_EQ(find_model(path)->name, "m");
  std::remove(path.c_str());
  const auto gone = find_model(path);
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message().find("No such file"), std::string::npos);
  for (const char* id : {"./meta-llama/Llama-2-7b-hf", "/models/Llama-2-7b-hf", "a/b/llama-2-7b"})
    EXPECT_FALSE(find_model(id)) << id << " is a path, and no repository";
}

}  // namespace
}  // namespace stepscope
