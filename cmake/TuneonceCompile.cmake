# How every target of this project is compiled.
function(tuneonce_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  # Whatever CMAKE_CXX_STANDARD of a project around this one is; its own targets keep theirs.
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  target_link_options(${target} PRIVATE LINKER:--exclude-libs,libstdc++.a)  # Why: lib/CMakeLists.txt
  if(CMAKE_SOURCE_DIR STREQUAL PROJECT_SOURCE_DIR)  # In another project warnings are that project's to choose.
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(${target} PRIVATE -Wthread-safety)  # Which lock guards what: lib/base/mutex.h.
    endif()
    if(TUNEONCE_WARNINGS_AS_ERRORS)
      target_compile_options(${target} PRIVATE -Werror)
    endif()
  endif()
  if(TUNEONCE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TUNEONCE_SANITIZE} -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${TUNEONCE_SANITIZE})
    find_program(TUNEONCE_LLD ld.lld)  # Links instrumented programs, of 100 MB each, in a fifth of ld's time.
    if(TUNEONCE_LLD)
      target_link_options(${target} PRIVATE -fuse-ld=lld)
    endif()
  endif()
endfunction()
