// Runs a language model from its published files: a folder with the config.json and
// model.safetensors of GPT-2, Llama, Qwen, Gemma or a similar model. Tokens are read and printed as
// numbers, because attn has no tokenizer.

#include <attn/attn.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::puts("usage: run_language_model <folder or file.safetensors> <id> <id> …");
    return 2;
  }
  std::vector<std::int64_t> ids;
  for (int i = 2; i < argc; ++i) ids.push_back(std::atoll(argv[i]));
  try {
    // Reads only names and sizes, to find out which model the files contain and how much memory it
    // needs.
    const auto description = attn::describe_language_model(argv[1]);
    std::printf("%s, %.1f million weights, %.1f MB of memory\n", description.family.c_str(),
                static_cast<double>(description.num_parameters) / 1e6,
                static_cast<double>(description.memory) / 1e6);
    for (const auto& name : description.unused_tensors) std::printf("unused: %s\n", name.c_str());

    const attn::LanguageModel model = attn::load_language_model(argv[1]);

    // Which tokens does the last token attend to in the first head?
    const char* weights = "encoder.layers.0.self_attn.weights";
    attn::Intermediates shown({weights});
    model.forward(ids, {}, {.intermediates = &shown});
    const attn::ConstTensor first_head = shown[weights].select(0, 0);
    std::printf("attention of the last token:");
    for (std::int64_t j = 0; j < first_head.size(1); ++j) {
      std::printf(" %.2f", static_cast<double>(first_head(first_head.size(0) - 1, j)));
    }

    std::puts("");
    if (!model.options().causal || !model.options().output) return 0;

    // Does the prediction depend on the first token? Predict again without attention from the last
    // token to the first.
    const std::int64_t last = std::ssize(ids) - 1;
    attn::Interventions cut;
    for (std::size_t l = 0; l < model.encoder().layers().size(); ++l) {
      cut.knock_out("encoder.layers." + std::to_string(l) + ".self_attn", {}, last, 0);
    }

    // Does it depend on the first head? Silence the head: it gives its mean over all tokens.
    attn::Interventions silence;
    silence.ablate("encoder.layers.0.self_attn.head_output", attn::Ablation::kMean, {.head = 0});

    // What has the first layer's attention brought to the last token? Read another sentence, which
    // differs in the first token, and patch what this attention adds there into the first sentence.
    const char* added = "encoder.layers.0.attn_out";
    std::vector<std::int64_t> other_ids = ids;
    other_ids[0] = (other_ids[0] + 1) % model.options().vocab_size;
    attn::Intermediates other({added});
    model.forward(other_ids, {}, {.intermediates = &other});
    attn::Interventions patch;
    patch.patch(added, other[added].select(0, last), {.position = last});

    attn::OwnedTensor before({1, model.options().vocab_size}), after = before;
    model.forward(ids, before);
    const std::int64_t next = attn::choose_token(attn::ConstTensor(before).select(0, 0));
    std::printf("logit of token %lld: %.3f\n", static_cast<long long>(next),
                static_cast<double>(before(0, next)));
    for (const auto& [what, changes] :
         {std::pair{"without attention to the first token", &cut},
          std::pair{"without the first head", &silence}, std::pair{"patched", &patch}}) {
      model.forward(ids, after, {.interventions = changes});
      std::printf("  %s: %.3f\n", what, static_cast<double>(after(0, next)));
    }

    attn::GenerationOptions options{.max_new_tokens = 10};
    options.sampling = {.temperature = 0.8, .top_k = 40, .random = {.seed = 1}};
    std::printf("generated tokens:");
    for (const std::int64_t id : model.generate(ids, options)) {
      std::printf(" %lld", static_cast<long long>(id));
    }
    std::puts("");
  } catch (const attn::Error& error) {
    std::printf("%s: %s\n", attn::to_string(error.code()), error.what());
    return 1;
  }
}
