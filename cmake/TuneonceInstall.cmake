# Install rules, by component: `runtime` (the shared library, the CPU device, the worker,
# the bundles), `development` (headers, static
# library, what CMake and pkg-config find), `command` (the program and its manual pages).
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tuneonce)

install(TARGETS tuneonce tuneonce_tools EXPORT tuneonceTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS tuneonce_cpu_driver LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(TARGETS tuneonce_worker_program RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tuneonce COMPONENT runtime)
install(DIRECTORY bundles/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tuneonce/bundles COMPONENT runtime
        PATTERN __pycache__ EXCLUDE)
if(TUNEONCE_BUILD_CLI)
  install(TARGETS tuneonce_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  # Manual pages, where the build made some.
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT command OPTIONAL
          FILES_MATCHING PATTERN "*.1")
endif()
install(DIRECTORY include/tuneonce tools/include/tuneonce DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development FILES_MATCHING PATTERN "*.h")
install(FILES lib/base/cpu_kernel.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tuneonce/cpu_device RENAME kernel.h
        COMPONENT development)
install(EXPORT tuneonceTargets NAMESPACE tuneonce:: DESTINATION ${package_folder} COMPONENT development)

# Where this build found CUDA's headers is a hint for the users of the same machine; what lies in its own tree is not.
set(cuda_headers_hint ${TUNEONCE_CUDA_INCLUDE_DIR})
string(FIND "${cuda_headers_hint}/" "${PROJECT_SOURCE_DIR}/" within_sources)
if(within_sources EQUAL 0)
  set(cuda_headers_hint "")
endif()
configure_package_config_file(cmake/tuneonceConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tuneonceConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tuneonceConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/Findhiredis.cmake cmake/TuneonceBundle.cmake ${CMAKE_CURRENT_BINARY_DIR}/tuneonceConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/tuneonceConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT development)

# The same for pkg-config: all paths from where the file lies, so that the prefix can be moved.
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
if(BUILD_SHARED_LIBS)
  set(pkgconfig_requires "")
  set(pkgconfig_defines "-DTUNEONCE_SHARED")
  set(pkgconfig_libraries "")
  set(pkgconfig_tools_libraries "")
else()  # What it uses; hidden, and its run path says where the CPU device lies.
  set(pkgconfig_requires "absl_strings absl_str_format absl_cleanup")
  if(TUNEONCE_WITH_SQLITE)
    string(APPEND pkgconfig_requires " sqlite3")
  endif()
  set(pkgconfig_defines "")
  set(pkgconfig_libraries "-Wl,--exclude-libs,libtuneonce.a:libstdc++.a -Wl,-rpath,\${libdir} -ldl -pthread")
  set(pkgconfig_tools_libraries "-Wl,--exclude-libs,libtuneonce_tools.a")
endif()
configure_file(cmake/tuneonce.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tuneonce.pc @ONLY)
configure_file(cmake/tuneonce_tools.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tuneonce_tools.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tuneonce.pc ${CMAKE_CURRENT_BINARY_DIR}/tuneonce_tools.pc DESTINATION ${pkgconfig_folder} COMPONENT development)
