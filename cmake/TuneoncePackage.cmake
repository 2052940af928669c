# Debian packages, by CPack (scripts/deb): libtuneonceMAJOR has the component `runtime`, libtuneonce-dev `development`,
# tuneonce `command`. Of a shared build with the prefix /usr (the preset `package`).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tuneonce)
set(CPACK_PACKAGE_VENDOR "the tuneonce authors")
set(CPACK_PACKAGE_CONTACT "the tuneonce authors <authors@tuneonce.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL runtime development command)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(library libtuneonce${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "Tunes a GPU kernel once per shape, inside of the process that launches it, and then launches it at the cost of a plain
launch. With the CPU device, a driver without a GPU, and example bundles.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "g++")  # Kernels of the CPU device are compiled.

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtuneonce-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "What a program needs to be built with tuneonce: headers, and what CMake and pkg-config find. The headers include those of
CUDA 12.4 or newer, which are not in this package.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "nvidia-cuda-toolkit (>= 12.4), cmake, pkg-config")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME tuneonce)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "Says what a machine has to tune with, tunes and compiles kernels, shows and ships what was tuned.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION})")

# Licences, per package.
foreach(pair runtime:${library} development:libtuneonce-dev command:tuneonce)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES cmake/debian_copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright
          COMPONENT ${component})
endforeach()
include(CPack)
