# How a folder of stepscope/ becomes a library, and how its tests, benchmarks and the command line are built.

add_library(stepscope_flags INTERFACE)
target_compile_options(stepscope_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Werror)
# After stepscope_flags: only locals are looked at.
add_library(stepscope_local_shadows INTERFACE)
target_compile_options(stepscope_local_shadows INTERFACE -Wno-shadow -Wshadow=local)
if(STEPSCOPE_SANITIZE)
  target_compile_options(stepscope_flags INTERFACE -fsanitize=${STEPSCOPE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(stepscope_flags INTERFACE -fsanitize=${STEPSCOPE_SANITIZE})
endif()
if(STEPSCOPE_FUZZ)
  target_compile_options(stepscope_flags INTERFACE -fsanitize=fuzzer-no-link -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  target_link_options(stepscope_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Tests and the command line are compiled quickly rather than for speed: what is hot lies in the modules below.
set(STEPSCOPE_COLD $<$<CONFIG:Release>:-O1>)

set_property(GLOBAL PROPERTY STEPSCOPE_MODULES "")

# A room (a folder of a module) is compiled as one file: what its sources include is then compiled once. The dev build
# compiles each source by itself.
option(STEPSCOPE_UNITY "Compile the sources of a folder together" ON)
# Each file of these defines the same names, once a collective and once an instruction set.
set(STEPSCOPE_ROOMS_APART comm/collectives nn/kernels)
# Tests of these folders have helpers of the same name.
set(STEPSCOPE_TESTS_APART analysis/work cost/layer cli fit write)
# stepscope_compile_rooms(TARGET FOLDERS_APART SOURCE...)
function(stepscope_compile_rooms target apart)
  if(NOT STEPSCOPE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    get_filename_component(room ${source} DIRECTORY)
    file(RELATIVE_PATH room ${PROJECT_SOURCE_DIR}/stepscope ${room})
    if(room IN_LIST apart)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    else()
      string(REPLACE / _ room ${room})
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
    endif()
  endforeach()
  # Beside its neighbours a source's local names may hide theirs, and its types in unnamed namespaces are not in the main file.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:stepscope_local_shadows>)
  endif()
endfunction()

# stepscope_module(NAME [USES module...] [LIBS library...]): the sources in stepscope/NAME and its rooms without tests and
# benchmarks.
function(stepscope_module name)
  cmake_parse_arguments(arg "" "" "USES;LIBS" ${ARGN})
  set(dir ${PROJECT_SOURCE_DIR}/stepscope/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  add_library(stepscope_${name} STATIC ${sources})
  target_include_directories(stepscope_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
  target_compile_features(stepscope_${name} PUBLIC cxx_std_20)
  set(used ${arg_USES})
  list(TRANSFORM used PREPEND stepscope_)
  target_link_libraries(stepscope_${name}
    PRIVATE $<BUILD_INTERFACE:stepscope_flags> PUBLIC ${used} ${arg_LIBS})
  stepscope_compile_rooms(stepscope_${name} "${STEPSCOPE_ROOMS_APART}" ${sources})
  include(${dir}/sources.cmake OPTIONAL)  # what a module generates
  set_target_properties(stepscope_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(stepscope::${name} ALIAS stepscope_${name})
  set_property(GLOBAL APPEND PROPERTY STEPSCOPE_MODULES ${name})
endfunction()

# Ranges of a module's range.cc reach Nsight tools where the headers of NVTX are (CUDA has them; header-only, nothing is linked).
function(stepscope_nvtx module)
  find_path(NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h PATH_SUFFIXES targets/x86_64-linux/include
            HINTS ENV CUDA_PATH PATHS /usr/local/cuda/include)
  if(NVTX_INCLUDE_DIR)
    message(STATUS "ranges in Nsight tools: on, NVTX in ${NVTX_INCLUDE_DIR}")
    target_include_directories(stepscope_${module} SYSTEM PRIVATE ${NVTX_INCLUDE_DIR})
    target_compile_definitions(stepscope_${module} PUBLIC $<BUILD_INTERFACE:STEPSCOPE_NVTX>)
    target_link_libraries(stepscope_${module} PRIVATE ${CMAKE_DL_LIBS})
  else()
    message(STATUS "ranges in Nsight tools: off, no nvtx3/nvToolsExt.h (comes with CUDA; NVTX_INCLUDE_DIR names its place)")
  endif()
endfunction()

# data/KINDs/*.json become part of a module (stepscope/base/embedded_text.h): the program finds its catalogues wherever it is installed.
function(stepscope_embed_catalogue module kind)
  set(dir ${PROJECT_SOURCE_DIR}/data/${kind}s)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_catalogue.cmake)
  set(out ${PROJECT_BINARY_DIR}/generated/${kind}_data.cc)
  file(GLOB texts CONFIGURE_DEPENDS ${dir}/*.json)
  add_custom_command(OUTPUT ${out} COMMAND ${CMAKE_COMMAND} -DKIND=${kind} -DDIR=${dir} -DOUT=${out} -P ${script}
                     DEPENDS ${texts} ${script} COMMENT "Embedding data/${kind}s" VERBATIM)
  target_sources(stepscope_${module} PRIVATE ${out})
endfunction()

# The command: everything but main.cc is a library, so that tests can call it; it is not installed.
function(stepscope_cli)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/stepscope/cli/*.cc)
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main)\\.cc$")
  add_library(stepscope_cli STATIC ${sources})
  target_include_directories(stepscope_cli PUBLIC ${PROJECT_SOURCE_DIR})
  get_property(modules GLOBAL PROPERTY STEPSCOPE_MODULES)
  list(TRANSFORM modules PREPEND stepscope_)
  target_link_libraries(stepscope_cli PRIVATE stepscope_flags PUBLIC ${modules} fmt::fmt CLI11::CLI11)
  target_compile_definitions(stepscope_cli PUBLIC STEPSCOPE_VERSION="${PROJECT_VERSION}")
  target_compile_options(stepscope_cli PRIVATE ${STEPSCOPE_COLD})
  stepscope_compile_rooms(stepscope_cli "${STEPSCOPE_ROOMS_APART}" ${sources})
  add_executable(stepscope ${PROJECT_SOURCE_DIR}/stepscope/cli/main.cc)
  target_link_libraries(stepscope PRIVATE stepscope_flags stepscope_cli)
endfunction()

# One test program a module (stepscope/NAME/*_test.cc). clang compiles what every test includes only once, a quarter of
# the time of compiling them (g++ 12 then warns of overflows that are none); beside a compiler cache it would not help.
function(stepscope_tests)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  get_property(modules GLOBAL PROPERTY STEPSCOPE_MODULES)
  foreach(module ${modules} cli)
    file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/stepscope/${module}/*_test.cc)
    if(tests)
      add_executable(${module}_test ${tests})
      target_link_libraries(${module}_test PRIVATE stepscope_flags stepscope_${module} GTest::gtest_main)
      stepscope_compile_rooms(${module}_test "${STEPSCOPE_ROOMS_APART};${STEPSCOPE_TESTS_APART}" ${tests})
      target_compile_options(${module}_test PRIVATE ${STEPSCOPE_COLD})
      if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang OR CMAKE_CXX_COMPILER_LAUNCHER)
        # each by itself
      elseif(first)
        target_precompile_headers(${module}_test REUSE_FROM ${first}_test)
      else()
        set(first ${module})
        target_precompile_headers(${module}_test PRIVATE <algorithm> <functional> <map> <memory> <optional> <span>
                                  <string> <vector> <gtest/gtest.h>)
      endif()
      gtest_discover_tests(${module}_test TEST_PREFIX ${module}. DISCOVERY_TIMEOUT 60
                           PROPERTIES TIMEOUT 300)
    endif()
  endforeach()
  add_subdirectory(tests)
endfunction()
