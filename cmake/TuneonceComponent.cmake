# tuneonce_component(TARGET NAME): how an optional part beside the library is built and installed: a library of its own
# that links tuneonce, with the headers of components/NAME/include. Who wants it asks find_package for it.
function(tuneonce_component target name)
  tuneonce_compile_options(${target})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                             PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC tuneonce::tuneonce PRIVATE absl::strings)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR})
  if(TUNEONCE_INSTALL)
    install(TARGETS ${target} EXPORT tuneonce_${name}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
    install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/tuneonce DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
            COMPONENT development FILES_MATCHING PATTERN "*.h")
    install(EXPORT tuneonce_${name} NAMESPACE tuneonce:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tuneonce
            COMPONENT development)
  endif()
endfunction()
