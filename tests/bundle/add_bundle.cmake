# What tuneonce_add_bundle embeds, refuses and warns of. Run with -P, -DTUNEONCE_ROOT=the project's root, -DFOLDER=a new
# folder and -DCXX=a compiler.
cmake_minimum_required(VERSION 3.25)
include(${TUNEONCE_ROOT}/cmake/TuneonceBundle.cmake)
file(REMOVE_RECURSE ${FOLDER})

# Configures a project of two libraries, `first` and `second`, whose CMakeLists.txt ends with this text. Its output is in
# `output`, its build folder ${FOLDER}/build, new each time.
function(configure text)
  file(REMOVE_RECURSE ${FOLDER}/build)
  file(WRITE ${FOLDER}/use.cc "int Use() { return 0; }\n")
  file(WRITE ${FOLDER}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(add_bundle LANGUAGES CXX)
include(${TUNEONCE_ROOT}/cmake/TuneonceBundle.cmake)
add_library(first STATIC use.cc)
add_library(second STATIC use.cc)
${text}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${FOLDER} -B ${FOLDER}/build -DCMAKE_CXX_COMPILER=${CXX}
                          -DCMAKE_CXX_COMPILER_FORCED=ON
                  OUTPUT_VARIABLE out ERROR_VARIABLE out)
  string(REGEX REPLACE "[ \n]+" " " out "${out}")  # CMake breaks lines.
  set(output "${out}" PARENT_SCOPE)
endfunction()

