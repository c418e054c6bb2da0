// Starts, describes and ends the module, and reports its errors.

#include <emscripten/bind.h>
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "attn/error.hpp"
#include "attn/version.hpp"
#include "context.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"
#include "validation.hpp"

namespace attn::wasm {
namespace {

/// Appends an argument name in JavaScript's spelling: `valid_lens` becomes `validLens`.
void append_in_camel_case(std::string& text, std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool starts_word = name[i] == '_' && i + 1 < name.size();
    text += starts_word ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
  }
}

bool failed = false;
bool inside = false;

/// Embind allocates small objects outside of guarded functions, where an exception would close the
/// module. If memory runs out there, this block is freed to make space for the objects. Guarded
/// functions then fail until a new block can be allocated.
void* spare = nullptr;
constexpr std::size_t kMostSpareBytes = 1 << 16;
constexpr std::size_t kLeastSpareBytes = 1 << 12;

void give_spare() {
  if (inside || !spare) throw std::bad_alloc();
  std::free(std::exchange(spare, nullptr));
}

bool take_spare() {
  // Embind may now use part of the memory that the previous block occupied, so also try smaller
  // sizes.
  for (std::size_t bytes = kMostSpareBytes; !spare && bytes >= kLeastSpareBytes; bytes /= 2) {
    spare = std::malloc(bytes);
  }
  return spare != nullptr;
}

std::unique_ptr<Context> the_context;

void start(int num_threads) {
  validation::append_argument = append_in_camel_case;
  std::set_new_handler(give_spare);
  ContextOptions options;
  options.num_threads = num_threads;
  the_context = std::make_unique<Context>(options);
  // The loader has started one worker per thread, so the count must match.
  if (the_context->num_threads() != options.num_threads) throw std::bad_alloc();
}

/// Number of bytes that malloc() has allocated and that are not freed yet, including the headers of
/// the blocks.
double bytes_in_use() { return static_cast<double>(static_cast<std::size_t>(mallinfo().uordblks)); }

/// Ends the core's threads. Leaves the workers running, because the loader owns them.
void end_threads() { the_context.reset(); }

struct Description {
  int num_threads = 0;
  double bytes_in_use = 0;
  std::string instruction_set;
  std::string version;
};

Description describe() {
  return {the_context->num_threads(), bytes_in_use(),
          std::string(to_string(the_context->instruction_set())), ATTN_VERSION};
}

/// JavaScript's error handler, called with code, argument, got and needs. For an unexpected
/// exception it gets only the code. If memory has run out, it gets no arguments, because strings
/// need memory, too. Never destroyed.
emscripten::val& error_handler() {
  static auto& handler = *new emscripten::val(emscripten::val::undefined());
  return handler;
}

void set_error_handler(emscripten::val handler) { error_handler() = std::move(handler); }

void forget_error() { failed = false; }

}  // namespace

void report() noexcept {
  leave();
  failed = true;
  // Free the spare memory for the strings below. Emscripten does not check that there is enough
  // memory.
  std::free(std::exchange(spare, nullptr));
  const auto text = [](std::string_view whole) { return std::string(whole.substr(0, 4096)); };
  try {
    throw;
  } catch (const Error& error) {
    error_handler()(text(to_string(error.code())), text(error.argument()), text(error.got()),
                    text(error.needs()));
  } catch (const std::bad_alloc&) {
    error_handler()();
  } catch (...) {
    error_handler()(std::string("internal"));
  }
}

bool enter() noexcept {
  if (failed) return false;
  if (!take_spare()) {
    failed = true;
    error_handler()();
    return false;
  }
  inside = true;
  return true;
}

void leave() noexcept { inside = false; }

Context& context() { return *the_context; }

EMSCRIPTEN_BINDINGS(module) {
  emscripten::enum_<ElementType>("ElementType")
      .value("float32", ElementType::kFloat32)
      .value("float16", ElementType::kFloat16)
      .value("bfloat16", ElementType::kBFloat16)
      .value("int8", ElementType::kInt8);
  emscripten::class_<TensorArgument>("Tensor")
      .constructor()
      .function("reset", &TensorArgument::reset)
      .function("addDimension", &TensorArgument::add_dimension);
  emscripten::function("setErrorHandler", &set_error_handler);
  emscripten::function("forgetError", &forget_error);
  emscripten::value_object<Description>("Description")
      .field("numThreads", &Description::num_threads)
      .field("bytesInUse", &Description::bytes_in_use)
      .field("instructionSet", &Description::instruction_set)
      .field("version", &Description::version);
  emscripten::function("start", guarded<&start>);
  emscripten::function("describe", guarded<&describe>);
  emscripten::function("endThreads", &end_threads);
}

}  // namespace attn::wasm
