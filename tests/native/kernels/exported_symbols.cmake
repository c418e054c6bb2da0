# cmake -DNM=<nm> -DOBJECTS=<object|object|...> -P exported_symbols.cmake
#
# Each object of core/src/kernels/isa/ may define one symbol that other objects see: the getter of its
# table. An inline function that was emitted as a shared symbol as well could be picked by the linker
# for the whole program, and then run on a machine without the instruction set. NEON is part of every
# aarch64 machine, so that the functions which xsimd keeps in tables there do no harm: each is one of its instructions.
string(REPLACE "|" ";" objects "${OBJECTS}")
set(failed FALSE)
foreach(object IN LISTS objects)
  get_filename_component(isa "${object}" NAME)
  string(REGEX REPLACE "\\.cpp\\.o(bj)?$" "" isa "${isa}")
  execute_process(COMMAND ${NM} --extern-only --defined-only --format=posix "${object}"
                  OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" symbols "${listing}")
  set(tables 0)
  foreach(symbol IN LISTS symbols)
    if(symbol MATCHES "^_ZN4attn7kernels[0-9]+${isa}_(training_)?tableEv T ")
      math(EXPR tables "${tables} + 1")
    elseif(isa MATCHES "^neon" AND symbol MATCHES "^_ZN5xsimd6kernel[^ ]* W ")
    elseif(NOT symbol MATCHES "^DW\\.ref\\.__gxx_personality_v0 ")  # the compiler's own
      message("${isa}: defines ${symbol}")
      set(failed TRUE)
    endif()
  endforeach()
  if(NOT tables EQUAL 1)
    message("${isa}: defines ${tables} tables")
    set(failed TRUE)
  endif()
  list(APPEND names ${isa})
endforeach()
if(failed OR NOT names)
  message(FATAL_ERROR "kernels define more than their table, or nothing")
endif()
message("each of ${names} defines its table only")
