// A Node module that runs attn's functions and the loops of machine_loops.hpp as jobs. It times
// each job itself, so that no JavaScript is included in the times. Only tests/bench uses it.
//
// A job keeps the addresses of arrays, not the arrays themselves, so the arrays must outlive the
// job.

#include <node_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "attn/attn.hpp"
#include "machine_loops.hpp"

namespace {

using Clock = std::chrono::steady_clock;

/// Runs a piece of work `repeats` times and returns the time taken, in seconds.
using Job = std::function<double(std::int64_t repeats)>;

template <class F>
Job repeated(F work) {
  return [work](std::int64_t repeats) {
    const Clock::time_point start = Clock::now();
    for (std::int64_t i = 0; i < repeats; ++i) work();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
}

/// Runs part(0) … part(num_threads − 1), each on its own thread. The clock starts when all threads
/// have started and stops when all have finished.
template <class F>
Job on_threads(int num_threads, F part) {
  return [=](std::int64_t repeats) {
    std::atomic<int> waiting{num_threads};
    const auto run = [&](int thread) {
      --waiting;
      while (waiting > 0) {
      }
      for (std::int64_t i = 0; i < repeats; ++i) part(thread);
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < num_threads; ++t) threads.emplace_back(run, t);
    while (waiting > 1) {
    }
    const Clock::time_point start = Clock::now();
    run(0);
    for (std::thread& thread : threads) thread.join();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
}

std::vector<const attn_bench::MachineLoops*> machine_loops() {
  std::vector<const attn_bench::MachineLoops*> result;
#if defined(__x86_64__)
  result = {attn_bench::avx512_bf16_loops(), attn_bench::avx512_loops(), attn_bench::avx2_loops()};
#endif
#if defined(ATTN_HAS_AMX)
  if (std::ranges::count(attn::supported_instruction_sets(), attn::InstructionSet::kAmxBf16) > 0) {
    result.insert(result.begin(), &attn_bench::amx_bf16_loops());
  }
#endif
  result.push_back(attn_bench::baseline_loops());
  std::erase(result, nullptr);
  return result;
}

// Node's side

struct JavaScriptError {};

/// The arguments of one call from JavaScript. If an argument has the wrong type, its accessor
/// throws JavaScriptError, and JavaScript receives Node's pending error.
class Arguments {
 public:
  Arguments(napi_env env, napi_callback_info info) : env_(env) {
    std::size_t count = kMax;
    check(napi_get_cb_info(env, info, &count, values_, nullptr, nullptr));
  }

  void check(napi_status status) const {
    if (status == napi_ok) return;
    bool is_pending = false;
    napi_is_exception_pending(env_, &is_pending);
    if (!is_pending) napi_throw_type_error(env_, nullptr, "the benchmark's module: bad argument");
    throw JavaScriptError{};
  }

  double number(int i) const {
    double result = 0;
    check(napi_get_value_double(env_, values_[i], &result));
    return result;
  }

  std::int64_t integer(int i) const { return static_cast<std::int64_t>(number(i)); }

  /// Returns the number in a property of an object, or `otherwise` if the object lacks the
  /// property.
  double number(int i, const char* name, double otherwise) const {
    bool is_there = false;
    check(napi_has_named_property(env_, values_[i], name, &is_there));
    if (!is_there) return otherwise;
    napi_value value = nullptr;
    check(napi_get_named_property(env_, values_[i], name, &value));
    double result = 0;
    check(napi_get_value_double(env_, value, &result));
    return result;
  }

  std::int64_t integer(int i, const char* name, std::int64_t otherwise = 0) const {
    return static_cast<std::int64_t>(number(i, name, static_cast<double>(otherwise)));
  }

  template <class T>
  struct Array {
    T* data;
    std::int64_t size;
  };

  Array<float> floats(int i) const { return array<float>(i, napi_float32_array); }
  /// A typed array of two-byte numbers.
  Array<std::uint16_t> words(int i) const { return array<std::uint16_t>(i, napi_uint16_array); }

  std::string text(int i) const {
    char buffer[64] = {};
    check(napi_get_value_string_utf8(env_, values_[i], buffer, sizeof buffer, nullptr));
    return buffer;
  }

  template <class T>
  T& object(int i) const {
    void* data = nullptr;
    check(napi_get_value_external(env_, values_[i], &data));
    return *static_cast<T*>(data);
  }

  napi_value value(int i) const { return values_[i]; }
  napi_env env() const { return env_; }

 private:
  template <class T>
  Array<T> array(int i, napi_typedarray_type wanted) const {
    napi_typedarray_type type{};
    std::size_t length = 0;
    void* data = nullptr;
    check(napi_get_typedarray_info(env_, values_[i], &type, &length, &data, nullptr, nullptr));
    if (type != wanted) check(napi_invalid_arg);
    return {static_cast<T*>(data), static_cast<std::int64_t>(length)};
  }

  static constexpr std::size_t kMax = 8;
  napi_env env_;
  napi_value values_[kMax] = {};
};

template <class T>
napi_value make_object(const Arguments& args, T object) {
  auto owned = std::make_unique<T>(std::move(object));
  napi_value result = nullptr;
  args.check(napi_create_external(
      args.env(), owned.get(), [](napi_env, void* data, void*) { delete static_cast<T*>(data); },
      nullptr, &result));
  owned.release();
  return result;
}

napi_value make_number(const Arguments& args, double value) {
  napi_value result = nullptr;
  args.check(napi_create_double(args.env(), value, &result));
  return result;
}

napi_value make_text(const Arguments& args, const char* text) {
  napi_value result = nullptr;
  args.check(napi_create_string_utf8(args.env(), text, NAPI_AUTO_LENGTH, &result));
  return result;
}

// Functions to time

using ContextPointer = std::shared_ptr<attn::Context>;

/// Arguments: (threads, instruction set or "")
napi_value context(const Arguments& args) {
  attn::ContextOptions options;
  options.num_threads = static_cast<int>(args.integer(0));
  if (const std::string name = args.text(1); !name.empty()) {
    options.instruction_set = attn::parse_instruction_set(name);
    if (!options.instruction_set) throw std::invalid_argument("no instruction set " + name);
  }
  return make_object(args, std::make_shared<attn::Context>(options));
}

napi_value instruction_set(const Arguments& args) {
  return make_text(args, attn::to_string(args.object<ContextPointer>(0)->instruction_set()));
}

/// The property `type`, a value of attn::ElementType.
attn::ElementType type_of(const Arguments& args) {
  return static_cast<attn::ElementType>(args.integer(1, "type"));
}

/// Arguments: (context, { batch, heads, kvHeads, queries, keys, dim, causal, left, right, type,
/// columnSums }, q, k, v, output); all four arrays contain floats, or two-byte numbers of the given
/// type. If columnSums is not 0, the function also computes how much each key is attended to.
napi_value attention(const Arguments& args) {
  const ContextPointer context = args.object<ContextPointer>(0);
  const std::int64_t batch = args.integer(1, "batch");
  const std::int64_t heads = args.integer(1, "heads");
  const std::int64_t kv_heads = args.integer(1, "kvHeads", heads);
  const std::int64_t queries = args.integer(1, "queries");
  const std::int64_t keys = args.integer(1, "keys");
  const std::int64_t dim = args.integer(1, "dim");
  const auto tensor = [&](int i, std::int64_t own_heads, std::int64_t tokens) -> attn::AnyTensor {
    const std::int64_t shape[] = {batch, own_heads, tokens, dim};
    switch (type_of(args)) {
      case attn::ElementType::kFloat16:
        return {reinterpret_cast<attn::Float16*>(args.words(i).data), shape};
      case attn::ElementType::kBFloat16:
        return {reinterpret_cast<attn::BFloat16*>(args.words(i).data), shape};
      default:
        return {args.floats(i).data, shape};
    }
  };
  const attn::AnyTensor q = tensor(2, heads, queries), k = tensor(3, kv_heads, keys),
                        v = tensor(4, kv_heads, keys), output = tensor(5, heads, queries);
  attn::AttentionOptions options;
  if (args.integer(1, "causal") != 0) options.causal = true;
  if (const std::int64_t left = args.integer(1, "left", -1); left >= 0) {
    options.window = attn::Window{.left = left, .right = args.integer(1, "right")};
  }
  std::shared_ptr<attn::OwnedTensor> sums;
  if (args.integer(1, "columnSums") != 0) {
    sums = std::make_shared<attn::OwnedTensor>(attn::OwnedTensor({batch, heads, keys}));
    options.column_sums = *sums;
  }
  // The job keeps the sums alive.
  return make_object<Job>(args, repeated([=] {
                            (void)sums;
                            attn::scaled_dot_product_attention(q, k, v, output, options, *context);
                          }));
}

/// Arguments: (context, { heads, keys, dim, each, separation }, q, k, v, output): self-attention
/// over documents of `each` tokens that follow one another. They are separated by a mask
/// (separation 0), by cu_seqlens (1) or by calls (2). Queries, keys, values and output are (tokens,
/// heads, dim).
napi_value documents(const Arguments& args) {
  const ContextPointer context = args.object<ContextPointer>(0);
  const std::int64_t heads = args.integer(1, "heads");
  const std::int64_t tokens = args.integer(1, "keys");
  const std::int64_t each = args.integer(1, "each");
  const auto rows = [&](int i) {
    return attn::Tensor(args.floats(i).data, {1, tokens, heads * args.integer(1, "dim")});
  };
  const attn::Tensor q = rows(2), k = rows(3), v = rows(4), output = rows(5);
  const auto attend = [=](std::int64_t begin, std::int64_t end,
                          const attn::AttentionOptions& options) {
    const auto part = [&](const attn::Tensor& x) {
      return x.slice(1, begin, end).split_heads(heads);
    };
    attn::scaled_dot_product_attention(part(q), part(k), part(v), part(output), options, *context);
  };
  switch (args.integer(1, "separation")) {
    case 0: {
      std::vector<std::uint8_t> mask;
      for (std::int64_t i = 0; i < tokens * tokens; ++i) {
        mask.push_back(i / tokens / each == i % tokens / each);
      }
      return make_object<Job>(args, repeated([=, mask = std::move(mask)] {
                                attend(0, tokens, {.mask = {mask.data(), {tokens, tokens}}});
                              }));
    }
    case 1: {
      std::vector<std::int64_t> starts;
      for (std::int64_t i = 0; i < tokens; i += each) starts.push_back(i);
      starts.push_back(tokens);
      return make_object<Job>(args, repeated([=, starts = std::move(starts)] {
                                attend(0, tokens, {.cu_seqlens = starts});
                              }));
    }
    default:
      return make_object<Job>(args, repeated([=] {
                                for (std::int64_t i = 0; i < tokens; i += each) {
                                  attend(i, std::min(i + each, tokens), {});
                                }
                              }));
  }
}

/// Arguments: (context, { heads, keys, dim, type }, q, k, v, output); one query over a cache of the
/// given type
napi_value decode(const Arguments& args) {
  const ContextPointer context = args.object<ContextPointer>(0);
  const std::int64_t heads = args.integer(1, "heads");
  const std::int64_t keys = args.integer(1, "keys");
  const std::int64_t dim = args.integer(1, "dim");
  const auto cache = std::make_shared<attn::KeyValueCache>(1, heads, dim, dim, keys, type_of(args));
  cache->append(attn::ConstTensor(args.floats(3).data, {1, heads, keys, dim}),
                attn::ConstTensor(args.floats(4).data, {1, heads, keys, dim}));
  const attn::ConstTensor q(args.floats(2).data, {1, heads, 1, dim});
  const attn::Tensor output(args.floats(5).data, {1, heads, 1, dim});
  return make_object<Job>(
      args, repeated([=] { attn::scaled_dot_product_attention(q, *cache, output, {}, *context); }));
}

/// Arguments: (to: bfloat16 numbers, from: floats)
napi_value narrow(const Arguments& args) {
  const auto [to, size] = args.words(0);
  const float* const from = args.floats(1).data;
  for (std::int64_t i = 0; i < size; ++i) to[i] = attn::BFloat16(from[i]).bits();
  return args.value(0);
}

/// Arguments: (to: floats, from: bfloat16 numbers)
napi_value widen(const Arguments& args) {
  const auto [to, size] = args.floats(0);
  const std::uint16_t* const from = args.words(1).data;
  for (std::int64_t i = 0; i < size; ++i) to[i] = attn::BFloat16::from_bits(from[i]);
  return args.value(0);
}

/// Arguments: (context, { batch, heads, queries, keys, dim, causal, withForward }, q, k, v,
/// gradient of the output, gradients of q, k and v in one array)
napi_value gradients(const Arguments& args) {
  const ContextPointer context = args.object<ContextPointer>(0);
  const std::int64_t heads = args.integer(1, "heads");
  const std::int64_t keys = args.integer(1, "keys");
  const std::int64_t dim = args.integer(1, "dim");
  const std::int64_t count = heads * keys * dim;
  const auto of = [=](float* data) { return attn::Tensor(data, {1, heads, keys, dim}); };
  const attn::ConstTensor q = of(args.floats(2).data), k = of(args.floats(3).data),
                          v = of(args.floats(4).data), output_gradient = of(args.floats(5).data);
  float* const to = args.floats(6).data;
  const auto output = std::make_shared<attn::OwnedTensor>(q.shape());
  const auto log_sum_exp =
      std::make_shared<attn::OwnedTensor>(std::vector<std::int64_t>{1, heads, keys});
  const bool causal = args.integer(1, "causal") != 0;
  const auto forward = [=] {
    attn::AttentionOptions options;
    options.causal = causal;
    options.log_sum_exp = log_sum_exp->view();
    attn::scaled_dot_product_attention(q, k, v, output->view(), options, *context);
  };
  const auto backward = [=] {
    attn::AttentionOptions options;
    options.causal = causal;
    attn::scaled_dot_product_attention_backward(
        q, k, v, output->view(), log_sum_exp->view(), output_gradient,
        {.query = of(to), .key = of(to + count), .value = of(to + 2 * count)}, options, *context);
  };
  if (args.integer(1, "withForward") == 0) {
    forward();
    return make_object<Job>(args, repeated(backward));
  }
  return make_object<Job>(args, repeated([=] {
                            forward();
                            backward();
                          }));
}

/// A pre-norm GPT, like one built from the modules of torch.nn.
struct Gpt {
  struct Shape {
    std::int64_t width, layers, heads, tokens, batch, vocabulary;
  };

  Gpt(const Shape& shape, ContextPointer used)
      : sizes(shape),
        context(std::move(used)),
        embedding({.num_embeddings = shape.vocabulary, .embedding_dim = shape.width}),
        positions(shape.tokens, shape.width),
        encoder({.layer = {.d_model = shape.width,
                           .num_heads = shape.heads,
                           .dim_feedforward = 4 * shape.width,
                           .activation = attn::Activation::kGelu,
                           .norm_first = true},
                 .num_layers = shape.layers,
                 .final_norm = true}),
        logits(shape.width, shape.vocabulary),
        norm(shape.width),
        output({shape.batch, shape.tokens, shape.width}),
        hidden({shape.batch, shape.tokens, 4 * shape.width}),
        scores({shape.batch, shape.tokens, shape.vocabulary}) {
    std::uint64_t seed = 0;
    for (const attn::NamedModule& part : parts()) part.module.initialize_xavier(++seed);
    const std::int64_t count = shape.batch * shape.tokens;
    attn::OwnedTensor drawn({2, count});
    attn::fill_uniform(drawn, {.seed = 1}, 0, 1);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto id = [&](int row) {
        return static_cast<std::int64_t>(drawn(row, i) * static_cast<float>(shape.vocabulary));
      };
      ids.push_back(id(0));
      targets.push_back(id(1));
    }
  }

  std::vector<attn::NamedModule> parts() {
    return {{"embedding", embedding},
            {"positions", positions},
            {"encoder", encoder},
            {"logits", logits}};
  }

  /// Number of trainable parameters.
  std::int64_t size() {
    std::int64_t result = 0;
    for (const attn::NamedModule& part : parts()) {
      for (const attn::NamedTensor& parameter : attn::state_dict(part.module)) {
        std::int64_t count = 1;
        for (const std::int64_t size : parameter.values.shape()) count *= size;
        result += count;
      }
    }
    return result;
  }

  void step() {
    tape.clear();
    const attn::Variable x =
        encoder.forward(positions.forward(tokens()), {.attention = {.causal = true}});
    tape.backward(attn::cross_entropy(logits.forward(x), targets));
    optimizer.step(tape);
  }

  /// Runs the parts of a training step that are neither products nor attention, on arrays of the
  /// same sizes. Call this function after a step.
  void elementwise() {
    rows.clear();
    attn::Variable x = rows.variable(output);
    for (std::int64_t layer = 0; layer < sizes.layers; ++layer) {
      x = x + norm.forward(x);
      x = x + norm.forward(x);
    }
    rows.backward(norm.forward(x), output);
    rows.clear();
    attn::Variable inner = rows.variable(hidden);
    for (std::int64_t layer = 0; layer < sizes.layers; ++layer) {
      inner = attn::apply_activation(inner, attn::Activation::kGelu);
    }
    rows.backward(inner, hidden);
    rows.clear();
    rows.backward(attn::cross_entropy(rows.variable(scores), targets));
    optimizer.step(tape);
  }

  attn::Variable tokens() {
    return embedding.forward(tape, {ids.data(), {sizes.batch, sizes.tokens}});
  }

  Shape sizes;
  ContextPointer context;
  attn::Embedding embedding;
  attn::LearnedPositionalEncoding positions;
  attn::TransformerEncoder encoder;
  attn::Linear logits;
  attn::LayerNorm norm;
  attn::OwnedTensor output, hidden, scores;
  std::vector<std::int64_t> ids, targets;
  attn::Tape tape{*context}, rows{*context};
  attn::AdamW optimizer{parts()};
};

/// Arguments: (context, { width, layers, heads, tokens, batch, vocabulary })
napi_value gpt(const Arguments& args) {
  const Gpt::Shape shape{args.integer(1, "width"), args.integer(1, "layers"),
                         args.integer(1, "heads"), args.integer(1, "tokens"),
                         args.integer(1, "batch"), args.integer(1, "vocabulary")};
  return make_object(args, std::make_shared<Gpt>(shape, args.object<ContextPointer>(0)));
}

/// Arguments: (gpt)
napi_value gpt_step(const Arguments& args) {
  return make_object<Job>(args,
                          repeated([gpt = args.object<std::shared_ptr<Gpt>>(0)] { gpt->step(); }));
}

/// Arguments: (gpt); run the job only after a step
napi_value gpt_elementwise(const Arguments& args) {
  return make_object<Job>(
      args, repeated([gpt = args.object<std::shared_ptr<Gpt>>(0)] { gpt->elementwise(); }));
}

/// Arguments: (gpt)
napi_value gpt_size(const Arguments& args) {
  return make_number(args, static_cast<double>(args.object<std::shared_ptr<Gpt>>(0)->size()));
}

/// Arguments: (context, { vocabulary, width, layers, heads, kvHeads, hidden, tokens }, logits).
/// Computes one token of a Llama model with random bfloat16 weights. The caches already contain
/// `tokens` tokens.
napi_value token(const Arguments& args) {
  const ContextPointer context = args.object<ContextPointer>(0);
  const std::int64_t vocabulary = args.integer(1, "vocabulary");
  const std::int64_t tokens = args.integer(1, "tokens");
  attn::LanguageModelOptions options;
  options.vocab_size = vocabulary;
  options.weights = attn::ElementType::kBFloat16;
  options.stack.num_layers = args.integer(1, "layers");
  options.stack.final_norm = true;
  attn::TransformerLayerOptions& layer = options.stack.layer;
  layer.d_model = args.integer(1, "width");
  layer.num_heads = args.integer(1, "heads");
  layer.num_kv_heads = args.integer(1, "kvHeads");
  layer.dim_feedforward = args.integer(1, "hidden");
  layer.activation = attn::Activation::kSilu;
  layer.gated_feed_forward = true;
  layer.rms_norm.emplace();
  layer.norm_first = true;
  layer.bias = false;
  layer.positions.rotary.emplace();
  layer.weights = attn::ElementType::kBFloat16;
  const auto model = std::make_shared<attn::LanguageModel>(options, *context);
  model->initialize_xavier(1);
  const auto caches =
      std::make_shared<std::vector<attn::KeyValueCache>>(model->make_caches(1, tokens + 1));
  const attn::Tensor logits(args.floats(2).data, {1, vocabulary});
  const auto forward = [=](const std::vector<std::int64_t>& ids) {
    model->forward(ids, logits, {.caches = *caches}, *context);
  };
  forward(std::vector<std::int64_t>(static_cast<std::size_t>(tokens), 1));
  return make_object<Job>(args, repeated([=] {
                            for (attn::KeyValueCache& cache : *caches) cache.truncate(tokens);
                            forward({2});
                          }));
}

/// Arguments: (context, { tokens, width, heads }, in_proj_weight, out_proj.weight, x, output)
napi_value layer(const Arguments& args) {
  const ContextPointer context = args.object<ContextPointer>(0);
  const std::int64_t tokens = args.integer(1, "tokens");
  const std::int64_t width = args.integer(1, "width");
  attn::MultiHeadAttentionOptions options;
  options.d_model = width;
  options.num_heads = args.integer(1, "heads");
  const auto mha = std::make_shared<attn::MultiHeadAttention>(options);
  mha->set_parameter("in_proj_weight", attn::ConstTensor(args.floats(2).data, {3 * width, width}));
  mha->set_parameter("out_proj.weight", attn::ConstTensor(args.floats(3).data, {width, width}));
  const attn::ConstTensor x(args.floats(4).data, {tokens, width});
  const attn::Tensor output(args.floats(5).data, {tokens, width});
  return make_object<Job>(args, repeated([=] { mha->forward(x, x, x, output, {}, *context); }));
}

/// Arguments: (context, { rows, depth, columns, type }, weight, x, output); the layer stores its
/// weight in the given type
napi_value linear(const Arguments& args) {
  const ContextPointer context = args.object<ContextPointer>(0);
  const std::int64_t rows = args.integer(1, "rows");
  const std::int64_t depth = args.integer(1, "depth");
  const std::int64_t columns = args.integer(1, "columns");
  const auto product = std::make_shared<attn::Linear>(depth, columns, false, type_of(args));
  product->set_parameter("weight", attn::ConstTensor(args.floats(2).data, {columns, depth}));
  const attn::ConstTensor x(args.floats(3).data, {rows, depth});
  const attn::Tensor output(args.floats(4).data, {rows, columns});
  return make_object<Job>(args, repeated([=] { product->forward(x, output, *context); }));
}

/// Arguments: (context, { rows, width }, output)
napi_value sinusoid(const Arguments& args) {
  const ContextPointer context = args.object<ContextPointer>(0);
  const attn::Tensor output(args.floats(2).data,
                            {args.integer(1, "rows"), args.integer(1, "width")});
  return make_object<Job>(args, repeated([=] { attn::sinusoidal_encoding(output, {}, *context); }));
}

napi_value num_machine_loops(const Arguments& args) {
  return make_number(args, static_cast<double>(machine_loops().size()));
}

/// Arguments: (loop index)
napi_value machine_loop_name(const Arguments& args) {
  return make_text(args, machine_loops().at(static_cast<std::size_t>(args.integer(0)))->name);
}

volatile float sink;

/// Arguments: (loop index, threads, floating-point operations per thread)
napi_value multiply_adds(const Arguments& args) {
  const auto* loops = machine_loops().at(static_cast<std::size_t>(args.integer(0)));
  const std::int64_t steps = args.integer(2) / loops->step_operations;
  return make_object(args, on_threads(static_cast<int>(args.integer(1)),
                                      [=](int) { sink = loops->multiply_add(steps, 0x1p-20F); }));
}

struct Part {
  std::int64_t begin, size;
};

Part part_of(std::int64_t size, int thread, int num_threads) {
  const std::int64_t begin = size * thread / num_threads;
  return {begin, size * (thread + 1) / num_threads - begin};
}

/// Arguments: (loop index, threads, array)
napi_value read(const Arguments& args) {
  const auto* loops = machine_loops().at(static_cast<std::size_t>(args.integer(0)));
  const int num_threads = static_cast<int>(args.integer(1));
  const auto [data, size] = args.floats(2);
  return make_object(args, on_threads(num_threads, [=, data = data, size = size](int thread) {
                       const Part part = part_of(size, thread, num_threads);
                       sink = loops->read(data + part.begin, part.size);
                     }));
}

/// Arguments: (loop index or −1 for the C library's memset, threads, array)
napi_value fill(const Arguments& args) {
  const std::int64_t loop = args.integer(0);
  const auto* loops = loop < 0 ? nullptr : machine_loops().at(static_cast<std::size_t>(loop));
  const int num_threads = static_cast<int>(args.integer(1));
  const auto [data, size] = args.floats(2);
  return make_object(args, on_threads(num_threads, [=, data = data, size = size](int thread) {
                       const Part part = part_of(size, thread, num_threads);
                       if (loops) {
                         loops->fill(data + part.begin, part.size, 1.0F);
                       } else {
                         std::memset(data + part.begin, 1,
                                     static_cast<std::size_t>(part.size) * sizeof(float));
                       }
                     }));
}

/// Arguments: (job, repeats); returns seconds
napi_value time(const Arguments& args) {
  return make_number(args, args.object<Job>(0)(args.integer(1)));
}

/// Arguments: (ArrayBuffer); returns the number of bytes from its start to the next multiple of 64
napi_value misalignment(const Arguments& args) {
  void* data = nullptr;
  std::size_t length = 0;
  args.check(napi_get_arraybuffer_info(args.env(), args.value(0), &data, &length));
  return make_number(args, static_cast<double>(-reinterpret_cast<std::uintptr_t>(data) % 64));
}

/// The value in a line of /proc/self/status, in bytes; −1 if the system does not have this line.
double process_status(const char* name) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (!file) return -1;
  double result = -1;
  char line[256];
  while (std::fgets(line, sizeof line, file)) {
    long long kilobytes = 0;
    if (std::strncmp(line, name, std::strlen(name)) == 0 &&
        std::sscanf(line + std::strlen(name), ": %lld kB", &kilobytes) == 1) {
      result = static_cast<double>(kilobytes) * 1024;
    }
  }
  std::fclose(file);
  return result;
}

/// Arguments: (job); returns the peak memory of the process while the job runs, in bytes above its
/// memory before the job, or −1 if the system does not report it
napi_value peak_memory(const Arguments& args) {
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  const bool was_reset = file && std::fputs("5", file) >= 0;
  if (file && std::fclose(file) != 0) return make_number(args, -1);
  const double before = process_status("VmRSS");
  if (!was_reset || before < 0) return make_number(args, -1);
  args.object<Job>(0)(1);
  return make_number(args, process_status("VmHWM") - before);
}

template <napi_value (*Function)(const Arguments&)>
napi_value call(napi_env env, napi_callback_info info) {
  try {
    return Function(Arguments(env, info));
  } catch (const JavaScriptError&) {
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return nullptr;
}

template <napi_value (*Function)(const Arguments&)>
void add(napi_env env, napi_value exports, const char* name) {
  napi_value function = nullptr;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, &call<Function>, nullptr, &function) ==
      napi_ok) {
    napi_set_named_property(env, exports, name, function);
  }
}

}  // namespace

