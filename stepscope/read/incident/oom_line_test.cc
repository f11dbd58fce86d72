// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/oom_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace stepscope {
namespace {

constexpr double mib = 1048576;
constexpr double gib = 1024 * mib;

Bytes of(double bytes) { return Bytes{static_cast<std::int64_t>(std::llround(bytes))}; }

// PyTorch 2.1 and later, c10/cuda/CUDACachingAllocator.cpp.
TEST(OomLine, HasTheSizesOfTheSentences) {
  const auto m = parse_oom(
      "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB. GPU 2 has "
      "a "
      "total capacity of 44.40 GiB of which 1.50 GiB is free. Process 77 has 512.00 MiB memory in "
      "use. Including non-PyTorch memory, this process has 42.25 GiB memory in use. 40.00 GiB "
      "allowed; Of the allocated memory 30.00 GiB is allocated by PyTorch, with 128.00 MiB "
      "allocated "
      "in private pools (e.g., CUDA Graphs), and 11.75 GiB is reserved by PyTorch but unallocated. "
      "If "
      "reserved but unallocated memory is large try setting "
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->backend, "CUDA");
  EXPECT_EQ(m->device, 2);
  EXPECT_EQ(m->request, of(3.25 * gib));
  EXPECT_EQ(m->total, of(44.40 * gib));
  EXPECT_EQ(m->free, of(1.5 * gib));
  EXPECT_EQ(m->own, of(42.25 * gib));
  EXPECT_EQ(m->allowed, of(40 * gib));
  EXPECT_EQ(m->allocated, of(30 * gib));
  EXPECT_EQ(m->private_pools, of(128 * mib));
  EXPECT_EQ(m->unallocated, of(11.75 * gib));
  ASSERT_EQ(m->processes.size(), 1U);
  EXPECT_EQ(m->processes[0].pid, 77);
  EXPECT_FALSE(is_cut_oom(*m));
}

TEST(OomLine, HasWhatXlaSaysOfProgramsAndOfPieces) {
  const auto program = parse_oom(
      "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
      "Used 30.00G of 15.50G hbm. Exceeded hbm capacity by 14.50G.");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->needed, of(30 * gib));
  EXPECT_EQ(program->total, of(15.5 * gib));
  EXPECT_FALSE(is_cut_oom(*program));
  const auto pieces = parse_oom(
      "RESOURCE_EXHAUSTED: Attempting to allocate 31.00M. That was not possible. There are 58.00M "
      "free.; (0x0x0_HBM0)");
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->request, of(31 * mib));
  EXPECT_EQ(pieces->free, of(58 * mib));
  const auto block = parse_oom(
      "Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate "
      "5.00 GiB (GPU  0; 15.50 GiB total capacity; 556.00 MiB already allocated; 2.70 GiB reserved "
      "in total by PyTorch)");
  ASSERT_TRUE(block);
  EXPECT_EQ(block->at_once, of(4e9));
  EXPECT_EQ(block->total, of(15.5 * gib));
}

TEST(OomLine, HasTheSizesOfTheOlderList) {
  const auto m = parse_oom(
      "RuntimeError: HIP out of memory. Tried to allocate 740.00 MiB (GPU 3; 63.98 GiB total "
      "capacity; "
      "60.50 GiB already allocated; 0 bytes free; 62.25 GiB reserved in total by PyTorch) If "
      "reserved "
      "memory is >> allocated memory try setting max_split_size_mb");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->backend, "HIP");
  EXPECT_EQ(m->device, 3);
  EXPECT_EQ(m->free, Bytes{0});
  EXPECT_EQ(m->unallocated, of(1.75 * gib));
  const auto cached = parse_oom(
      "CUDA out of memory. Tried to allocate 98.00 MiB (GPU 0; 11.91 GiB total capacity; 11.23 GiB "
      "already allocated; 19.12 MiB free; 127.04 MiB cached)");
  ASSERT_TRUE(cached);
  EXPECT_EQ(cached->unallocated, of(127.04 * mib));
}

TEST(OomLine, HasTheSizesOfTheMisspelledSentence) {
  const auto m = parse_oom(
      "CUDA out of memory. Tried to allocate 1.75 GiB. GPU 1 has a total capacty of 8.00 GiB of "
      "which 0 "
      "bytes is free. Of the allocated memory 3.00 GiB is allocated by PyTorch, and 2.50 GiB is "
      "reserved "
      "by PyTorch but unallocated.");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->total, of(8 * gib));
  EXPECT_EQ(m->free, Bytes{0});
}

TEST(OomLine, WithoutSizesIsStillOne) {
  for (const char* line : {"RuntimeError: CUDA error: out of memory", "hipErrorOutOfMemory",
                           "ncclUnhandledCudaError: Cuda failure 2 'out of memory'",
                           "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"}) {
    const auto m = parse_oom(line);
    ASSERT_TRUE(m) << line;
    EXPECT_FALSE(m->request);
  }
  const auto xla = parse_oom(
      "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
      "allocate "
      "2147483648 bytes.");
  ASSERT_TRUE(xla);
  EXPECT_EQ(xla->request, Bytes{2147483648});
}

