# Install rules and the exported CMake package.
