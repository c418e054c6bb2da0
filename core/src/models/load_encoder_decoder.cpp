#include "attn/models/load_encoder_decoder.hpp"

#include <memory>
#include <utility>

#include "models/model_files.hpp"
#include "models/weight_writer.hpp"

namespace attn {
namespace {

const EncoderDecoderOptions& options_within(const EncoderDecoderDescription& description,
                                            std::optional<std::int64_t> max_memory) {
  require_memory(description, max_memory);
  return description.options;
}

EncoderDecoderDescription describe_files(const ModelFiles& files,
                                         const std::optional<WeightFormat>& weights) {
  return describe_encoder_decoder(files.read_headers(), files.config, weights, files.index);
}

}  // namespace

struct EncoderDecoderLoader::Impl {
  Impl(const EncoderDecoderDescription& description, std::optional<std::int64_t> max_memory,
       Context& context)
      : model(options_within(description, max_memory), context),
        writer(model, description.weights) {}

  EncoderDecoderModel model;
  WeightWriter writer;
};

EncoderDecoderLoader::EncoderDecoderLoader(const EncoderDecoderDescription& description,
                                           std::optional<std::int64_t> max_memory, Context& context)
    : impl_(std::make_unique<Impl>(description, max_memory, context)) {}
EncoderDecoderLoader::~EncoderDecoderLoader() = default;
EncoderDecoderLoader::EncoderDecoderLoader(EncoderDecoderLoader&&) noexcept = default;
EncoderDecoderLoader& EncoderDecoderLoader::operator=(EncoderDecoderLoader&&) noexcept = default;

void EncoderDecoderLoader::write(std::size_t source, std::span<const std::byte> bytes,
                                 Context& context) {
  impl_->writer.write(source, bytes, context);
}

EncoderDecoderModel EncoderDecoderLoader::finish() {
  impl_->writer.require_complete();
  return std::move(impl_->model);
}

EncoderDecoderDescription describe_encoder_decoder(const std::string& path,
                                                   const std::optional<WeightFormat>& weights) {
  return describe_files(find_model_files(path), weights);
}

EncoderDecoderModel load_encoder_decoder(const std::string& path,
                                         const LoadEncoderDecoderOptions& options,
                                         Context& context) {
  const ModelFiles files = find_model_files(path);
  const EncoderDecoderDescription description = describe_files(files, options.weights);
  EncoderDecoderLoader loader(description, options.max_memory, context);
  const auto write = [&](std::size_t source, std::span<const std::byte> bytes) {
    loader.write(source, bytes, context);
  };
  files.read_weights(description.weights, write, options.on_progress);
  return loader.finish();
}

}  // namespace attn
