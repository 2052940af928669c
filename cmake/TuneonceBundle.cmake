# tuneonce_add_bundle(TARGET FOLDER): embeds a bundle into a program or library. Its code includes "NAME_bundle.h" (NAME:
# the folder's) and gives tuneonce::TunedKernel::FromBundle the NAME_bundle that it declares. FOLDER may be the name of a
# bundle that tuneonce has (rms_norm, say), where the project has no such folder itself.
function(tuneonce_add_bundle target folder)
  get_filename_component(path ${folder} ABSOLUTE)
  get_filename_component(name ${path} NAME)
  get_property(own GLOBAL PROPERTY tuneonce_bundles)
  if(NOT EXISTS ${path} AND NOT folder MATCHES "/" AND EXISTS ${own}/${folder}/manifest.json)
    set(path ${own}/${folder})
  endif()
  if(NOT EXISTS ${path}/manifest.json)
    message(FATAL_ERROR "tuneonce_add_bundle: ${path} is no bundle: it has no manifest.json; "
                        "and tuneonce has none of that name in ${own}")
  endif()
  # What the manifest names, and the manifest.
  file(READ ${path}/manifest.json manifest)
  string(REGEX MATCHALL "\"file\" *: *\"[^\"]+\"" names "${manifest}")
  list(TRANSFORM names REPLACE "\"file\" *: *\"([^\"]+)\"" "\\1")
  list(REMOVE_DUPLICATES names)
  set(arrays "")
  set(entries "")
  set(index 0)
  foreach(file manifest.json ${names})
    if(NOT EXISTS ${path}/${file})
      message(FATAL_ERROR "tuneonce_add_bundle: ${path}/manifest.json names ${file}, which is not there")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path}/${file})
    file(READ ${path}/${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND arrays "inline constexpr unsigned char ${name}_file_${index}[] = {${bytes}};\n")
    string(APPEND entries "    {\"${file}\", ${name}_file_${index}, sizeof(${name}_file_${index})},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/bundles)
  file(CONFIGURE OUTPUT ${out}/${name}_bundle.h @ONLY CONTENT
"// Generated from ${path}; do not edit.
#pragma once
#include \"tuneonce/bundle.h\"

namespace tuneonce_bundles {
@arrays@inline constexpr tuneonce::EmbeddedFile ${name}_files[] = {
@entries@};
}  // namespace tuneonce_bundles

inline constexpr tuneonce::EmbeddedBundle ${name}_bundle = {\"${name}\", tuneonce_bundles::${name}_files, ${index}};
")
  target_include_directories(${target} PRIVATE ${out})
endfunction()
