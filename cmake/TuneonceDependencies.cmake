# The libraries that tuneonce is built on. What is found here is visible to the whole build: who adds tuneonce as a
# sub-directory links what a static tuneonce links.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

# tuneonce_require(PACKAGE OPTION [ARGUMENT...]): find_package with these arguments for what OPTION switches on, or the
# words to get on.
macro(tuneonce_require package option)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "tuneonce: ${package} was not found, which ${option}=ON needs: run scripts/install_dependencies "
                        "--tests, which installs what is missing, or set -D${option}=OFF")
  endif()
endmacro()

# tuneonce_optional(VARIABLE PACKAGE LOST): resolves AUTO: ON where PACKAGE is found; where it is not, OFF and one line of
# what is lost. ON without the package is an error, OFF does not look.
macro(tuneonce_optional variable package lost)
  if("${${variable}}" STREQUAL "AUTO")
    find_package(${package} QUIET)
    if(${package}_FOUND)
      set(${variable} ON)
    else()
      set(${variable} OFF)
      message(STATUS "tuneonce: ${package} was not found: ${lost} (install it, or set -D${variable}=OFF to say so)")
    endif()
  elseif(${variable})
    tuneonce_require(${package} ${variable})
  endif()
endmacro()

find_package(Threads REQUIRED)
tuneonce_optional(TUNEONCE_WITH_JSON nlohmann_json "bundles cannot be loaded, and there are no JSON reports")
tuneonce_optional(TUNEONCE_WITH_SQLITE SQLite3 "nothing that was tuned is remembered on disk")

list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})  # Findhiredis.
set(tuneonce_redis_wanted ${TUNEONCE_WITH_REDIS})
foreach(package hiredis OpenSSL)
  if(TUNEONCE_WITH_REDIS)
    set(TUNEONCE_WITH_REDIS ${tuneonce_redis_wanted})
    tuneonce_optional(TUNEONCE_WITH_REDIS ${package} "no ranks and no fleet's store by Redis")
  endif()
endforeach()
tuneonce_optional(TUNEONCE_WITH_MPI MPI "no ranks by MPI")

# Abseil: the host's own, else the system's, else a pinned one, which no header and no symbol of tuneonce shows.
if(NOT TARGET absl::strings)
  find_package(absl QUIET)
endif()
if(NOT TARGET absl::strings)
  message(STATUS "tuneonce: Abseil was not found: fetching it, which needs a network (or install libabsl-dev)")
  include(FetchContent)
  FetchContent_Declare(tuneonce_absl GIT_REPOSITORY https://github.com/abseil/abseil-cpp.git
                       GIT_TAG 4447c7562e3bc702ade25105912dce503f0c4010)  # 20240722.0
  FetchContent_GetProperties(tuneonce_absl)
  if(NOT tuneonce_absl_POPULATED)
    FetchContent_Populate(tuneonce_absl)
    function(tuneonce_add_absl)  # A scope of its own for what only Abseil is to see.
      set(BUILD_SHARED_LIBS OFF)
      set(BUILD_TESTING OFF)
      set(CMAKE_UNITY_BUILD OFF)
      set(ABSL_PROPAGATE_CXX_STD ON)
      set(ABSL_ENABLE_INSTALL ${TUNEONCE_INSTALL})
      set(CMAKE_CXX_STANDARD 17)
      set(CMAKE_CXX_VISIBILITY_PRESET hidden)
      set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
      set(CMAKE_POSITION_INDEPENDENT_CODE ON)
      if(TUNEONCE_INSTALL)
        add_subdirectory(${tuneonce_absl_SOURCE_DIR} ${tuneonce_absl_BINARY_DIR})
      else()
        add_subdirectory(${tuneonce_absl_SOURCE_DIR} ${tuneonce_absl_BINARY_DIR} EXCLUDE_FROM_ALL)
      endif()
    endfunction()
    tuneonce_add_absl()
  endif()
endif()
