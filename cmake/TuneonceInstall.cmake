# Install rules, and the package that find_package(tuneonce) finds.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tuneonce)

install(TARGETS tuneonce EXPORT tuneonceTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tuneonce_cpu_driver LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TUNEONCE_BUILD_CLI)
  install(TARGETS tuneonce_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY bundles/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tuneonce/bundles PATTERN __pycache__ EXCLUDE)
install(DIRECTORY include/tuneonce DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY cpu_device/include/tuneonce DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT tuneonceTargets NAMESPACE tuneonce:: DESTINATION ${package_folder})
configure_package_config_file(cmake/tuneonceConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tuneonceConfig.cmake
                              INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tuneonceConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/TuneonceBundle.cmake ${CMAKE_CURRENT_BINARY_DIR}/tuneonceConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tuneonceConfigVersion.cmake
        DESTINATION ${package_folder})
