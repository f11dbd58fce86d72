// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/kernels.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

struct KernelRows {
  Trace trace;
  KernelTable table;

  KernelRows(WorkBuilder& builder, const std::vector<Step>& steps) : trace(builder.sealed()) {
    const RankIndex rank = index_rank(trace);
    table = kernel_table(trace, rank, steps, attribute_work(trace, rank));
  }
  [[nodiscard]] const KernelRow& row(std::string_view name) const {
    return row_where(table.kernels, name,
                     [&](const KernelRow& r) { return trace.strings[r.name] == name; });
  }
};

TEST(kernels, sums_each_name_over_the_steps) {
  WorkBuilder b;
  b.kernel("gemm", 0, 10);
  b.kernel("gemm", 20, 50);
  b.kernel("gemm", 200, 300);  // after the last step
  b.row(b.stream(0, 7), Category::memcpy, "Memcpy DtoD (Device -> Device)", 60, 70);
  const KernelRows t(b, {step(0, 100)});
  const KernelRow& gemm = t.row("gemm");
  EXPECT_EQ(gemm.count, 2U);
  EXPECT_EQ(gemm.total, Ns{40});
  EXPECT_EQ(gemm.mean(), Ns{20});
  EXPECT_EQ(gemm.min, Ns{10});
  EXPECT_EQ(gemm.max, Ns{30});
  EXPECT_EQ(gemm.kind, NameClass::matmul);
  EXPECT_DOUBLE_EQ(gemm.share, 0.8);
  EXPECT_EQ(t.row("Memcpy DtoD (Device -> Device)").kind, NameClass::copy);
  ASSERT_EQ(t.table.classes.size(), 2U);
  EXPECT_EQ(t.table.classes[0].kind, NameClass::matmul);
  EXPECT_EQ(t.table.classes[0].total, Ns{40});
  EXPECT_EQ(t.table.classes[1].kind, NameClass::copy);
}

TEST(kernels, measures_busy_time_as_a_union_clipped_to_the_steps) {
  WorkBuilder b;
  b.kernel("a", 0, 60);
  b.row(b.stream(0, 9), Category::kernel, "b", 40, 130);
  const KernelRows t(b, {step(10, 50), step(50, 100), step(120, 140)});
  EXPECT_EQ(t.table.busy, Ns{90 + 10});
}

TEST(kernels, gives_a_kernel_the_flops_and_bytes_of_its_operator) {
  WorkBuilder b;
  b.mm(0, 20);
  b.launch_kernel(1, 5, "ampere_bf16_s16816gemm", 30, 40);
  b.mm(20, 40);
  b.launch_kernel(2, 25, "ampere_bf16_s16816gemm", 50, 70);
  const KernelRows t(b, {step(0, 100)});
  const KernelRow& gemm = t.row("ampere_bf16_s16816gemm");
  ASSERT_TRUE(gemm.flops && gemm.rate && gemm.bytes && gemm.bandwidth);
  EXPECT_DOUBLE_EQ(gemm.flops->value, 2 * mm_flops);
  EXPECT_DOUBLE_EQ(gemm.rate->value, 2 * mm_flops / 30e-9);
  EXPECT_EQ(gemm.bytes->value, 2 * mm_bytes);
  EXPECT_DOUBLE_EQ(gemm.bandwidth->value, 2 * mm_bytes / 30e-9);
  EXPECT_EQ(gemm.tensor_core, true);
}

TEST(kernels, gives_copies_between_host_and_device_the_bytes_that_they_moved) {
  WorkBuilder b;
  b.call("aten::copy_", 0, 20, {.dims = "[[100], [100]]", .types = R"(["float", "float"])"});
  b.launch(1, 5, 6);
  b.copy("Memcpy HtoD (Pinned -> Device)", 30, 40, 400, 1);
  const KernelRows t(b, {step(0, 100)});
  const KernelRow& copy = t.row("Memcpy HtoD (Pinned -> Device)");
  ASSERT_TRUE(copy.bytes && copy.bandwidth);
  EXPECT_EQ(copy.bytes->value, 400) << "not read and written";
  EXPECT_DOUBLE_EQ(copy.bandwidth->value, 40e9);
}

