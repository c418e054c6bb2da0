# Installs the library, its headers, a CMake package and a pkg-config file. No installed file
# contains a path of the machine that built it, or refers to the header libraries that only attn's
# sources use.
include(CMakePackageConfigHelpers)

set(_attn_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attn)
set(_attn_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(
  TARGETS attn
  EXPORT attnTargets
  RUNTIME COMPONENT attn_Runtime
  LIBRARY COMPONENT attn_Runtime NAMELINK_COMPONENT attn_Development
  ARCHIVE COMPONENT attn_Development)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/core/include/attn ${CMAKE_CURRENT_BINARY_DIR}/include/attn
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT attn_Development
  FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT attn_Runtime)

install(EXPORT attnTargets NAMESPACE attn:: DESTINATION ${_attn_cmake_dir}
        COMPONENT attn_Development)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/attnConfig.cmake.in attnConfig.cmake
  INSTALL_DESTINATION ${_attn_cmake_dir}
  NO_SET_AND_CHECK_MACRO)
# Before version 1.0, each minor version may change the interface.
write_basic_package_version_file(attnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/attnConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/attnConfigVersion.cmake
        DESTINATION ${_attn_cmake_dir} COMPONENT attn_Development)

# The pkg-config file derives its prefix from its own location, unless the folders were given as
# absolute paths.
foreach(_attn_folder IN ITEMS INCLUDEDIR LIBDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${_attn_folder}})
    set(ATTN_PC_${_attn_folder} ${CMAKE_INSTALL_${_attn_folder}})
  else()
    set(ATTN_PC_${_attn_folder} "\${prefix}/${CMAKE_INSTALL_${_attn_folder}}")
  endif()
endforeach()
if(IS_ABSOLUTE ${_attn_pkgconfig_dir})
  set(ATTN_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH _attn_up /${_attn_pkgconfig_dir} /)
  set(ATTN_PC_PREFIX "\${pcfiledir}/${_attn_up}")
endif()
if(attn_type STREQUAL "STATIC_LIBRARY")
  set(ATTN_PC_CFLAGS " -DATTN_STATIC")
  set(ATTN_PC_LIBS "-lattn -pthread")
  if(WIN32)
    string(APPEND ATTN_PC_LIBS " -lsynchronization")
  endif()
else()
  set(ATTN_PC_LIBS "-lattn")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/attn.pc.in attn.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/attn.pc DESTINATION ${_attn_pkgconfig_dir}
        COMPONENT attn_Development)

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(
    uninstall COMMAND ${CMAKE_COMMAND} -DATTN_MANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt -P
                      ${CMAKE_CURRENT_LIST_DIR}/Uninstall.cmake)

  # `cpack --config <build folder>/CPackConfig.cmake` packs the installed files as .tar.gz and .deb.
  set(CPACK_GENERATOR TGZ DEB)
  set(CPACK_PACKAGE_CONTACT "the developers of attn")
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  include(CPack)
endif()