TEST(OomLine, OfAMappingHasTheSizesOfTheDevice) {
  const auto m = parse_oom(
      "[W831 10:00:00.1 CUDACachingAllocator.cpp:508] expandable_segments: memory mapping failed "
      "with OOM on device 3 while trying to map 20971520 bytes (free: 4194304, total: "
      "85899345920).");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->backend, "CUDA");
  EXPECT_EQ(m->device, 3);
  EXPECT_EQ(m->request, of(20 * mib));
  EXPECT_EQ(m->free, of(4 * mib));
  EXPECT_EQ(m->total, of(80 * gib));
  EXPECT_TRUE(m->retried);
  EXPECT_FALSE(is_cut_oom(*m));
}

TEST(OomLine, OfOtherFrameworksHasItsRequest) {
  const auto driver = parse_oom(
      "2021-09-24 16:00:00.1: I tensorflow/stream_executor/cuda/cuda_driver.cc:801] failed to "
      "allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
  ASSERT_TRUE(driver);
  EXPECT_EQ(driver->backend, "TensorFlow");
  EXPECT_EQ(driver->framework, OomFramework::tensorflow);
  EXPECT_EQ(driver->request, of(2 * gib));
  EXPECT_TRUE(driver->retried);
  const auto bfc = parse_oom(
      "W tensorflow/core/common_runtime/bfc_allocator.cc:431] Allocator (GPU_0_bfc) ran out of "
      "memory trying to allocate 1.50GiB (rounded to 1610612736)requested by op mul");
  ASSERT_TRUE(bfc);
  EXPECT_EQ(bfc->request, of(1.5 * gib));
  EXPECT_FALSE(
      parse_oom("Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.60GiB with "
                "freed_by_count=0. The caller indicates that this is not a failure"));
  const auto gaudi = parse_oom(
      "RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for "
      "size::536870912 (512)MB");
  ASSERT_TRUE(gaudi);
  EXPECT_EQ(gaudi->backend, "HPU");
  EXPECT_EQ(gaudi->request, of(512 * mib));
  const auto xpu = parse_oom(
      "RuntimeError: Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_"
      "MEMORY)");
  ASSERT_TRUE(xpu);
  EXPECT_EQ(xpu->backend, "XPU");
  const auto npu = parse_oom(
      "RuntimeError: NPU out of memory. Tried to allocate 5.00 GiB (NPU 3; 60.96 GiB total "
      "capacity; 49.00 GiB already allocated; 49.00 GiB current active; 1.25 GiB free; 57.00 GiB "
      "reserved in total by PyTorch)");
  ASSERT_TRUE(npu);
  EXPECT_EQ(npu->backend, "NPU");
  EXPECT_EQ(npu->device, 3);
  EXPECT_EQ(npu->free, of(1.25 * gib));
  EXPECT_EQ(npu->unallocated, of(8 * gib));
}

// aten/src/ATen/mps/MPSAllocator.mm, where GB is 2^30 bytes in older versions.
TEST(OomLine, OfMetalHasItsThreeSizes) {
  for (const char* line :
       {"RuntimeError: MPS backend out of memory (MPS allocated: 6.50 GiB, other allocations: "
        "12.25 "
        "GiB, max allowed: 18.50 GiB). Tried to allocate 512.00 MiB on private pool.",
        "MPS backend out of memory (MPS allocated: 6.50 GB, other allocations: 12.25 GB, max "
        "allowed: 18.50 GB). Tried to allocate 512.00 MB on shared pool."}) {
    const auto m = parse_oom(line);
    ASSERT_TRUE(m) << line;
    EXPECT_EQ(m->backend, "MPS");
    EXPECT_EQ(m->allocated, of(6.5 * gib));
    EXPECT_EQ(m->elsewhere, of(12.25 * gib));
    EXPECT_EQ(m->allowed, of(18.5 * gib));
    EXPECT_EQ(m->request, of(512 * mib));
    EXPECT_FALSE(is_cut_oom(*m));
  }
  EXPECT_TRUE(is_cut_oom(*parse_oom("MPS backend out of memory (MPS allocated: 6.50 GB,")));
}

TEST(OomLine, MayBeTheNameOfTheErrorAlone) {
  for (const char* line :
       {"torch.OutOfMemoryError: Allocation on device ", "torch.cuda.OutOfMemoryError",
        "[rank3]: torch.OutOfMemoryError: Allocation on device"}) {
    const auto m = parse_oom(line);
    ASSERT_TRUE(m) << line;
    EXPECT_EQ(m->framework, OomFramework::pytorch);
    EXPECT_FALSE(is_cut_oom(*m));
  }
  for (const char* line : {"    except torch.cuda.OutOfMemoryError:",
                           "raise torch.OutOfMemoryError", "torch.OutOfMemoryError is raised then"})
    EXPECT_FALSE(parse_oom(line)) << line;
}

// paddle/phi/core/memory/allocation/cuda_allocator.cc, where GB is 2^30 bytes.
TEST(OomLine, OfPaddleHasWhatIsAllocatedAndFree) {
  const auto m = parse_oom(
      "Out of memory error on GPU 3. Cannot allocate 2.500000GB memory on GPU 3, 13.250000GB "
      "memory "
      "has been allocated and available memory is only 512.000000kB.");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->framework, OomFramework::paddle);
  EXPECT_EQ(m->device, 3);
  EXPECT_EQ(m->request, of(2.5 * gib));
  EXPECT_EQ(m->allocated, of(13.25 * gib));
  EXPECT_EQ(m->free, of(mib / 2));
  EXPECT_EQ(
      parse_oom("Out of memory error on GPU 0. Cannot allocate 1.000000MB memory on GPU 0, "
                "4.000000GB memory has been allocated and available memory is only 0.000000B.")
          ->free,
      Bytes{0});
}

