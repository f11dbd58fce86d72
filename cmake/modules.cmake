# Functions that make libraries of the folders of stepscope/ and engine/, and build tests, benchmarks and the command line.

add_library(stepscope_flags INTERFACE)
target_compile_options(stepscope_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
  $<$<BOOL:${STEPSCOPE_WERROR}>:-Werror>)
# Linked after stepscope_flags. Only shadowing by local names is checked, which clang cannot distinguish from others.
add_library(stepscope_local_shadows INTERFACE)
target_compile_options(stepscope_local_shadows INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
if(STEPSCOPE_SANITIZE)
  target_compile_options(stepscope_flags INTERFACE -fsanitize=${STEPSCOPE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(stepscope_flags INTERFACE -fsanitize=${STEPSCOPE_SANITIZE})
endif()
if(STEPSCOPE_FUZZ)
  target_compile_options(stepscope_flags INTERFACE -fsanitize=fuzzer-no-link -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  target_link_options(stepscope_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(APPLE)
  target_compile_definitions(stepscope_flags INTERFACE _REENTRANT)  # declares lgamma_r
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # Answers are those of x86-64 to the last bit, whose baseline has no fused multiply-add.
  target_compile_options(stepscope_flags INTERFACE -ffp-contract=off)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Fewer collections of g++'s own garbage: a twentieth of its time.
  target_compile_options(stepscope_flags INTERFACE --param=ggc-min-expand=200 --param=ggc-min-heapsize=262144)
endif()

# Modules with flags of their own (sources.cmake). A precompiled file brings the flags that it was made with into the
# functions of other instruction sets: -ffp-contract=off would be lost there.
set(STEPSCOPE_OWN_FLAGS nn comm)

# Modules that make text and trees, with cli. Their loops are short, so they are compiled for size, in half of the time.
set(STEPSCOPE_FACES say diagnose face verbs)

# The dev build compiles each source by itself.
option(STEPSCOPE_UNITY "Compile the sources of a folder together" ON)

# A second less a file.
# Not with a compiler cache, which cannot keep such files, nor without rooms, where each source shows that its includes
# suffice.
set(STEPSCOPE_PRECOMPILED <algorithm> <array> <charconv> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <numeric>
                          <optional> <set> <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)
set(STEPSCOPE_PRECOMPILED_LIBRARIES <fmt/format.h> <nlohmann/json.hpp>)
# Files that are precompiled together need one set of definitions.
target_compile_definitions(stepscope_flags INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
target_include_directories(stepscope_flags SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
if(CMAKE_CXX_COMPILER_LAUNCHER OR NOT STEPSCOPE_UNITY)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# stepscope_precompile(TARGET KIND): one precompiled file a kind, "library", "face" or "program", which differ in their flags.
function(stepscope_precompile target kind)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    # g++ 12 takes precompiled headers of the system for the project's: these warnings of theirs are false.
    target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-restrict)
  endif()
  get_property(first GLOBAL PROPERTY STEPSCOPE_PRECOMPILED_BY_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${STEPSCOPE_PRECOMPILED})
    if(NOT kind STREQUAL program)
      target_precompile_headers(${target} PRIVATE ${STEPSCOPE_PRECOMPILED_LIBRARIES})
    endif()
    set_property(GLOBAL PROPERTY STEPSCOPE_PRECOMPILED_BY_${kind} ${target})
  endif()
endfunction()

set_property(GLOBAL PROPERTY STEPSCOPE_MODULES "")

# A room (a folder of a module) is compiled as one file, so its sources' includes are compiled once.
# Files of these rooms define the same names, once per collective or instruction set.
set(STEPSCOPE_ROOMS_APART comm/collectives nn/kernels)
# stepscope_compile_rooms(TARGET FOLDERS_APART SOURCE...)
function(stepscope_compile_rooms target apart)
  if(NOT STEPSCOPE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    get_filename_component(room ${source} DIRECTORY)
    file(RELATIVE_PATH room ${PROJECT_SOURCE_DIR} ${room})
    string(REGEX REPLACE "^(stepscope|engine)/(.*)$" "\\2" room ${room})
    if(room IN_LIST apart)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    else()
      if(target STREQUAL stepscope_verbs)  # verbs share most of what they include
        string(REGEX REPLACE "^verbs/(check|compare|digest|hang|live|memory|runs|stacks)$" "verbs/measured" room ${room})
        string(REGEX REPLACE "^verbs/(calibrate|inputs|plan|predict|project|sections)$" "verbs/described" room ${room})
      endif()
      if(source MATCHES "_(command|flags)\\.cc$|/launched\\.cc$")
        set(room commands)  # CLI11 is compiled once
      endif()
      string(REPLACE / _ room ${room})
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room})
    endif()
  endforeach()
  # In one file, local names of a source may shadow others, and its types in unnamed namespaces are not in the main
  # file.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:stepscope_local_shadows>)
endfunction()

# stepscope_module(NAME [USES module...] [LIBS library...]): compiles the sources in NAME and its rooms, without tests and
# benchmarks. NAME is a folder of stepscope/ or of engine/.
function(stepscope_module name)
  cmake_parse_arguments(arg "" "" "USES;LIBS" ${ARGN})
  set(dir ${PROJECT_SOURCE_DIR}/stepscope/${name})
  if(NOT IS_DIRECTORY ${dir})
    set(dir ${PROJECT_SOURCE_DIR}/engine/${name})
  endif()
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
  if(name IN_LIST STEPSCOPE_FACES)
    target_compile_options(stepscope_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
    stepscope_precompile(stepscope_${name} face)
  elseif(NOT name IN_LIST STEPSCOPE_OWN_FLAGS)
    stepscope_precompile(stepscope_${name} library)
  endif()
  include(${dir}/sources.cmake OPTIONAL)  # generated sources of a module
  set_target_properties(stepscope_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(stepscope::${name} ALIAS stepscope_${name})
  set_property(GLOBAL APPEND PROPERTY STEPSCOPE_MODULES ${name})
endfunction()

# Ranges of a module's range.cc reach Nsight tools if NVTX headers are found (CUDA has them; nothing is linked).
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

# Embeds data/KINDs/*.json, *.txt, *.tsv and *.md, or those of another folder, in a module (stepscope/base/embedded_text.h), so
# that an installed program has its catalogues.
function(stepscope_embed_catalogue module kind)
  set(dir ${PROJECT_SOURCE_DIR}/data/${kind}s)
  if(ARGC GREATER 2)
    set(dir ${PROJECT_SOURCE_DIR}/${ARGV2})
  endif()
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_catalogue.cmake)
  set(out ${PROJECT_BINARY_DIR}/generated/${kind}_data.cc)
  file(GLOB texts CONFIGURE_DEPENDS ${dir}/*.json ${dir}/*.txt ${dir}/*.tsv ${dir}/*.md)
  add_custom_command(OUTPUT ${out} COMMAND ${CMAKE_COMMAND} -DKIND=${kind} -DDIR=${dir} -DOUT=${out} -P ${script}
                     DEPENDS ${texts} ${script} COMMENT "Embedding ${dir}" VERBATIM)
  target_sources(stepscope_${module} PRIVATE ${out})
  # The standard asks for 65,536 characters; g++ and clang take more.
  set_source_files_properties(${out} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()

# The command. All but main.cc is a library, so that tests can call it. The library is not installed.
function(stepscope_cli)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/stepscope/cli/*.cc)
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main)\\.cc$")
  if(STEPSCOPE_ENGINE)
    list(FILTER sources EXCLUDE REGEX "/no_engine\\.cc$")
  endif()
  add_library(stepscope_cli STATIC ${sources})
  target_include_directories(stepscope_cli PUBLIC ${PROJECT_SOURCE_DIR})
  get_property(modules GLOBAL PROPERTY STEPSCOPE_MODULES)
  list(TRANSFORM modules PREPEND stepscope_)
  target_link_libraries(stepscope_cli PRIVATE stepscope_flags PUBLIC ${modules} fmt::fmt CLI11::CLI11)
  target_compile_definitions(stepscope_cli PRIVATE $<$<BOOL:${STEPSCOPE_ENGINE}>:STEPSCOPE_ENGINE>)
  stepscope_compile_rooms(stepscope_cli "${STEPSCOPE_ROOMS_APART}" ${sources})
  target_compile_options(stepscope_cli PRIVATE $<$<CONFIG:Release>:-Os>)
  stepscope_precompile(stepscope_cli face)
  add_executable(stepscope ${PROJECT_SOURCE_DIR}/stepscope/cli/main.cc)
  target_link_libraries(stepscope PRIVATE stepscope_flags stepscope_cli)
endfunction()

# One test program a module.
function(stepscope_tests)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  get_property(modules GLOBAL PROPERTY STEPSCOPE_MODULES)
  foreach(module ${modules} cli)
    file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/stepscope/${module}/*_test.cc
                                              ${PROJECT_SOURCE_DIR}/engine/${module}/*_test.cc)
    if(tests)
      add_executable(${module}_test ${tests})
      target_link_libraries(${module}_test PRIVATE stepscope_flags stepscope_${module} GTest::gtest_main)
      stepscope_compile_rooms(${module}_test "${STEPSCOPE_ROOMS_APART}" ${tests})
      target_compile_options(${module}_test PRIVATE $<$<CONFIG:Release>:-O1>)
      stepscope_precompile(${module}_test program)
      gtest_discover_tests(${module}_test TEST_PREFIX ${module}. DISCOVERY_TIMEOUT 60
                           PROPERTIES TIMEOUT 300)
    endif()
  endforeach()
  add_subdirectory(tests)
endfunction()
