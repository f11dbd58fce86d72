# Sqlite::Sqlite: the SQLite library. The target of CMake's own FindSQLite3 has another name in later versions.
find_path(Sqlite_INCLUDE_DIR sqlite3.h)
find_library(Sqlite_LIBRARY sqlite3)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Sqlite REQUIRED_VARS Sqlite_LIBRARY Sqlite_INCLUDE_DIR)
if(Sqlite_FOUND AND NOT TARGET Sqlite::Sqlite)
  add_library(Sqlite::Sqlite UNKNOWN IMPORTED)
  set_target_properties(Sqlite::Sqlite PROPERTIES
    IMPORTED_LOCATION "${Sqlite_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Sqlite_INCLUDE_DIR}")
endif()
mark_as_advanced(Sqlite_INCLUDE_DIR Sqlite_LIBRARY)
