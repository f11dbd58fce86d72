# Without MPI, mpi_group.cc reports that this build lacks it.
if(MPI_CXX_FOUND)
  target_compile_definitions(stepscope_comm PRIVATE STEPSCOPE_HAS_MPI)
endif()
# Loops over payloads: reductions and copies.
target_compile_options(stepscope_comm PRIVATE $<$<CONFIG:Release>:-O3>)
