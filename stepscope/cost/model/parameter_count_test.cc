// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/parameter_count.h"

#include <gtest/gtest.h>

#include "stepscope/cost/model/model_json.h"

namespace stepscope {
namespace {

struct Published {
  std::string_view model;
  std::int64_t parameters;
};
class Counts : public ::testing::TestWithParam<Published> {};

TEST_P(Counts, AreThePublishedOnesToTheLastParameter) {
  const auto model = find_model(std::string(GetParam().model));
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ(parameter_count(*model).total, GetParam().parameters) << GetParam().model;
}

// Sources: safetensors metadata of the checkpoints on huggingface.co (Llama, Mistral, Mixtral,
// Qwen, DeepSeek), keras-hub's presets (GPT-2, Mixtral, Qwen2.5), huggingface.js' test of BLOOM's
// metadata, the model card of GPT-NeoX-20B, torchvision's vision_transformer.py (ViT), and
// google-research/bert's converted BertForMaskedLM (BERT-large). The models of 2025 and 2026 have
// counts that runs of NVIDIA-NeMo/Megatron-Bridge printed (cards of gpt-oss-20b,
// nemotron-3.5-lightning).
INSTANTIATE_TEST_SUITE_P(
    Catalogue, Counts,
    ::testing::Values(
        Published{"llama-2-7b", 6'738'415'616}, Published{"llama-2-13b", 13'015'864'320},
        Published{"llama-2-70b", 68'976'648'192}, Published{"llama-3-8b", 8'030'261'248},
        Published{"llama-3-70b", 70'553'706'496}, Published{"llama-3-405b", 405'853'388'800},
        Published{"mistral-7b", 7'241'732'096}, Published{"mixtral-8x7b", 46'702'792'704},
        Published{"qwen2.5-7b", 7'615'616'512}, Published{"qwen2.5-72b", 72'706'203'648},
        Published{"qwen3-30b-a3b", 30'532'122'624}, Published{"deepseek-v2-lite", 15'706'484'224},
        Published{"deepseek-v3", 671'026'419'200}, Published{"gpt-oss-20b", 20'914'757'184},
        Published{"nemotron-3.5-lightning-30b-a3b", 32'913'266'240}, Published{"gpt2", 124'439'808},
        Published{"gpt2-xl", 1'557'611'200}, Published{"bloom-176b", 176'247'271'424},
        Published{"gpt-neox-20b", 20'554'567'680}, Published{"bert-large", 335'174'458},
        Published{"vit-l-16", 304'326'632}, Published{"vit-h-14", 632'045'800}));

TEST(ParameterCount, OfAMixtureCountsTheExpertsThatATokenUses) {
  const Transformer m = *find_model("mixtral-8x7b");
  const ParameterCount n = parameter_count(m);
  EXPECT_EQ(n.total - n.active, std::int64_t{32} * 6 * 3 * 4096 * 14336);
  EXPECT_EQ(n.active, 12'879'925'248);
  const Transformer dense = *find_model("llama-3-8b");
  EXPECT_EQ(parameter_count(dense).active, parameter_count(dense).total);
}

// Published without the routers' biases, which are no trained parameters.
TEST(ParameterCount, OfGlmIsThePublishedOneAndTheRoutersBiases) {
  EXPECT_EQ(parameter_count(*find_model("glm-5.2")).total, 743'377'000'704 + 75 * 256);
}

// A module of its own is counted once, however often it runs.
TEST(ParameterCount, OfSharedModulesCountsOne) {
  Transformer m = *find_model("nemotron-3.5-lightning-30b-a3b");
  const std::int64_t with = parameter_count(m).total;
  m.prediction->modules = 5;
  EXPECT_EQ(parameter_count(m).total, with);
  m.prediction->one_module = false;
  const std::int64_t module = parameter_count(m).prediction / 5;
  EXPECT_EQ(parameter_count(m).total, with + 4 * module);
  m.prediction.reset();
  EXPECT_EQ(parameter_count(m).total, with - module);
}

TEST(ParameterCount, IsTheSumOfItsParts) {
  for (const Transformer& m : model_catalogue()) {
    const ParameterCount n = parameter_count(m);
    EXPECT_EQ(n.total, n.embedding + n.layers + n.head) << m.name;
    EXPECT_GE(n.embedding, n.tokens) << m.name;
    std::int64_t layers = 0;
    for (std::int64_t i = 0; i < m.layers; ++i) layers += layer_parameters(m, i).total();
    EXPECT_EQ(n.layers, layers) << m.name;
    EXPECT_GE(parameter_bound(m), static_cast<double>(n.total)) << m.name;
    EXPECT_LE(parameter_bound(m), 1.2 * static_cast<double>(n.total)) << m.name;
  }
}

TEST(ParameterCount, CountsATiedTableOnce) {
  Transformer m = *find_model("llama-2-7b");
  const ParameterCount untied = parameter_count(m);
  m.tied_embeddings = true;
  EXPECT_EQ(untied.total - parameter_count(m).total, std::int64_t{32000} * 4096);
}

TEST(LayerParameters, TellDenseLayersFromThoseWithExperts) {
  const Transformer m = *find_model("deepseek-v3");
  EXPECT_EQ(layer_parameters(m, 0).experts, 0);
  EXPECT_EQ(layer_parameters(m, 0).feed_forward, 3 * 7168 * 18432);
  const LayerParameters sparse = layer_parameters(m, 3);
  EXPECT_EQ(sparse.experts, 256);
  EXPECT_EQ(sparse.expert, 3 * 7168 * 2048);
  EXPECT_EQ(sparse.feed_forward, sparse.expert) << "one shared expert";
  EXPECT_EQ(sparse.router, 7168 * 256 + 256);
  EXPECT_EQ(sparse.total() - sparse.active(), 248 * sparse.expert);
}

}  // namespace
}  // namespace stepscope
