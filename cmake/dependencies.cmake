# The Debian 12 packages that stepscope builds on; tools/setup.sh installs them. What is found here for the
# library is found again by cmake/stepscope-config.cmake.in for those who use it installed.
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Isal REQUIRED)
find_package(Zstd REQUIRED)
find_package(Dnnl REQUIRED)
set(STEPSCOPE_BASE_LIBS Isal::Isal Zstd::Zstd nlohmann_json::nlohmann_json Threads::Threads)

find_package(Uring QUIET)
if(Uring_FOUND)
  message(STATUS "io_uring for the offload tier: on")
else()
  message(STATUS "io_uring for the offload tier: off, no liburing (Debian: liburing-dev); pread and pwrite instead")
endif()
