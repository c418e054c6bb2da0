# Defines attn_nlohmann_json, the headers of nlohmann-json 3.11 or newer.
include(${CMAKE_CURRENT_LIST_DIR}/HeaderLibrary.cmake)

attn_header_library(attn_nlohmann_json nlohmann_json 3.11 nlohmannJson.js)
if(NOT TARGET attn_nlohmann_json)
  include(FetchContent)
  # The archive of headers: the repository is a hundred times as large. Without its CMakeLists.txt,
  # whose install rules would become attn's: hence the subfolder.
  FetchContent_Declare(
    nlohmann_json
    URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
    URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
    SOURCE_SUBDIR include)
  FetchContent_MakeAvailable(nlohmann_json)
  add_library(attn_nlohmann_json INTERFACE)
  target_include_directories(attn_nlohmann_json SYSTEM INTERFACE ${nlohmann_json_SOURCE_DIR}/include)
endif()
