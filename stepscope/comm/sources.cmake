# Without MPI, mpi_group.cc reports that this build lacks it.
if(MPI_CXX_FOUND)
  target_compile_definitions(stepscope_comm PRIVATE STEPSCOPE_HAS_MPI)
endif()
# Where MPI is loaded at run time, the code that calls it is a shared library for each binary interface. MPI's symbols
# stay undefined in it: the program loads MPI first.
if(STEPSCOPE_MPI_INTERFACES)
  target_compile_definitions(stepscope_comm PRIVATE STEPSCOPE_LOADS_MPI)
endif()
set(mpi_exports ${CMAKE_CURRENT_LIST_DIR}/groups/mpi_exports.map)
foreach(interface ${STEPSCOPE_MPI_INTERFACES})
  string(REGEX REPLACE "=.*" "" mpi ${interface})
  string(REGEX REPLACE "^[^=]*=" "" headers ${interface})
  add_library(stepscope_mpi_${mpi} MODULE ${CMAKE_CURRENT_LIST_DIR}/groups/mpi_exchange.cc
                                           ${CMAKE_CURRENT_LIST_DIR}/groups/mpi_library.cc)
  set_target_properties(stepscope_mpi_${mpi} PROPERTIES OUTPUT_NAME stepscope-${mpi} LINK_DEPENDS ${mpi_exports})
  target_compile_definitions(stepscope_mpi_${mpi} PRIVATE STEPSCOPE_HAS_MPI)
  target_include_directories(stepscope_mpi_${mpi} SYSTEM PRIVATE ${headers})
  target_link_libraries(stepscope_mpi_${mpi} PRIVATE stepscope_flags stepscope_comm)
  target_link_options(stepscope_mpi_${mpi} PRIVATE -Wl,--version-script=${mpi_exports} -Wl,-z,undefs)
  set_property(GLOBAL APPEND PROPERTY STEPSCOPE_MPI_LIBRARIES stepscope_mpi_${mpi})
endforeach()
# Loops over payloads: reductions and copies.
target_compile_options(stepscope_comm PRIVATE $<$<CONFIG:Release>:-O3>)
