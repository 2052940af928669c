# Sets TUNEONCE_CUDA_INCLUDE_DIR: the folder of cuda.h and cudaTypedefs.h (12.4 or newer), from a toolkit or from
# PyPI's nvidia-cuda-runtime (scripts/install_dependencies puts that into .deps/cuda).
find_path(TUNEONCE_CUDA_INCLUDE_DIR cudaTypedefs.h
  HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include ${PROJECT_SOURCE_DIR}/.deps/cuda/include
  PATHS /usr/local/cuda/include
  DOC "Folder of cuda.h and cudaTypedefs.h")
if(NOT TUNEONCE_CUDA_INCLUDE_DIR)
  message(FATAL_ERROR "tuneonce: cudaTypedefs.h was not found. Install the CUDA toolkit's headers, or run "
                      "scripts/install_dependencies, or set -DTUNEONCE_CUDA_INCLUDE_DIR=FOLDER.")
endif()
file(STRINGS ${TUNEONCE_CUDA_INCLUDE_DIR}/cuda.h cuda_version_line REGEX "^#define CUDA_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" cuda_version "${cuda_version_line}")
if(cuda_version LESS 12040)
  message(FATAL_ERROR "tuneonce: ${TUNEONCE_CUDA_INCLUDE_DIR}/cuda.h is of version ${cuda_version}; 12040 or newer is "
                      "needed. Set -DTUNEONCE_CUDA_INCLUDE_DIR=FOLDER to newer headers.")
endif()

# NVTX lies beside them in a toolkit, and as a rule in no wheel.
if(EXISTS ${TUNEONCE_CUDA_INCLUDE_DIR}/nvtx3/nvToolsExt.h)
  set(has_nvtx ON)
else()
  set(has_nvtx OFF)
endif()
if(TUNEONCE_WITH_NVTX STREQUAL "AUTO")
  set(TUNEONCE_WITH_NVTX ${has_nvtx})
elseif(TUNEONCE_WITH_NVTX AND NOT has_nvtx)
  message(FATAL_ERROR "tuneonce: ${TUNEONCE_CUDA_INCLUDE_DIR}/nvtx3/nvToolsExt.h is missing: install it, or set "
                      "-DTUNEONCE_WITH_NVTX=OFF (no ranges in profilers' timelines).")
endif()
