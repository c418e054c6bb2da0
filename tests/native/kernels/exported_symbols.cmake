# cmake -DNM=<nm> -DOBJECTS=<object|object|...> -P exported_symbols.cmake
#
# Each object of core/src/kernels/isa/ may define only one symbol that other objects see: the getter
# of its table. If an inline function were also emitted as a shared symbol, the linker could choose
# it for the whole program, which could then run it on a machine without the instruction set. On
# aarch64, the functions that xsimd keeps in tables are allowed: each of them executes one NEON
# instruction, and every aarch64 machine has NEON.
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
  message(FATAL_ERROR "some kernels define symbols other than their table, or there are no kernels")
endif()
message("each of ${names} defines only its table")
