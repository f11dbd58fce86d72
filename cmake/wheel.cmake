# Install rules of the Python wheel, for scikit-build-core (pyproject.toml): the command, the parts that call MPI where
# the command looks for them (lib/stepscope next to bin), and in the package the module, its
# example traces and the plugin of NCCL. Nothing else of the project is in a wheel.
install(TARGETS stepscope RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
install(TARGETS stepscope_python LIBRARY DESTINATION ${SKBUILD_PLATLIB_DIR}/stepscope COMPONENT wheel)
install(DIRECTORY ${STEPSCOPE_EXAMPLE_TRACES} DESTINATION ${SKBUILD_PLATLIB_DIR}/stepscope/example_traces COMPONENT wheel)
if(TARGET nccl_profiler)
  install(TARGETS nccl_profiler LIBRARY DESTINATION ${SKBUILD_PLATLIB_DIR}/stepscope COMPONENT wheel)
endif()
get_property(mpi_libraries GLOBAL PROPERTY STEPSCOPE_MPI_LIBRARIES)
if(mpi_libraries)
  install(TARGETS ${mpi_libraries} LIBRARY DESTINATION ${SKBUILD_DATA_DIR}/lib/stepscope COMPONENT wheel)
endif()
# What the licences of the libraries inside ask for (tools/wheel/dependencies.sh collects them).
if(ZIG_PREFIX)
  install(DIRECTORY ${ZIG_PREFIX}/share/licenses DESTINATION ${SKBUILD_METADATA_DIR} COMPONENT wheel)
endif()
