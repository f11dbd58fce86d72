// SPDX-License-Identifier: Apache-2.0
// The functions of NVIDIA's driver library that are used, by its header. Only for cuda_device.cc,
// in builds with STEPSCOPE_CUDA.
#pragma once

#ifdef STEPSCOPE_CUDA
#include <cuda.h>
#include <dlfcn.h>

#include <string>

#include "stepscope/base/result.h"

namespace stepscope::zero {

// The types come from the header's names, which may stand for newer versions of a function; the
// names below are those that every driver since CUDA 7 has.
struct CudaDriver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuGetErrorName) error_name = nullptr;
  decltype(&cuGetErrorString) error_text = nullptr;
  decltype(&cuDeviceGetCount) device_count = nullptr;
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDeviceGetName) device_name = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_context = nullptr;
  decltype(&cuDevicePrimaryCtxRelease) release_context = nullptr;
  decltype(&cuCtxSetCurrent) use_context = nullptr;
  decltype(&cuCtxSynchronize) synchronize = nullptr;
  decltype(&cuMemGetInfo) memory = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuMemFree) release = nullptr;
  decltype(&cuMemsetD8) fill = nullptr;
  decltype(&cuMemHostRegister) pin = nullptr;
  decltype(&cuMemHostUnregister) unpin = nullptr;
  decltype(&cuMemcpyHtoDAsync) to_device = nullptr;
  decltype(&cuMemcpyDtoHAsync) to_host = nullptr;
  decltype(&cuMemcpyDtoDAsync) within = nullptr;
  decltype(&cuStreamCreate) create_stream = nullptr;
  decltype(&cuStreamDestroy) destroy_stream = nullptr;
  decltype(&cuEventCreate) create_event = nullptr;
  decltype(&cuEventDestroy) destroy_event = nullptr;
  decltype(&cuEventRecord) record = nullptr;
  decltype(&cuEventQuery) query = nullptr;
  decltype(&cuEventSynchronize) wait = nullptr;
  CUresult (*elapsed)(float*, CUevent, CUevent) = nullptr;  // ms
};

// Loads the library and initialises it, once in a process.
[[nodiscard]] const Result<CudaDriver>& cuda_driver();

// "cannot …: CUDA_ERROR_OUT_OF_MEMORY: out of memory".
[[nodiscard]] Error cuda_error(const CudaDriver& driver, const std::string& doing, CUresult code);

}  // namespace stepscope::zero
#endif