function(expect_output part)
  string(FIND "${output}" "${part}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "expected '${part}' in: ${output}")
  endif()
endfunction()

# The manifest of a bundle with one artifact, as `field`s of JSON.
function(write_bundle folder artifact)
  file(WRITE ${FOLDER}/${folder}/manifest.json "{\"variants\": [{\"artifacts\": [{${artifact}}]}], ${ARGN}
                                                 \"name\": \"x\"}")
endfunction()

# Headers that no `headers` of the manifest names.
file(WRITE ${FOLDER}/loose/manifest.json [[{"variants": [
  {"headers": {"named.h": "src/named.h", "my/tile.h": "src/tile.h"}, "artifacts": [{"file": "src/k.cu"}]},
  {"headers": {"other.h": "src/other.h"}}]}]])
foreach(name named tile other loose deep/looser)
  file(WRITE ${FOLDER}/loose/src/${name}.h "")
endforeach()
file(WRITE ${FOLDER}/loose/src/k.cu [[#include <loose.h>
#include "named.h"
#include "my/tile.h"
#include "other.h"
#include "nowhere.h"
  # include "loose.h"  // beside it
#include "deep/looser.h"
// #include "tile.h"
]])
_tuneonce_read_json(${FOLDER}/loose/manifest.json manifest)
set(names "")
_tuneonce_json_strings("${manifest}" names variants * headers @)
set(loose "")
_tuneonce_loose_headers(${FOLDER}/loose src/k.cu "${names}" loose)
if(NOT "${loose}" STREQUAL "loose.h;deep/looser.h")
  message(FATAL_ERROR "loose headers: '${loose}'")
endif()
set(loose "")
_tuneonce_loose_headers(${FOLDER}/loose manifest.json "${names}" loose)
if(NOT "${loose}" STREQUAL "")
  message(FATAL_ERROR "a file that is no C++ has loose headers: '${loose}'")
endif()

# Files are found as JSON names them, and an axis may be called `file`.
write_bundle(json "\"config\": {\"file\": \"row\"}, \"file\":\n\t\"k\\u002ecc\"" "\"baseline\": {\"file\": \"row\"},")
file(WRITE ${FOLDER}/json/k.cc "")
file(WRITE ${FOLDER}/json/precompiled.json [[{"selections": {"file":
  "s"}, "withheld": [{"source": "gone.cc"}], "code": [{"config": {"file": "col"}, "file" : "c.so"}, {"refusal": "x"}]}]])
file(WRITE ${FOLDER}/json/s "")
file(WRITE ${FOLDER}/json/c.so "")
configure("tuneonce_add_bundle(first json)")
file(STRINGS ${FOLDER}/build/bundles/json_bundle.h entries REGEX "^ +{")
string(REGEX REPLACE " +{\"([^\"]+)\"[^;]+" "\\1" entries "${entries}")
if(NOT "${entries}" STREQUAL "manifest.json;precompiled.json;k.cc;c.so;s")
  message(FATAL_ERROR "embedded files: '${entries}': ${output}")
endif()
write_bundle(json "\"file\": \"k;k.cc\"")
configure("tuneonce_add_bundle(first json)")
expect_output("'k;k.cc' has one of ; \" \\ in its name: rename the file")
file(WRITE ${FOLDER}/json/manifest.json "{\"variants\"")
configure("tuneonce_add_bundle(first json)")
expect_output("json/manifest.json is not JSON: ")

# A folder whose name the header cannot declare.
foreach(folder my-scale 1scale a.b "a b")
  write_bundle("${folder}" "\"file\": \"manifest.json\"")
  configure("tuneonce_add_bundle(first \"${folder}\")")
  expect_output("${folder} is not a C++ identifier, but the header declares '${folder}_bundle': rename the folder")
endforeach()

# Two folders of one name make one header, unless they are the same folder. Each part of a program has its own bundle.
foreach(version v1 v2)
  write_bundle(${version}/scale "\"file\": \"k.cc\"")
  file(WRITE ${FOLDER}/${version}/scale/k.cc "// ${version}\n")
endforeach()
set(refused "both ${FOLDER}/v1/scale and ${FOLDER}/v2/scale would be scale_bundle.h: rename one of the folders")
configure("tuneonce_add_bundle(first v1/scale)\ntuneonce_add_bundle(first v2/scale)")
expect_output("${refused}")
configure("tuneonce_add_bundle(first v1/scale)\ntuneonce_add_bundle(second v2/scale)")
expect_output("${refused}")
file(WRITE ${FOLDER}/v2/CMakeLists.txt "tuneonce_add_bundle(first scale)\n")
configure("tuneonce_add_bundle(first v1/scale)\nadd_subdirectory(v2)")
expect_output("${refused}")
file(WRITE ${FOLDER}/v2/CMakeLists.txt "tuneonce_add_bundle(second scale)\n")
configure("tuneonce_add_bundle(first v1/scale)\ntuneonce_add_bundle(first v1/scale/)
tuneonce_add_bundle(second v1/../v1/scale)")
expect_output("Build files have been written")
file(WRITE ${FOLDER}/embedded.cc "#include \"scale_bundle.h\"
const unsigned char* TEXT() { return scale_bundle.files[1].bytes; }\n")
file(WRITE ${FOLDER}/main.cc "const unsigned char *First(), *Second();
int main() { return First()[4] == '1' && Second()[4] == '2' ? 0 : 1; }\n")
configure("tuneonce_add_bundle(first v1/scale)
add_subdirectory(v2)
foreach(library first second)
  target_sources(\${library} PRIVATE embedded.cc)
  target_compile_options(\${library} PRIVATE -std=c++17)
  target_include_directories(\${library} PRIVATE ${TUNEONCE_ROOT}/include)
endforeach()
target_compile_definitions(first PRIVATE TEXT=First)
target_compile_definitions(second PRIVATE TEXT=Second)
add_executable(program main.cc)
target_link_libraries(program first second)
add_custom_command(TARGET program POST_BUILD COMMAND program)")
expect_output("Build files have been written")
execute_process(COMMAND ${CMAKE_COMMAND} --build ${FOLDER}/build OUTPUT_VARIABLE output ERROR_VARIABLE output
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "each library has its own bundle: ${output}")
endif()
