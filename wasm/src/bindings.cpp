// What JavaScript calls. Embind tells the names of the operations; a call itself passes two
// numbers, the operation and where its arguments lie, because values that go through Embind one by
// one cost more than a small attention does. Nothing is thrown across: a call returns whether it
// succeeded, and one that did not gives the code and the message of its error.

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "attn/error.hpp"
#include "attn/version.hpp"

namespace attn::wasm {
namespace {

/// Whether a name with underscores is one of PyTorch's parameters, which have them in JavaScript,
/// too.
bool is_parameter(std::string_view name) {
  constexpr std::string_view kParts[] = {"_proj", "_ih_l", "_hh_l", "relative_attention_bias"};
  return name.ends_with("_attn") || std::ranges::any_of(kParts, [&](std::string_view part) {
           return name.find(part) != name.npos;
         });
}

/// A message with the names of arguments as JavaScript has them: `valid_lens` is `validLens`.
std::string in_camel_case(std::string_view message) {
  const auto is_lower = [](char c) { return 'a' <= c && c <= 'z'; };
  const auto is_part = [&](char c) {
    return is_lower(c | 0x20) || ('0' <= c && c <= '9') || c == '_';
  };
  std::string result;
  for (auto at = message.begin(); at != message.end();) {
    const auto end = std::find_if_not(at, message.end(), is_part);
    if (end == at) {
      result += *at++;
      continue;
    }
    const bool is_argument = is_lower(*at) && !is_parameter({at, end});
    for (; at != end; ++at) {
      const bool starts_word = is_argument && *at == '_' && at + 1 != end && is_lower(at[1]);
      result += starts_word ? static_cast<char>(*++at - 'a' + 'A') : *at;
    }
  }
  return result;
}

/// What the last call gave.
std::vector<std::string> given_texts;
std::vector<double> given_places;

/// Gives the code and the message of an error.
bool fail(Arguments results, const char* code, std::string_view message) noexcept {
  results.give(std::string_view(code));
  results.give(message);
  return false;
}

bool fail_without_memory(Arguments results) noexcept {
  return fail(results, to_string(ErrorCode::kOutOfMemory), "memory: WebAssembly's is exhausted");
}

/// What the last failed call was told.
std::string last_message;

bool fail(Arguments results, const Error& error, bool keeps_names) noexcept {
  try {
    last_message = keeps_names ? std::string(error.what()) : in_camel_case(error.what());
    return fail(results, to_string(error.code()), last_message);
  } catch (const std::bad_alloc&) {
    return fail_without_memory(results);
  }
}

std::unique_ptr<Context> the_context;

void start(Arguments& a) {
  ContextOptions options;
  options.num_threads = a.choice<int>();
  the_context = std::make_unique<Context>(options);
  // The loader has started a worker for each.
  if (the_context->num_threads() != options.num_threads) throw std::bad_alloc();
}

/// What malloc has handed out and not got back, with the headers of its blocks.
double bytes_in_use() { return static_cast<double>(static_cast<std::size_t>(mallinfo().uordblks)); }

/// Gives the number of threads, the bytes in use, the instruction set, and the version.
void describe(Arguments& a) {
  a.give(the_context->num_threads());
  a.give(bytes_in_use());
  a.give(std::string_view(to_string(the_context->instruction_set())));
  a.give(std::string_view(ATTN_VERSION));
}

}  // namespace

void Arguments::give(std::vector<std::string> texts) {
  given_texts = std::move(texts);
  for (const std::string& text : given_texts) {
    given_places.push_back(static_cast<double>(reinterpret_cast<Address>(text.data())));
    given_places.push_back(static_cast<double>(text.size()));
  }
  give(static_cast<const void*>(given_places.data()));
  give(static_cast<double>(given_places.size()));
}

Context& context() { return *the_context; }

EMSCRIPTEN_BINDINGS(module) {
  operation("start", &start);
  operation("describe", &describe);
}

}  // namespace attn::wasm

extern "C" EMSCRIPTEN_KEEPALIVE bool attn_run(attn::wasm::Address operation,
                                              attn::wasm::Address address) {
  using namespace attn;
  wasm::Arguments arguments(address);
  const wasm::Arguments results = arguments;
  wasm::given_texts = std::vector<std::string>();
  wasm::given_places = std::vector<double>();
  try {
    reinterpret_cast<wasm::Operation>(operation)(arguments);
    return true;
  } catch (const Error& error) {
    return wasm::fail(results, error, arguments.keeps_names());
  } catch (const std::bad_alloc&) {
    return wasm::fail_without_memory(results);
  } catch (...) {
    return wasm::fail(results, "internal", "the core failed without saying why");
  }
}

/// Ends the module: its threads first, then the runtime with the workers that they ran on.
extern "C" EMSCRIPTEN_KEEPALIVE void attn_exit() {
  attn::wasm::the_context.reset();
  emscripten_force_exit(0);
}
