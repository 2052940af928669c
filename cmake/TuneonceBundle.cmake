# Appends to the list `out` the strings of a JSON text at a path of member names (ARGN). Where the path has *, every element
# or member is taken; a last @ takes the members' names. What the text does not have adds nothing.
function(_tuneonce_json_strings text out)
  set(path ${ARGN})
  set(found ${${out}})
  list(POP_FRONT path step)
  if(step MATCHES "^[*@]$")
    string(JSON count LENGTH "${text}")
    set(index 0)
    while(index LESS count)
      set(name ${index})
      if(NOT text MATCHES "^[ \t\r\n]*\\[")  # No array: the members have names.
        string(JSON name MEMBER "${text}" ${index})
      endif()
      if(step STREQUAL "*")
        string(JSON value GET "${text}" "${name}")
        _tuneonce_json_strings("${value}" found ${path})
      else()
        _tuneonce_json_strings("${name}" found)
      endif()
      math(EXPR index "${index} + 1")
    endwhile()
  elseif(step)
    string(JSON value ERROR_VARIABLE is_missing GET "${text}" ${step})
    if(NOT is_missing)
      _tuneonce_json_strings("${value}" found ${path})
    endif()
  elseif(text MATCHES "[;\"\\]")
    message(FATAL_ERROR "tuneonce_add_bundle: '${text}' has one of ; \" \\ in its name: rename the file to embed it")
  else()
    list(APPEND found "${text}")
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Reads a JSON file into `out`.
function(_tuneonce_read_json file out)
  file(READ ${file} text)
  string(JSON count ERROR_VARIABLE error LENGTH "${text}")
  if(error)
    message(FATAL_ERROR "tuneonce_add_bundle: ${file} is not JSON: ${error}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The files that lie beside the C++ file ${folder}/${file}, are included there as "header", and are not among `named`,
# appended to the list `out`. A guess by the text: the include may be one that is never compiled.
function(_tuneonce_loose_headers folder file named out)
  set(found "")
  if(file MATCHES "\\.(cu|cuh|cc|cpp|cxx|h|hpp)$")
    file(STRINGS ${folder}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*\"[^\"]+\"")
    get_filename_component(beside ${folder}/${file} DIRECTORY)
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^\"]*\"([^\"]+)\".*" "\\1" header "${line}")
      list(FIND named "${header}" index)
      if(index EQUAL -1 AND NOT IS_ABSOLUTE "${header}" AND EXISTS "${beside}/${header}")
        list(APPEND found ${header})
      endif()
    endforeach()
  endif()
  set(${out} ${${out}} ${found} PARENT_SCOPE)
endfunction()

# A file's bytes as they are written in a string literal of C++: \x00 to \xff.
function(_tuneonce_escaped_bytes file out)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" length)
  # Nine bytes in each step, as many as CMake has groups: most of the time is that of a step. What is left is shorter.
  math(EXPR whole "${length} / 18 * 18")
  string(SUBSTRING "${hex}" ${whole} -1 rest)
  string(SUBSTRING "${hex}" 0 ${whole} hex)
  string(REGEX REPLACE "(..)(..)(..)(..)(..)(..)(..)(..)(..)"
         "\\\\x\\1\\\\x\\2\\\\x\\3\\\\x\\4\\\\x\\5\\\\x\\6\\\\x\\7\\\\x\\8\\\\x\\9" bytes "${hex}")
  string(REGEX REPLACE "(..)" "\\\\x\\1" rest "${rest}")
  set(${out} "${bytes}${rest}" PARENT_SCOPE)
endfunction()

