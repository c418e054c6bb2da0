#include "layers/intermediate_writer.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "nearest_name.hpp"
#include "row_runs.hpp"
#include "validation.hpp"

namespace attn {

namespace {

[[noreturn]] void fail_unknown(const char* argument, std::string_view name,
                               const std::vector<std::string>& known, std::string_view needs) {
  if (known.empty()) {
    validation::fail(ErrorCode::kNotFound, argument, {"\"", name, "\""},
                     {"no names, because this layer has no such values"});
  }
  validation::fail(ErrorCode::kNotFound, argument, {"\"", name, "\""},
                   {needs, "; the nearest is \"", nearest_name(name, known), "\""});
}

/// Lists the names in quotes. If `beside` is given, lists only names with the same path as
/// `beside`.
std::string quote_names(const std::vector<std::string>& names, std::string_view beside = {}) {
  const std::size_t path = beside.rfind('.') + 1;
  std::string list;
  for (const std::string& name : names) {
    if (!beside.empty() &&
        (name.rfind('.') + 1 != path || !name.starts_with(beside.substr(0, path)))) {
      continue;
    }
    validation::append(list, {list.empty() ? "" : ", ", "\"", name, "\""});
  }
  return list;
}

void check_index(const char* argument, std::int64_t index, std::int64_t count,
                 std::string_view name) {
  if (index >= 0 && index < count) return;
  if (count == 0) validation::fail_value(argument, index, {"none; \"", name, "\" is empty"});
  validation::fail_value(argument, index, {"0 to ", count - 1, " in \"", name, "\""});
}

/// The index of the token dimension in a value with a batch: 2 in heads (B, H, N, D), otherwise 1.
/// The "output" of a norm of heads is (B, N, H, D).
int token_dimension(std::string_view name, int rank) {
  return rank == 4 && name != "output" ? 2 : 1;
}

/// Selects the part that an intervention changes. `values` has a batch dimension.
Tensor select_part(const Tensor& values, const ValuePart& part, int tokens) {
  const int heads = 3 - tokens;
  Tensor result = values;
  // The later dimension is selected first, so that the index of the earlier one stays the same.
  if (tokens > heads) {
    if (part.position) result = result.select(tokens, *part.position);
    if (part.head) result = result.select(heads, *part.head);
  } else {
    if (part.head) result = result.select(heads, *part.head);
    if (part.position) result = result.select(tokens, *part.position);
  }
  return result;
}

/// Replaces the values of `part` by their mean over all positions. If `part` selects a position,
/// replaces only the value there.
void replace_by_mean(const Tensor& values, const ValuePart& part, int tokens,
                     runtime::Execution& run) noexcept {
  const Tensor all = select_part(values, {.head = part.head}, tokens);
  const int dimension = part.head && tokens == 2 ? 1 : tokens;
  const std::int64_t count = all.size(dimension), stride = all.stride(dimension);
  const Tensor first = all.select(dimension, 0);
  for_all_row_runs(first.shape(), run, [&](std::int64_t begin, std::int64_t size) noexcept {
    for (std::int64_t i = begin; i < begin + size; ++i) {
      float* const column = element(first, i);
      double sum = 0;
      for (std::int64_t n = 0; n < count; ++n) sum += static_cast<double>(column[n * stride]);
      const auto mean = static_cast<float>(sum / static_cast<double>(count));
      if (part.position) {
        column[*part.position * stride] = mean;
      } else {
        for (std::int64_t n = 0; n < count; ++n) column[n * stride] = mean;
      }
    }
  });
}

/// Copies a mask that broadcasts to `shape`. Keys after its last column stay excluded.
void copy_mask(const ConstMask& mask, std::uint8_t* to, const std::array<std::int64_t, 4>& shape) {
  const auto& [batch, heads, queries, keys] = shape;
  const std::int64_t given = mask.rank() > 0 ? mask.size(-1) : 1;
  const std::int64_t cols = given > 1 ? std::min(given, keys) : keys;
  const ConstMask from = validation::broadcast("mask", mask, {batch, heads, queries, cols});
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < queries; ++i, to += keys) {
        for (std::int64_t j = 0; j < cols; ++j) to[j] = from(b, h, i, j) != 0 ? 1 : 0;
      }
    }
  }
}

}  // namespace

void check_no_cache(const Interventions* interventions, bool has_cache) {
  if (!has_cache || !interventions || interventions->empty()) return;
  validation::fail(ErrorCode::kUnsupported, "interventions", {"interventions and a cache"},
                   {"a call without a cache, with the whole sequence"});
}

