# Install rules and the exported CMake package: the command, one static library a module, the headers under
# include/stepscope/ as the tree has them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY STEPSCOPE_MODULES)
list(TRANSFORM modules PREPEND stepscope_ OUTPUT_VARIABLE targets)
install(TARGETS ${targets} EXPORT stepscope-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(module ${modules})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/stepscope/${module}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stepscope
    FILES_MATCHING PATTERN "*.h" PATTERN "*_test_*.h" EXCLUDE)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/stepscope/stepscope.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stepscope)
install(TARGETS stepscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Man pages and completion scripts, which the program prints, where man and the shells look for them.
set(share ${PROJECT_BINARY_DIR}/generated/share)
add_custom_command(
  OUTPUT ${share}/stamp
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:stepscope> -DSHARE=${share} -P ${CMAKE_CURRENT_LIST_DIR}/shell_files.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${share}/stamp
  DEPENDS stepscope ${CMAKE_CURRENT_LIST_DIR}/shell_files.cmake
  COMMENT "Writing man pages and completion scripts" VERBATIM)
add_custom_target(stepscope_shell_files ALL DEPENDS ${share}/stamp)
install(DIRECTORY ${share}/man ${share}/bash-completion ${share}/zsh ${share}/fish
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stepscope)
install(EXPORT stepscope-targets NAMESPACE stepscope:: DESTINATION ${package_dir})
configure_package_config_file(cmake/stepscope-config.cmake.in
  ${PROJECT_BINARY_DIR}/stepscope-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stepscope-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/stepscope-config.cmake ${PROJECT_BINARY_DIR}/stepscope-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindIsal.cmake ${CMAKE_CURRENT_LIST_DIR}/FindZstd.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindSqlite.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindUring.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindDnnl.cmake
  DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
