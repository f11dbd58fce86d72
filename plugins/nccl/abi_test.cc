// SPDX-License-Identifier: Apache-2.0
// The offsets of each member of NCCL's descriptors, in bytes from the descriptor's start. A
// compiler gave the numbers from NCCL's headers (x86-64 and aarch64, 2.23 to 2.30).
#include "plugins/nccl/abi.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace stepscope::nccl {
namespace {

struct Member {
  std::string name;
  std::size_t is;
  std::size_t must;
};

// The offset of a member of the union; all its members begin at 24.
#define OF(version, part, type, member) \
  (offsetof(abi::version::Descriptor, part) + offsetof(abi::type, member))

void expect(const std::vector<Member>& members) {
  for (const Member& m : members) EXPECT_EQ(m.is, m.must) << m.name;
}

TEST(Abi, SizesOfDescriptorsAndStates) {
  expect({{"v1", sizeof(abi::v1::Descriptor), 120},
          {"v2", sizeof(abi::v2::Descriptor), 128},
          {"v3", sizeof(abi::v3::Descriptor), 120},
          {"v4", sizeof(abi::v4::Descriptor), 104},
          {"v5", sizeof(abi::v5::Descriptor), 112},
          {"v6", sizeof(abi::v6::Descriptor), 112},
          {"states until v3", sizeof(abi::OldStateArgs), 16},
          {"states since v4", sizeof(abi::StateArgs), 8},
          {"profiler", sizeof(abi::ProfilerV6), 48}});
  EXPECT_EQ(sizeof(abi::v4::Descriptor::type), 1U);
  EXPECT_EQ(sizeof(abi::v5::Descriptor::type), 8U);
}

TEST(Abi, WhatAllVersionsShare) {
  expect({{"parent", offsetof(abi::v1::Descriptor, parent), 8},
          {"rank", offsetof(abi::v1::Descriptor, rank), 16},
          {"parent", offsetof(abi::v6::Descriptor, parent), 8},
          {"rank", offsetof(abi::v6::Descriptor, rank), 16},
          {"pid", OF(v1, proxy_op, ProxyOp, pid), 24},
          {"channelId", OF(v1, proxy_op, ProxyOp, channel), 28},
          {"peer", OF(v1, proxy_op, ProxyOp, peer), 32},
          {"nSteps", OF(v6, proxy_op, ProxyOp, steps), 36},
          {"chunkSize", OF(v6, proxy_op, ProxyOp, chunk_bytes), 40},
          {"isSend", OF(v6, proxy_op, ProxyOp, is_send), 44},
          {"step", OF(v6, proxy_step, ProxyStep, step), 24},
          {"netPlugin.id", OF(v3, net, NetPlugin, id), 24},
          {"netPlugin.data", OF(v6, net, NetPlugin, data), 32}});
}

TEST(Abi, CollectivesUntilV3) {
  expect({{"v1 name", OF(v1, coll, v1::Coll, name), 24},
          {"v1 commHash", OF(v1, coll, v1::Coll, comm_hash), 32},
          {"v1 seqNumber", OF(v1, coll, v1::Coll, seq), 40},
          {"v1 func", OF(v1, coll, v1::Coll, func), 48},
          {"v1 sendBuff", OF(v1, coll, v1::Coll, send), 56},
          {"v1 recvBuff", OF(v1, coll, v1::Coll, recv), 64},
          {"v1 count", OF(v1, coll, v1::Coll, count), 72},
          {"v1 root", OF(v1, coll, v1::Coll, root), 80},
          {"v1 datatype", OF(v1, coll, v1::Coll, datatype), 84},
          {"v1 op", OF(v1, coll, v1::Coll, op), 88},
          {"v1 trafficBytes", OF(v1, coll, v1::Coll, traffic_bytes), 96},
          {"v1 nMaxChannels", OF(v1, coll, v1::Coll, channels), 104},
          {"v1 nWarps", OF(v1, coll, v1::Coll, warps), 105},
          {"v1 algo", OF(v1, coll, v1::Coll, algorithm), 106},
          {"v1 proto", OF(v1, coll, v1::Coll, protocol), 107},
          {"v1 isCollnet", OF(v1, coll, v1::Coll, is_coll_net), 108},
          {"v1 isNvls", OF(v1, coll, v1::Coll, is_nvls), 112},
          {"v2 seq", OF(v2, coll, v2::Coll, seq), 40},
          {"v2 func", OF(v2, coll, v2::Coll, func), 48},
          {"v2 count", OF(v2, coll, v2::Coll, count), 72},
          {"v2 root", OF(v2, coll, v2::Coll, root), 80},
          {"v2 datatype", OF(v2, coll, v2::Coll, datatype), 88},
          {"v2 trafficBytes", OF(v2, coll, v2::Coll, traffic_bytes), 96},
          {"v2 nMaxCh", OF(v2, coll, v2::Coll, channels), 104},
          {"v2 nWarps", OF(v2, coll, v2::Coll, warps), 105},
          {"v2 algo", OF(v2, coll, v2::Coll, algorithm), 112},
          {"v2 proto", OF(v2, coll, v2::Coll, protocol), 120},
          {"v3 datatype", OF(v3, coll, v3::Coll, datatype), 88},
          {"v3 nMaxCh", OF(v3, coll, v3::Coll, channels), 96},
          {"v3 nWarps", OF(v3, coll, v3::Coll, warps), 97},
          {"v3 algo", OF(v3, coll, v3::Coll, algorithm), 104},
          {"v3 proto", OF(v3, coll, v3::Coll, protocol), 112}});
}

TEST(Abi, MessagesUntilV3) {
  expect({{"v1 func", OF(v1, p2p, v1::P2p, func), 40},
          {"v1 buff", OF(v1, p2p, v1::P2p, buffer), 48},
          {"v1 datatype", OF(v1, p2p, v1::P2p, datatype), 56},
          {"v1 count", OF(v1, p2p, v1::P2p, count), 64},
          {"v1 peer", OF(v1, p2p, v1::P2p, peer), 72},
          {"v2 func", OF(v2, p2p, v2::P2p, func), 40},
          {"v2 datatype", OF(v2, p2p, v2::P2p, datatype), 56},
          {"v2 count", OF(v2, p2p, v2::P2p, count), 64},
          {"v2 peer", OF(v2, p2p, v2::P2p, peer), 72},
          {"v3 channelId", OF(v3, kernel, v3::KernelChannel, channel), 24}});
}

TEST(Abi, SinceV4) {
  expect({{"v4 seq", OF(v4, coll, v4::Coll, seq), 24},
          {"v4 func", OF(v4, coll, v4::Coll, func), 32},
          {"v4 send", OF(v4, coll, v4::Coll, send), 40},
          {"v4 recv", OF(v4, coll, v4::Coll, recv), 48},
          {"v4 count", OF(v4, coll, v4::Coll, count), 56},
          {"v4 root", OF(v4, coll, v4::Coll, root), 64},
          {"v4 datatype", OF(v4, coll, v4::Coll, datatype), 72},
          {"v4 nChannels", OF(v4, coll, v4::Coll, channels), 80},
          {"v4 nWarps", OF(v4, coll, v4::Coll, warps), 81},
          {"v4 algo", OF(v4, coll, v4::Coll, algorithm), 88},
          {"v4 proto", OF(v4, coll, v4::Coll, protocol), 96},
          {"v4 p2p func", OF(v4, p2p, v4::P2p, func), 24},
          {"v4 p2p buff", OF(v4, p2p, v4::P2p, buffer), 32},
          {"v4 p2p datatype", OF(v4, p2p, v4::P2p, datatype), 40},
          {"v4 p2p count", OF(v4, p2p, v4::P2p, count), 48},
          {"v4 p2p peer", OF(v4, p2p, v4::P2p, peer), 56},
          {"v4 p2p nChannels", OF(v4, p2p, v4::P2p, channels), 60},
          {"v4 channelId", OF(v4, kernel, v4::KernelChannel, channel), 24},
          {"v4 pTimer", OF(v4, kernel, v4::KernelChannel, gpu_ns), 32},
          {"v5 coll", OF(v5, coll, v5::Coll, coll), 24},
          {"v5 parentGroup", OF(v5, coll, v5::Coll, group), 104},
          {"v5 p2p nChannels", OF(v5, p2p, v5::P2p, channels), 60},
          {"v5 p2p parentGroup", OF(v5, p2p, v5::P2p, group), 64},
          {"v5 groupApi.graphCaptured", OF(v5, group_api, v5::GroupApi, graph_captured), 24},
          {"v5 groupDepth", OF(v5, group_api, v5::GroupApi, depth), 28},
          {"v5 collApi.func", OF(v5, coll_api, v5::CollApi, func), 24},
          {"v5 collApi.count", OF(v5, coll_api, v5::CollApi, count), 32},
          {"v5 collApi.datatype", OF(v5, coll_api, v5::CollApi, datatype), 40},
          {"v5 collApi.root", OF(v5, coll_api, v5::CollApi, root), 48},
          {"v5 collApi.stream", OF(v5, coll_api, v5::CollApi, stream), 56},
          {"v5 collApi.graphCaptured", OF(v5, coll_api, v5::CollApi, graph_captured), 64},
          {"v5 p2pApi.count", OF(v5, p2p_api, v5::P2pApi, count), 32},
          {"v5 p2pApi.datatype", OF(v5, p2p_api, v5::P2pApi, datatype), 40},
          {"v5 p2pApi.stream", OF(v5, p2p_api, v5::P2pApi, stream), 48},
          {"v5 p2pApi.graphCaptured", OF(v5, p2p_api, v5::P2pApi, graph_captured), 56},
          {"v5 kernelLaunch.stream", OF(v5, launch, v5::KernelLaunch, stream), 24}});
}

TEST(Abi, CopyEnginesOfV6) {
  expect({{"seq", OF(v6, ce_coll, v6::CeColl, seq), 24},
          {"func", OF(v6, ce_coll, v6::CeColl, func), 32},
          {"send", OF(v6, ce_coll, v6::CeColl, send), 40},
          {"recv", OF(v6, ce_coll, v6::CeColl, recv), 48},
          {"count", OF(v6, ce_coll, v6::CeColl, count), 56},
          {"root", OF(v6, ce_coll, v6::CeColl, root), 64},
          {"datatype", OF(v6, ce_coll, v6::CeColl, datatype), 72},
          {"syncStrategy", OF(v6, ce_coll, v6::CeColl, strategy), 80},
          {"intraBatchSync", OF(v6, ce_coll, v6::CeColl, intra_batch_sync), 88},
          {"batchSize", OF(v6, ce_coll, v6::CeColl, batch_size), 92},
          {"numBatches", OF(v6, ce_coll, v6::CeColl, batches), 96},
          {"ceSeqNum", OF(v6, ce_coll, v6::CeColl, ce_seq), 100},
          {"stream", OF(v6, ce_coll, v6::CeColl, stream), 104},
          {"isComplete", OF(v6, ce_sync, v6::CeSync, is_complete), 24},
          {"nRanks", OF(v6, ce_sync, v6::CeSync, ranks), 28},
          {"numOps", OF(v6, ce_batch, v6::CeBatch, operations), 24},
          {"totalBytes", OF(v6, ce_batch, v6::CeBatch, bytes), 32},
          {"useIntraSync", OF(v6, ce_batch, v6::CeBatch, uses_intra_sync), 40}});
}

}  // namespace
}  // namespace stepscope::nccl