# tuneonce_add_bundle(TARGET FOLDER): embeds a bundle into a program or library. Its code includes "NAME_bundle.h" (NAME:
# the folder's) and gives tuneonce::TunedKernel::FromBundle the NAME_bundle that it declares. FOLDER may be the name of a
# bundle that tuneonce has (rms_norm, say), where the project has no such folder itself. What was compiled ahead (`tuneonce
# bundle compile`) is embedded with it, and then the program needs no compiler either.
function(tuneonce_add_bundle target folder)
  get_filename_component(path "${folder}" ABSOLUTE)
  get_filename_component(name "${path}" NAME)
  get_property(own GLOBAL PROPERTY tuneonce_bundles)
  if(NOT EXISTS ${path} AND NOT folder MATCHES "/" AND EXISTS ${own}/${folder}/manifest.json)
    set(path ${own}/${folder})
  endif()
  if(NOT EXISTS ${path}/manifest.json)
    message(FATAL_ERROR "tuneonce_add_bundle: ${path} is no bundle: it has no manifest.json; "
                        "and tuneonce has none of that name in ${own}")
  endif()
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "tuneonce_add_bundle: the folder name of ${path} is not a C++ identifier, but the header declares "
                        "'${name}_bundle': rename the folder, with letters, digits and _ only")
  endif()
  # The header is found by its name: in this directory's build folder, and on the target's include path.
  get_filename_component(real_path "${path}" REALPATH)
  foreach(scope DIRECTORY "TARGET;${target}")
    get_property(other ${scope} PROPERTY tuneonce_bundle_${name})
    if(other AND NOT other STREQUAL real_path)
      message(FATAL_ERROR "tuneonce_add_bundle: both ${other} and ${real_path} would be ${name}_bundle.h: rename one of "
                          "the folders")
    endif()
    set_property(${scope} PROPERTY tuneonce_bundle_${name} "${real_path}")
  endforeach()
  # What the manifest names, and the manifest.
  set(names "")
  set(withheld "")
  set(own_files manifest.json)
  set(header_names "")
  _tuneonce_read_json(${path}/manifest.json manifest)
  _tuneonce_json_strings("${manifest}" names variants * artifacts * file)
  _tuneonce_json_strings("${manifest}" names variants * headers *)
  _tuneonce_json_strings("${manifest}" header_names variants * headers @)
  if(EXISTS ${path}/precompiled.json)
    list(APPEND own_files precompiled.json)
    _tuneonce_read_json(${path}/precompiled.json precompiled)
    _tuneonce_json_strings("${precompiled}" names code * file)
    _tuneonce_json_strings("${precompiled}" names selections file)
    _tuneonce_json_strings("${precompiled}" withheld withheld * source)
  endif()
  list(REMOVE_DUPLICATES names)
  set(arrays "")
  set(entries "")
  set(index 0)
  foreach(file ${own_files} ${names})
    if(withheld AND NOT EXISTS ${path}/${file})
      continue()  # Its sources stayed where it was compiled.
    endif()
    if(NOT EXISTS ${path}/${file})
      message(FATAL_ERROR "tuneonce_add_bundle: ${path}/manifest.json names ${file}, which is not there")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path}/${file})
    set(loose "")
    _tuneonce_loose_headers(${path} ${file} "${header_names}" loose)
    foreach(header IN LISTS loose)
      message(WARNING "tuneonce_add_bundle: ${path}/${file} includes \"${header}\", which is not embedded: "
                      "name it in `headers` of manifest.json")
    endforeach()
    _tuneonce_escaped_bytes(${path}/${file} bytes)
    # As text, which a compiler reads many times faster than a list of numbers; the zero at its end is not the file's.
    string(APPEND arrays "inline constexpr unsigned char ${name}_file_${index}[] = \"${bytes}\";\n")
    string(APPEND entries "    {\"${file}\", ${name}_file_${index}, sizeof(${name}_file_${index}) - 1},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  # Programs may link libraries that embed different bundles of one name: their symbols must differ.
  string(SHA256 content "${entries}${arrays}")
  string(SUBSTRING ${content} 0 16 content)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/bundles)
  file(CONFIGURE OUTPUT ${out}/${name}_bundle.h @ONLY CONTENT
"// Generated from ${path}; do not edit.
#pragma once
#include \"tuneonce/bundle.h\"

inline namespace tuneonce_bundles_${content} {
@arrays@inline constexpr tuneonce::EmbeddedFile ${name}_files[] = {
@entries@};
inline constexpr tuneonce::EmbeddedBundle ${name}_bundle = {\"${name}\", ${name}_files, ${index}};
}  // inline namespace tuneonce_bundles_${content}
")
  target_include_directories(${target} PRIVATE ${out})
endfunction()
