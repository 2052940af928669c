# Which headers tuneonce_add_bundle warns of. Run with -P, -DTUNEONCE_ROOT=the project's root and -DFOLDER=a new folder.
cmake_minimum_required(VERSION 3.25)
include(${TUNEONCE_ROOT}/cmake/TuneonceBundle.cmake)
file(REMOVE_RECURSE ${FOLDER})
file(WRITE ${FOLDER}/manifest.json [[{"variants": [
  {"headers": {"named.h": "src/named.h", "my/tile.h": "src/tile.h"}, "artifacts": [{"file": "src/k.cu"}]},
  {"headers": {"other.h": "src/other.h"}}]}]])
foreach(name named tile other loose deep/looser)
  file(WRITE ${FOLDER}/src/${name}.h "")
endforeach()
file(WRITE ${FOLDER}/src/k.cu [[#include <loose.h>
#include "named.h"
#include "my/tile.h"
#include "other.h"
#include "nowhere.h"
  # include "loose.h"  // beside it
#include "deep/looser.h"
// #include "tile.h"
]])
set(names "")
_tuneonce_headers(${FOLDER}/manifest.json files names)
set(loose "")
_tuneonce_loose_headers(${FOLDER} src/k.cu "${names}" loose)
if(NOT "${loose}" STREQUAL "loose.h;deep/looser.h")
  message(FATAL_ERROR "loose headers: '${loose}'")
endif()
set(loose "")
_tuneonce_loose_headers(${FOLDER} manifest.json "${names}" loose)
if(NOT "${loose}" STREQUAL "")
  message(FATAL_ERROR "a file that is no C++ has loose headers: '${loose}'")
endif()
