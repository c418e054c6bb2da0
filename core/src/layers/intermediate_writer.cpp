#include "layers/intermediate_writer.hpp"

#include <algorithm>
#include <utility>

#include "nearest_name.hpp"
#include "validation.hpp"

namespace attn {

IntermediateWriter::IntermediateWriter(const Module& module, Intermediates* target, bool batched)
    : target_(target && !target->entries_.empty() ? target : nullptr), batched_(batched) {
  if (!target_ || target_->running_) return;
  for (Intermediates::Entry& entry : target_->entries_) entry.computed = false;
  const std::vector<std::string> known = module.intermediate_names();
  for (const Intermediates::Entry& entry : target_->entries_) {
    if (std::ranges::find(known, entry.name) != known.end()) continue;
    if (known.empty()) {
      validation::fail(ErrorCode::kNotFound, "intermediates", {"\"", entry.name, "\""},
                       {"no names, because this layer has no intermediates"});
    }
    validation::fail(ErrorCode::kNotFound, "intermediates", {"\"", entry.name, "\""},
                     {"one of the layer's ", validation::Name("intermediate_names"),
                      "(); the nearest is \"", nearest_name(entry.name, known), "\""});
  }
  outermost_ = target_->running_ = true;
}

IntermediateWriter::~IntermediateWriter() {
  if (!outermost_) return;
  target_->running_ = false;
  for (Intermediates::Entry& entry : target_->entries_) {
    if (!succeeded_) entry.computed = false;
    if (entry.computed && !batched_) entry.shape.erase(entry.shape.begin());
  }
}

Tensor IntermediateWriter::allocate_requested(std::string_view name,
                                              std::span<const std::int64_t> shape) {
  const std::string& path = target_->path_;
  for (Intermediates::Entry& entry : target_->entries_) {
    if (entry.name.size() != path.size() + name.size() || !entry.name.starts_with(path) ||
        !entry.name.ends_with(name)) {
      continue;
    }
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