TEST(OomLine, OfATensorHasItsBytesAndItsAllocator) {
  const auto m = parse_oom(
      "ResourceExhaustedError: OOM when allocating tensor with shape[8,3,1024] and type half on "
      "/job:localhost/replica:0/task:0/device:GPU:5 by allocator GPU_5_bfc");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->request, Bytes{8 * 3 * 1024 * 2});
  EXPECT_EQ(m->device, 5);
  EXPECT_EQ(m->allocator, "GPU_5_bfc");
  EXPECT_EQ(m->space, OomSpace::device);
  const auto host = parse_oom(
      "OOM when allocating tensor with shape[4] and type double on /job:w/device:CPU:0 by "
      "allocator "
      "cuda_host_bfc");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->space, OomSpace::host);
  EXPECT_FALSE(host->device);
  const auto bare = parse_oom("Resource exhausted: OOM when allocating tensor with shape[7,7]");
  ASSERT_TRUE(bare);
  EXPECT_FALSE(bare->request);
  EXPECT_EQ(bare->space, OomSpace::unknown);
  EXPECT_FALSE(
      parse_oom("OOM when allocating tensor with shape[9999999999,9999999999] and type float on x")
          ->request);
}

TEST(OomLine, OfVllmHasWhatItFindsAndWhatItIsSetToTake) {
  const auto m = parse_oom(
      "(EngineCore_DP0 pid=9) ERROR 11-30 09:14:58 [core.py:718] ValueError: Free memory on device "
      "cuda:2 (30.50/40.0 GiB) on startup is less than desired GPU memory utilization (0.9, 36.0 "
      "GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->device, 2);
  EXPECT_EQ(m->free, of(30.5 * gib));
  EXPECT_EQ(m->total, of(40 * gib));
  EXPECT_EQ(m->request, of(36 * gib));
  EXPECT_EQ(m->share, 0.9);
  EXPECT_FALSE(parse_oom("Free memory on device (1.0/4.0 GiB) on startup is less than desired GPU "
                         "memory utilization (0.9, 3.6 GiB).")
                   ->device);
}

TEST(OomLine, KnowsMemoryOnTheChipFromThatOfTheDevice) {
  const auto m = parse_oom(
      "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space "
      "vmem. "
      "Used 20.50M of 16.00M vmem. Exceeded vmem capacity by 4.50M.");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->space, OomSpace::chip);
  EXPECT_EQ(m->allocator, "vmem");
  EXPECT_EQ(m->needed, of(20.5 * mib));
}

TEST(OomLine, OfAContextHasTheMemoryOfTheDevice) {
  const auto m = parse_oom(
      "W tensorflow/compiler/xla/service/platform_util.cc:240] failed initializing StreamExecutor "
      "for "
      "CUDA device ordinal 3: Internal: failed call to cuDevicePrimaryCtxRetain: "
      "CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory reported: 8589934592");
  ASSERT_TRUE(m);
  EXPECT_TRUE(m->for_context);
  EXPECT_EQ(m->device, 3);
  EXPECT_EQ(m->total, of(8 * gib));
}

TEST(OomLine, HasTheFrameworkAsFarAsTheWordsShow) {
  const auto framework_of = [](const char* line) {
    const auto m = parse_oom(line);
    return m ? m->framework : OomFramework::vllm;
  };
  EXPECT_EQ(framework_of("CUDA_ERROR_OUT_OF_MEMORY: out of memory"), OomFramework::unknown);
  EXPECT_EQ(framework_of("RuntimeError: CUDA error: out of memory"), OomFramework::pytorch);
  EXPECT_EQ(framework_of("W tensorflow/compiler/xla/service/platform_util.cc:240] failed call: "
                         "CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
            OomFramework::tensorflow);
  EXPECT_EQ(framework_of("W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator "
                         "(GPU_0_bfc) ran out of memory trying to allocate 1.50GiB"),
            OomFramework::xla);
}

TEST(OomLine, IsNoneWhereTheWordsAreTalkedAbout) {
  for (const char* line :
       {"avoid CUDA out of memory errors", "CUDA out of memory. Tried to allocate much",
        "Out of memory: Killed process 12 (python) total-vm:1kB", "out of memory",
        "Tried to allocate 3.00 GiB", ""})
    EXPECT_FALSE(parse_oom(line)) << line;
  EXPECT_TRUE(is_cut_oom(*parse_oom("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has")));
}

}  // namespace
}  // namespace stepscope