TEST(kernels, has_no_total_where_one_run_is_unknown_but_still_a_rate) {
  WorkBuilder b;
  b.mm(0, 20);
  b.launch_kernel(1, 5, "gemm", 30, 40);
  b.kernel("gemm", 50, 70);
  const KernelRows t(b, {step(0, 100)});
  EXPECT_FALSE(t.row("gemm").flops);
  EXPECT_FALSE(t.row("gemm").bytes);
  ASSERT_TRUE(t.row("gemm").rate);
  EXPECT_DOUBLE_EQ(t.row("gemm").rate->value, mm_flops / 10e-9);
  EXPECT_EQ(t.row("gemm").tensor_core, std::nullopt);
}

TEST(kernels, attaches_hardware_counters_to_the_kernel_they_measured) {
  WorkBuilder b;
  b.kernel("gemm", 0, 10);
  b.row(b.stream(0, 7), Category::profiler_range, "gemm", 0, 10);
  b.row(b.stream(0, 7), Category::profiler_range, "gemm", 20, 30);
  b.row(b.stream(0, 7), Category::profiler_range, "other", 40, 50);
  Counters& c = b.trace().counters;
  const StringId metric = b.trace().strings.intern("dram__bytes.sum");
  for (std::uint32_t i = 0; i < 3; ++i) {
    c.time.push_back(Ns{0});
    c.metric.push_back(metric);
    c.value.push_back(10.0 * (i + 1));
    c.slice.push_back(SliceId{i + 1});
  }
  c.time.push_back(Ns{0});
  c.metric.push_back(metric);
  c.value.push_back(99);
  c.slice.push_back(no_slice);
  const KernelRows t(b, {step(0, 100)});
  ASSERT_EQ(t.row("gemm").counters.size(), 1U);
  EXPECT_DOUBLE_EQ(t.row("gemm").counters[0].mean, 15);
  EXPECT_EQ(t.row("gemm").counters[0].count, 2U);
  EXPECT_EQ(t.row("other").count, 0U);
  EXPECT_DOUBLE_EQ(t.row("other").counters.at(0).mean, 30);
}

TEST(kernels, is_empty_without_device_work_or_steps) {
  WorkBuilder b;
  b.op("aten::mm", 0, 10);
  const KernelRows cpu(b, {step(0, 100)});
  EXPECT_TRUE(cpu.table.kernels.empty());
  EXPECT_EQ(cpu.table.busy, Ns{0});
}

TEST(tensor_cores, are_read_from_the_instruction_in_the_name) {
  for (const char* name :
       {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn", "volta_fp16_s884gemm_fp16",
        "nvjet_tst_192x192_64x4", "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32",
        "Cijk_Ailk_Bljk_BBS_BH_MT64x64x64_MI16x16x16x1_SN", "igemm_fwd_gtcx3_nhwc_bf16",
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128>"}) {
    EXPECT_EQ(uses_tensor_cores(name), true) << name;
  }
  for (const char* name :
       {"volta_sgemm_128x64_tn", "ampere_sgemm_32x128_nt", "volta_scudnn_128x64_relu_small_nn_v1",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>",
        "void gemv2T_kernel_val<int>", "Cijk_Ailk_Bljk_SB_MT64x64x8_SE_K1",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x128x8_stage3_warpsize1x4x1_ffma_aligna4",
        "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nchw",
        "void implicit_convolve_sgemm<float>"}) {
    EXPECT_EQ(uses_tensor_cores(name), false) << name;
  }
  for (const char* name : {"my_matmul", "Cijk_gemm"})
    EXPECT_EQ(uses_tensor_cores(name), std::nullopt) << name;
}

}  // namespace

}  // namespace stepscope
