# Removes the files that the last installation from this build folder wrote:
# cmake --build <folder> --target uninstall
if(NOT EXISTS ${ATTN_MANIFEST})
  message(FATAL_ERROR "Nothing to uninstall: attn was not installed from this build folder.")
endif()
file(STRINGS ${ATTN_MANIFEST} files)
file(REMOVE ${files})
file(REMOVE ${ATTN_MANIFEST})
list(LENGTH files count)
message(STATUS "Removed ${count} files")