IntermediateWriter::IntermediateWriter(const Module& module, Intermediates* target, bool batched,
                                       const Interventions* interventions) {
  if (interventions && interventions->empty()) interventions = nullptr;
  if (target && (!target->entries_.empty() || target->interventions_)) target_ = target;
  if (interventions && !target_) target_ = &own_.emplace();
  if (!target_ || target_->running_) return;
  for (Intermediates::Entry& entry : target_->entries_) entry.computed = false;
  if (!target_->entries_.empty()) {
    const std::vector<std::string> known = module.intermediate_names();
    for (const Intermediates::Entry& entry : target_->entries_) {
      if (std::ranges::find(known, entry.name) != known.end()) continue;
      fail_unknown(
          "intermediates", entry.name, known,
          validation::join({"one of the layer's ", validation::Name("intermediate_names"), "()"}));
    }
  }
  if (interventions) check_names(module, *interventions);
  target_->interventions_ = interventions;
  target_->batched_ = batched;
  outermost_ = target_->running_ = true;
}

void IntermediateWriter::check_names(const Module& module, const Interventions& interventions) {
  const std::vector<std::string> known = Interventions::names_of(module);
  for (const Interventions::Edit& edit : interventions.edits_) {
    if (std::ranges::find(known, edit.name) != known.end()) continue;
    fail_unknown(edit.ablation ? "ablate" : "patch", edit.name, known,
                 validation::join(
                     {"a value that a call can change, such as ",
                      known.empty() ? "" : quote_names(known, nearest_name(edit.name, known))}));
  }
  std::vector<std::string> attentions;
  constexpr std::string_view kSuffix = ".head_output";
  for (const std::string& name : known) {
    if (name == kSuffix.substr(1)) attentions.emplace_back();
    if (name.ends_with(kSuffix)) attentions.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  for (const Interventions::Knockout& knockout : interventions.knockouts_) {
    if (std::ranges::find(attentions, knockout.attention) != attentions.end()) continue;
    fail_unknown("knock_out", knockout.attention, attentions,
                 validation::join({"an attention layer: ", quote_names(attentions)}));
  }
}

IntermediateWriter::~IntermediateWriter() {
  if (!outermost_) return;
  target_->running_ = false;
  target_->interventions_ = nullptr;
  for (Intermediates::Entry& entry : target_->entries_) {
    if (!succeeded_) entry.computed = false;
    if (entry.computed && !target_->batched_) entry.shape.erase(entry.shape.begin());
  }
}

bool IntermediateWriter::is_at(std::string_view full, std::string_view name) const noexcept {
  const std::string& path = target_->path_;
  return full.size() == path.size() + name.size() && full.starts_with(path) && full.ends_with(name);
}

bool IntermediateWriter::is_changed(std::string_view name) const noexcept {
  const Interventions* interventions = target_->interventions_;
  return interventions && std::ranges::any_of(interventions->edits_, [&](const auto& edit) {
           return is_at(edit.name, name);
         });
}

Tensor IntermediateWriter::prepare_requested(std::string_view name, const AnyTensor& values) {
  check_changes(name, values);
  return allocate_requested(name, values.shape());
}

void IntermediateWriter::finish_value(std::string_view name, const Tensor& prepared,
                                      const AnyTensor& values, runtime::Execution& run) noexcept {
  change_prepared(name, values, run);
  fill(prepared, values, run);
}

void IntermediateWriter::change(std::string_view name, const Tensor& values,
                                runtime::Execution& run) {
  if (!target_) return;
  check_changes(name, values);
  change_checked(name, values, run);
}

void IntermediateWriter::pass(std::string_view name, const Tensor& values,
                              runtime::Execution& run) {
  if (target_) finish_value(name, prepare_requested(name, values), values, run);
}

void IntermediateWriter::check_changes(std::string_view name, const AnyTensor& values) const {
  if (!is_changed(name)) return;
  const int rank = values.rank(), tokens = token_dimension(name, rank);
  for (const auto& [full, part, ablation, numbers, shape] : target_->interventions_->edits_) {
    if (!is_at(full, name)) continue;
    if (values.type() != ElementType::kFloat32) {
      validation::fail(ErrorCode::kUnsupported, full, {"a change of an output that is not float32"},
                       {"an output of type float32"});
    }
    if (part.head) {
      if (rank < 4)
        validation::fail_value("head", *part.head, {"none; \"", full, "\" has no heads"});
      check_index("head", *part.head, values.size(3 - tokens), full);
    }
    if (rank < 3 && (part.position || ablation == Ablation::kMean)) {
      validation::fail_value(full, "a change that depends on positions",
                             {"one that does not; this value has no tokens"});
    }
    if (part.position) check_index("position", *part.position, values.size(tokens), full);
    if (ablation) continue;
    std::vector<std::int64_t> needed(values.shape().begin(), values.shape().end());
    const auto erase = [&](int dimension) { needed.erase(needed.begin() + dimension); };
    const int heads = 3 - tokens;
    if (part.head && heads > tokens) erase(heads);
    if (part.position) erase(tokens);
    if (part.head && heads < tokens) erase(heads);
    if (!target_->batched_) erase(0);
    validation::require_same_shape(full, shape, needed);
  }
}

void IntermediateWriter::change_checked(std::string_view name, const AnyTensor& values,
                                        runtime::Execution& run) const noexcept {
  if (!is_changed(name)) return;
  const Tensor whole = values.as<float>();
  const int tokens = token_dimension(name, whole.rank());
  for (const auto& [full, part, ablation, numbers, shape] : target_->interventions_->edits_) {
    if (!is_at(full, name) || std::ranges::find(whole.shape(), 0) != whole.shape().end()) continue;
    if (ablation == Ablation::kMean) {
      replace_by_mean(whole, part, tokens, run);
      continue;
    }
    const Tensor changed = select_part(whole, part, tokens);
    if (ablation) {
      const float zero = 0;
      const std::array<std::int64_t, Tensor::kMaxRank> none{};
      const auto rank = static_cast<std::size_t>(changed.rank());
      attn::copy(ConstTensor(&zero, changed.shape(), std::span(none).first(rank)), changed, run);
    } else {
      const ConstTensor patch(numbers.data(), shape);
      attn::copy(target_->batched_ ? patch : patch.unsqueeze(0), changed, run);
    }
  }
}

ConstMask IntermediateWriter::without_knockouts(const ConstMask& mask,
                                                const std::array<std::int64_t, 4>& shape,
                                                runtime::Execution& run) const {
  if (!target_->interventions_) return mask;
  const auto& [batch, heads, queries, keys] = shape;
  std::uint8_t* result = nullptr;
  const std::int64_t entries = mask.is_none() ? 1 : batch;
  std::string_view path = target_->path_;
  if (!path.empty()) path.remove_suffix(1);  // the dot
  for (const auto& [attention, head, query, key] : target_->interventions_->knockouts_) {
    if (attention != path) continue;
    if (head) check_index("head", *head, heads, path);
    check_index("query", query, queries, path);
    check_index("key", key, keys, path);
    if (!result) {
      const std::int64_t rows = validation::product("mask", {entries, heads, queries});
      const std::int64_t count = validation::product("mask", {rows, keys});
      result = run.take<std::uint8_t>(count, "mask");
      std::fill_n(result, count, std::uint8_t{mask.is_none()});
      if (!mask.is_none()) copy_mask(mask, result, shape);
    }
    for (std::int64_t b = 0; b < entries; ++b) {
      for (std::int64_t h = head.value_or(0); h < (head ? *head + 1 : heads); ++h) {
        result[((b * heads + h) * queries + query) * keys + key] = 0;
      }
    }
  }
  return result ? ConstMask(result, {entries, heads, queries, keys}) : mask;
}

Tensor IntermediateWriter::allocate_requested(std::string_view name,
                                              std::span<const std::int64_t> shape) {
  for (Intermediates::Entry& entry : target_->entries_) {
    if (!is_at(entry.name, name)) continue;
    const std::size_t count =
        validation::allocation(entry.name, validation::product(entry.name, shape), sizeof(float));
    entry.values.resize(count);
    entry.shape.assign(shape.begin(), shape.end());
    entry.computed = true;
    return Tensor(entry.values.data(), shape);
  }
  return {};
}

void IntermediateWriter::copy_requested(std::string_view name, const ConstAnyTensor& values,
                                        runtime::Execution& run) {
  fill(allocate_requested(name, values.shape()), values, run);
}

IntermediateWriter::Steps::Steps(IntermediateWriter& writer, std::int64_t count,
                                 std::string_view constant)
    : writer_(writer), count_(count), constant_(constant) {
  if (!writer) return;
  step_ = Intermediates(writer.target_->names());
  step_.running_ = true;
  all_.resize(step_.entries_.size());
}

void IntermediateWriter::Steps::store(std::int64_t t, runtime::Execution& run) {
  for (std::size_t i = 0; i < step_.entries_.size(); ++i) {
    const Intermediates::Entry& entry = step_.entries_[i];
    if (!entry.computed) continue;
    const ConstTensor values(entry.values.data(), entry.shape);
    if (entry.name == constant_) {
      if (t == 0) writer_.copy(entry.name, values, run);
      continue;
    }
    if (t == 0) {
      std::vector<std::int64_t> shape = entry.shape;
      shape[1] = count_;
      all_[i] = writer_.allocate(entry.name, shape);
    }
    attn::copy(values, all_[i].slice(1, t, t + 1), run);
  }
}

IntermediateWriter::Scope::Scope(Intermediates* target, std::string_view child,
                                 std::string_view number)
    : target_(target) {
  if (!target_) return;
  std::string& path = target_->path_;
  outer_ = path.size();
  std::string inner = path;
  if (!child.empty()) inner.append(child).append(".");
  if (!number.empty()) inner.append(number).append(".");
  path = std::move(inner);
}

IntermediateWriter::Scope::~Scope() {
  if (target_) target_->path_.resize(outer_);
}

}  // namespace attn
