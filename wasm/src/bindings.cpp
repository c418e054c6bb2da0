// What JavaScript calls. Embind tells the names of the operations; a call itself passes three
// numbers, the operation, where its arguments lie and of what kinds they are, because values that
// go through Embind one by one cost more than a small attention does. Nothing is thrown across: a
// call returns whether it succeeded, and one that did not gives the code of its error, the
// argument, what it got and what it needs.

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "attn/error.hpp"
#include "attn/version.hpp"
#include "guarded.hpp"
#include "tensor_argument.hpp"
#include "validation.hpp"

namespace attn::wasm {
namespace {

/// Appends the name of an argument as JavaScript spells it: `valid_lens` is `validLens`.
void append_in_camel_case(std::string& text, std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool starts_word = name[i] == '_' && i + 1 < name.size();
    text += starts_word ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
  }
}

/// What the last call gave.
std::vector<std::string> given_texts;
std::vector<double> given_places;
Intermediates shown;

/// Why the last failed call failed, until JavaScript has copied it.
std::optional<Error> last_error;

/// Gives the code of an error, and what it says of the argument.
bool fail(Arguments results, const char* code, std::string_view argument, std::string_view got,
          std::string_view needs) noexcept {
  results.give(std::string_view(code));
  results.give(argument);
  results.give(got);
  results.give(needs);
  return false;
}

bool fail(Arguments results, const Error& error) noexcept {
  const Error& kept = last_error.emplace(error);
  return fail(results, to_string(kept.code()), kept.argument(), kept.got(), kept.needs());
}

bool fail_without_memory(Arguments results) noexcept {
  return fail(results, "out_of_memory", "memory", "too little memory", "more than WebAssembly has");
}

std::unique_ptr<Context> the_context;

void start(int num_threads) {
  validation::append_argument = append_in_camel_case;
  ContextOptions options;
  options.num_threads = num_threads;
  the_context = std::make_unique<Context>(options);
  // The loader has started a worker for each.
  if (the_context->num_threads() != options.num_threads) throw std::bad_alloc();
}

/// What malloc has handed out and not got back, with the headers of its blocks.
double bytes_in_use() { return static_cast<double>(static_cast<std::size_t>(mallinfo().uordblks)); }

/// The workers that the threads ran on are the loader's.
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

}  // namespace

Arguments::Strided Arguments::strided(Kind kind) noexcept {
  Strided read;
  read.rank = static_cast<int>(next(kind));
  if (read.rank < 0) return read;
  read.address = static_cast<Address>(*at_++);
  for (int i = 0; i < read.rank; ++i) read.shape[i] = static_cast<std::int64_t>(*at_++);
  for (int i = 0; i < read.rank; ++i) read.strides[i] = static_cast<std::int64_t>(*at_++);
  return read;
}

ConstAnyTensor Arguments::elements() {
  switch (choice<ElementType>()) {
    case ElementType::kFloat16:
      return tensor<const Float16>();
    case ElementType::kBFloat16:
      return tensor<const BFloat16>();
    default:
      return floats();
  }
}

AnyTensor Arguments::result_of_type() {
  switch (choice<ElementType>()) {
    case ElementType::kFloat16:
      return tensor<Float16>();
    case ElementType::kBFloat16:
      return tensor<BFloat16>();
    default:
      return result();
  }
}

void Arguments::give(std::vector<std::string> texts) {
  given_texts = std::move(texts);
  for (const std::string& text : given_texts) {
    given_places.push_back(static_cast<double>(reinterpret_cast<Address>(text.data())));
    given_places.push_back(static_cast<double>(text.size()));
  }
  give(static_cast<const void*>(given_places.data()));
  give(static_cast<double>(given_places.size()));
}

Intermediates* Arguments::intermediates() {
  std::vector<std::string> names(static_cast<std::size_t>(integer()));
  for (std::string& name : names) name = text();
  shown = Intermediates(std::move(names));
  return shown.names().empty() ? nullptr : &shown;
}

void Arguments::give_intermediates() {
  for (const std::string& name : shown.names()) {
    if (!shown.contains(name)) {
      given_places.insert(given_places.end(), {0, -1});
      continue;
    }
    const ConstTensor values = shown[name];
    given_places.push_back(static_cast<double>(reinterpret_cast<Address>(values.data())));
    given_places.push_back(values.rank());
    for (const std::int64_t size : values.shape()) {
      given_places.push_back(static_cast<double>(size));
    }
  }
  give(static_cast<const void*>(given_places.data()));
}

Context& context() { return *the_context; }

namespace {

/// Takes code, argument, what it got and what it needs; nothing if memory is short, because texts
/// need memory, too. Never destroyed.
emscripten::val& error_handler() {
  static auto& handler = *new emscripten::val(emscripten::val::undefined());
  return handler;
}

void set_error_handler(emscripten::val handler) { error_handler() = std::move(handler); }

bool failed = false;

void forget_error() { failed = false; }

}  // namespace

void report() {
  failed = true;
  try {
    throw;
  } catch (const Error& error) {
    error_handler()(std::string(to_string(error.code())), std::string(error.argument()),
                    std::string(error.got()), std::string(error.needs()));
  } catch (const std::bad_alloc&) {
    error_handler()();
  }
}

bool has_failed() noexcept { return failed; }

EMSCRIPTEN_BINDINGS(module) {
  emscripten::enum_<ElementType>("ElementType")
      .value("float32", ElementType::kFloat32)
      .value("float16", ElementType::kFloat16)
      .value("bfloat16", ElementType::kBFloat16);
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

extern "C" EMSCRIPTEN_KEEPALIVE bool attn_run(attn::wasm::Address operation,
                                              attn::wasm::Address address, std::uint32_t kinds) {
  using namespace attn;
  wasm::Arguments arguments(address);
  const wasm::Arguments results = arguments;
  wasm::given_texts = std::vector<std::string>();
  wasm::given_places = std::vector<double>();
  wasm::shown = Intermediates();
  try {
    reinterpret_cast<wasm::Operation>(operation)(arguments);
    if (arguments.kinds() == kinds) return true;
    return wasm::fail(results, "internal", "attn", "arguments that this module reads otherwise",
                      "the .wasm of the same version");
  } catch (const Error& error) {
    return wasm::fail(results, error);
  } catch (const std::bad_alloc&) {
    return wasm::fail_without_memory(results);
  } catch (...) {
    return wasm::fail(results, "internal", "attn", "a failure without a reason",
                      "a report of this bug");
  }
}
