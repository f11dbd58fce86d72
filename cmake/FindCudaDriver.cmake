# NVIDIA's driver interface, of which only the header is needed: CUDA_DRIVER_INCLUDE_DIR. The library comes with the driver
# and is loaded at run time.
find_path(CUDA_DRIVER_INCLUDE_DIR cuda.h
  HINTS ${STEPSCOPE_CUDA_ROOT} ${CUDAToolkit_ROOT} ENV CUDAToolkit_ROOT ENV CUDA_PATH PATHS /usr/local/cuda
  PATH_SUFFIXES include targets/x86_64-linux/include)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudaDriver REQUIRED_VARS CUDA_DRIVER_INCLUDE_DIR)
mark_as_advanced(CUDA_DRIVER_INCLUDE_DIR)
