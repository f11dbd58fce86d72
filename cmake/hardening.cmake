# What makes a mistake in our programs hard to exploit, for every target of this folder; tests/hardening reads the
# binaries. Not with sanitizers, which watch the same calls, nor without optimisation, which _FORTIFY_SOURCE needs.

# One search path in the build and once installed: the folders of libraries that are outside the system's, such as an MPI
# in /opt. CMake would otherwise pad the path of the build with an empty entry, which means the current directory.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

if(STEPSCOPE_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL Linux)
  return()
endif()
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_cxx_source_compiles("
  #include <cstdio>
  #if __USE_FORTIFY_LEVEL < 3
  #error An older compiler or C library knows level 2.
  #endif
  int main() {}" STEPSCOPE_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
set(fortify 2)
if(STEPSCOPE_FORTIFY_3)
  set(fortify 3)
endif()
set(optimised "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
add_compile_options("$<${optimised}:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${fortify}>")
# All symbols are bound before main(), and the linker's tables are read-only from then on.
add_link_options("$<${optimised}:-Wl,-z,relro,-z,now,-z,noexecstack>")