NAPI_MODULE_INIT() {
  add<&context>(env, exports, "context");
  add<&instruction_set>(env, exports, "instructionSet");
  add<&attention>(env, exports, "attention");
  add<&documents>(env, exports, "documents");
  add<&decode>(env, exports, "decode");
  add<&narrow>(env, exports, "narrow");
  add<&widen>(env, exports, "widen");
  add<&layer>(env, exports, "layer");
  add<&linear>(env, exports, "linear");
  add<&token>(env, exports, "token");
  add<&gradients>(env, exports, "gradients");
  add<&gpt>(env, exports, "gpt");
  add<&gpt_step>(env, exports, "gptStep");
  add<&gpt_elementwise>(env, exports, "gptElementwise");
  add<&gpt_size>(env, exports, "gptSize");
  add<&sinusoid>(env, exports, "sinusoid");
  add<&num_machine_loops>(env, exports, "numMachineLoops");
  add<&machine_loop_name>(env, exports, "machineLoopName");
  add<&multiply_adds>(env, exports, "multiplyAdds");
  add<&read>(env, exports, "read");
  add<&fill>(env, exports, "fill");
  add<&time>(env, exports, "time");
  add<&misalignment>(env, exports, "misalignment");
  add<&peak_memory>(env, exports, "peakMemory");
  return exports;
}
