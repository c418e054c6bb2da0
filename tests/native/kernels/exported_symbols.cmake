# cmake -DNM=<nm> -DOBJECTS=<object|object|...> -P exported_symbols.cmake
#
# Each object of core/src/kernels/isa/ may export one symbol, the getter of its table. If the object
# also exported an inline function, the linker could pick that copy for the whole program, and the
# program would then run it on machines without the instruction set. On aarch64, the functions that
# xsimd keeps in tables do no harm: each consists of one NEON instruction, which every aarch64
# machine has.
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
  message(FATAL_ERROR "a kernel object must export the getter of its table and nothing else")
endif()
message("each of ${names} exports only the getter of its table")
