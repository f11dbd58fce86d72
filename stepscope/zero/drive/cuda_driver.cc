// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/drive/cuda_driver.h"

#ifdef STEPSCOPE_CUDA
#include <type_traits>

namespace stepscope::zero {
namespace {

constexpr const char* no_driver_hint =
    "use a machine with an NVIDIA GPU and its driver, or leave out --offload-device";

Result<CudaDriver> load_cuda_driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Error{.what = std::string("there is no CUDA driver: ") + ::dlerror(),
                 .hint = no_driver_hint};
  CudaDriver driver;
  std::string missing;
  const auto load = [&](auto& function, const char* name) {
    void* const address = ::dlsym(library, name);
    if (address == nullptr && missing.empty()) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  load(driver.init, "cuInit");
  load(driver.error_name, "cuGetErrorName");
  load(driver.error_text, "cuGetErrorString");
  load(driver.device_count, "cuDeviceGetCount");
  load(driver.device, "cuDeviceGet");
  load(driver.device_name, "cuDeviceGetName");
  load(driver.retain_context, "cuDevicePrimaryCtxRetain");
  load(driver.release_context, "cuDevicePrimaryCtxRelease");
  load(driver.use_context, "cuCtxSetCurrent");
  load(driver.synchronize, "cuCtxSynchronize");
  load(driver.memory, "cuMemGetInfo_v2");
  load(driver.allocate, "cuMemAlloc_v2");
  load(driver.release, "cuMemFree_v2");
  load(driver.fill, "cuMemsetD8_v2");
  load(driver.pin, "cuMemHostRegister_v2");
  load(driver.unpin, "cuMemHostUnregister");
  load(driver.to_device, "cuMemcpyHtoDAsync_v2");
  load(driver.to_host, "cuMemcpyDtoHAsync_v2");
  load(driver.within, "cuMemcpyDtoDAsync_v2");
  load(driver.create_stream, "cuStreamCreate");
  load(driver.destroy_stream, "cuStreamDestroy_v2");
  load(driver.create_event, "cuEventCreate");
  load(driver.destroy_event, "cuEventDestroy_v2");
  load(driver.record, "cuEventRecord");
  load(driver.query, "cuEventQuery");
  load(driver.wait, "cuEventSynchronize");
  load(driver.elapsed, "cuEventElapsedTime");
  if (!missing.empty())
    return Error{.what = "the CUDA driver has no function " + missing,
                 .hint = "install a newer driver, or leave out --offload-device"};
  if (const CUresult code = driver.init(0); code != CUDA_SUCCESS) {
    Error error = cuda_error(driver, "the CUDA driver cannot start", code);
    error.hint = no_driver_hint;
    return error;
  }
  return driver;
}

}  // namespace

const Result<CudaDriver>& cuda_driver() {
  static const Result<CudaDriver> driver = load_cuda_driver();
  return driver;
}

Error cuda_error(const CudaDriver& driver, const std::string& doing, CUresult code) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.error_name(code, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  if (driver.error_text(code, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  return {.what = doing + ": " + name + " (" + text + ")"};
}

}  // namespace stepscope::zero
#endif
