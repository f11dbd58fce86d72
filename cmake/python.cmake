# The Python package: python/stepscope with the extension module _core (stepscope/binding), together in python/stepscope
# of the build. pip builds it through pyproject.toml.
option(STEPSCOPE_PYTHON "Build the Python module (needs Python 3.10 or later with headers, and nanobind)" OFF)
if(NOT STEPSCOPE_PYTHON)
  message(STATUS "Python module: off, by STEPSCOPE_PYTHON")
  return()
endif()
message(STATUS "Python module: on")
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_DIR RESULT_VARIABLE missing ERROR_QUIET)
if(missing)
  message(FATAL_ERROR "STEPSCOPE_PYTHON=ON needs nanobind for ${Python_EXECUTABLE}: python -m pip install nanobind")
endif()
find_package(nanobind CONFIG REQUIRED)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/stepscope/binding/*.cc)
if(NOT STEPSCOPE_ENGINE)  # classes of the engine
  list(FILTER sources EXCLUDE REGEX "(optimizer_shard|zero3_stats)_class\\.cc$")
endif()
# The stable ABI serves CPython 3.12 and later with one module.
nanobind_add_module(stepscope_python STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS PROTECT_STACK ${sources})
set_target_properties(stepscope_python PROPERTIES OUTPUT_NAME _core
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/stepscope)
target_link_libraries(stepscope_python PRIVATE stepscope_flags stepscope_cli)
target_compile_definitions(stepscope_python PRIVATE $<$<BOOL:${STEPSCOPE_ENGINE}>:STEPSCOPE_ENGINE>)
# Python looks for one symbol. The linker then drops what nothing here calls, and 10,000 names.
set(exports ${PROJECT_SOURCE_DIR}/stepscope/binding/exports.map)
target_link_options(stepscope_python PRIVATE -Wl,--version-script=${exports})
set_target_properties(stepscope_python PROPERTIES LINK_DEPENDS ${exports})
# nanobind's sources use stderr but do not include <cstdio>. With libc++ no other header does.
foreach(target nanobind-static-abi3-ps nanobind-static-abi3 nanobind-static-ps nanobind-static stepscope_python)
  if(TARGET ${target})
    target_compile_options(${target} PRIVATE -include cstdio)
  endif()
endforeach()
# The recorded traces of stepscope.example().
set(STEPSCOPE_EXAMPLE_TRACES ${PROJECT_SOURCE_DIR}/examples/train_tiny/traces/ddp ${PROJECT_SOURCE_DIR}/examples/train_tiny/traces/fsdp)
set(package ${PROJECT_BINARY_DIR}/python/stepscope)
set(copies COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/python/stepscope ${package})
foreach(traces ${STEPSCOPE_EXAMPLE_TRACES})
  cmake_path(GET traces FILENAME name)
  list(APPEND copies COMMAND ${CMAKE_COMMAND} -E copy_directory ${traces} ${package}/example_traces/${name})
endforeach()
add_custom_target(stepscope_python_package ALL
  ${copies}
  DEPENDS stepscope_python COMMENT "Copying the Python package" VERBATIM)

if(STEPSCOPE_TESTS)
  file(GLOB notebooks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/notebooks/*.ipynb)
  add_test(NAME python.api
    COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider -m "not torch" ${PROJECT_SOURCE_DIR}/python/tests)
  add_test(NAME python.notebooks WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMAND ${Python_EXECUTABLE} tools/run_notebook.py ${notebooks})
  set_tests_properties(python.api python.notebooks PROPERTIES TIMEOUT 900 PROCESSORS 2 ENVIRONMENT
    "PYTHONPATH=${PROJECT_BINARY_DIR}/python;STEPSCOPE_COMMAND=$<TARGET_FILE:stepscope>;PYTHONDONTWRITEBYTECODE=1")
endif()
