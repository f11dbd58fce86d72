# Install rules and the exported CMake package: the command, the libraries, stepscope/stepscope.h and
# engine/stepscope_engine.h with the headers that they include, and the target stepscope::stepscope.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY STEPSCOPE_MODULES)
list(TRANSFORM modules PREPEND stepscope_ OUTPUT_VARIABLE targets)
# What users link.
add_library(stepscope_library INTERFACE)
target_link_libraries(stepscope_library INTERFACE stepscope_verbs)
if(STEPSCOPE_ENGINE)
  target_link_libraries(stepscope_library INTERFACE stepscope_train)
endif()
set_target_properties(stepscope_library PROPERTIES EXPORT_NAME stepscope)
install(TARGETS stepscope_library ${targets} EXPORT stepscope-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(headers stepscope/stepscope.h)
if(STEPSCOPE_ENGINE)
  list(APPEND headers engine/stepscope_engine.h)
endif()
install(CODE "set(HEADERS \"${headers}\")
set(SOURCE \"${PROJECT_SOURCE_DIR}\")
set(DESTINATION \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
include(\"${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake\")")
install(TARGETS stepscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)

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
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} COMPONENT command)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stepscope)
install(EXPORT stepscope-targets NAMESPACE stepscope:: DESTINATION ${package_dir})
configure_package_config_file(cmake/stepscope-config.cmake.in
  ${PROJECT_BINARY_DIR}/stepscope-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stepscope-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/stepscope-config.cmake ${PROJECT_BINARY_DIR}/stepscope-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindIsal.cmake ${CMAKE_CURRENT_LIST_DIR}/FindZstd.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindMicrohttpd.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindSqlite.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindUring.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindDnnl.cmake
  DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)

# `make deb`: a Debian package of the component "command": the command with its pages and completion, and the plugin of
# NCCL. It depends on what dpkg-shlibdeps finds, so it is for the release of Debian that it was built on.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The stepscope maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL command)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME stepscope)
set(CPACK_DEBIAN_COMMAND_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
