#include "attn/models/load_language_model.hpp"

#include <memory>
#include <utility>

#include "models/model_files.hpp"
#include "models/weight_writer.hpp"

namespace attn {
namespace {

const LanguageModelOptions& options_within(const LanguageModelDescription& description,
                                           std::optional<std::int64_t> max_memory) {
  require_memory(description, max_memory);
  return description.options;
}

}  // namespace

struct LanguageModelLoader::Impl {
  Impl(const LanguageModelDescription& description, std::optional<std::int64_t> max_memory,
       Context& context)
      : model(options_within(description, max_memory), context),
        writer(model, description.weights) {}

  LanguageModel model;
  WeightWriter writer;
};

LanguageModelLoader::LanguageModelLoader(const LanguageModelDescription& description,
                                         std::optional<std::int64_t> max_memory, Context& context)
    : impl_(std::make_unique<Impl>(description, max_memory, context)) {}
LanguageModelLoader::~LanguageModelLoader() = default;
LanguageModelLoader::LanguageModelLoader(LanguageModelLoader&&) noexcept = default;
LanguageModelLoader& LanguageModelLoader::operator=(LanguageModelLoader&&) noexcept = default;

void LanguageModelLoader::write(std::size_t source, std::span<const std::byte> bytes,
                                Context& context) {
  impl_->writer.write(source, bytes, context);
}

LanguageModel LanguageModelLoader::finish() {
  impl_->writer.require_complete();
  return std::move(impl_->model);
}

namespace {

LanguageModelDescription describe_files(const ModelFiles& files, const LanguageModelHints& hints) {
  return describe_language_model(files.read_headers(), files.config, hints, files.index);
}

}  // namespace

LanguageModelDescription describe_language_model(const std::string& path,
                                                 const LanguageModelHints& hints) {
  return describe_files(find_model_files(path), hints);
}

LanguageModel load_language_model(const std::string& path, const LoadLanguageModelOptions& options,
                                  Context& context) {
  const ModelFiles files = find_model_files(path);
  const LanguageModelDescription description = describe_files(files, options.hints);
  LanguageModelLoader loader(description, options.max_memory, context);
  const auto write = [&](std::size_t source, std::span<const std::byte> bytes) {
    loader.write(source, bytes, context);
  };
  files.read_weights(description.weights, write, options.on_progress);
  return loader.finish();
}

}  // namespace attn
