# The code that calls MPI for ranks lies where the crew's does (stepscope/crew/sources.cmake).
if(MPI_CXX_FOUND)
  target_compile_definitions(stepscope_comm PRIVATE STEPSCOPE_HAS_MPI)
elseif(STEPSCOPE_MPI_INTERFACES)
  target_compile_definitions(stepscope_comm PRIVATE STEPSCOPE_LOADS_MPI)
endif()
get_property(mpi_libraries GLOBAL PROPERTY STEPSCOPE_MPI_LIBRARIES)
foreach(library ${mpi_libraries})
  target_sources(${library} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/groups/mpi_exchange.cc
                                    ${CMAKE_CURRENT_LIST_DIR}/groups/mpi_ranks.cc)
  target_link_libraries(${library} PRIVATE stepscope_comm)
endforeach()
# Loops over payloads: reductions and copies.
target_compile_options(stepscope_comm PRIVATE $<$<CONFIG:Release>:-O3>)
