# tuneonce_embed_text(TARGET FILE NAME HEADER): makes HEADER, which defines `constexpr char NAME[]` with the file's text,
# and adds its folder to the target's includes.
function(tuneonce_embed_text target file name header)
  get_filename_component(path ${file} ABSOLUTE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  file(CONFIGURE OUTPUT ${folder}/${header} @ONLY CONTENT
"// Generated from ${file}; do not edit.
#pragma once
inline constexpr char ${name}[] = R\"tuneonce_text(@text@)tuneonce_text\";
")
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
