// What every way of linking has to give: the headers of this version, the compiled library, errors
// that can be caught, and a class of the library to derive from.

#include <attn/attn.hpp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

/// A user's own layer.
class Scale : public attn::Module {
 public:
  Scale() { add_parameter("weight", {1}, attn::Initialization::ones()); }
};

bool throws_error_with_code() {
  try {
    std::vector<float> x(4);
    const attn::Tensor row(x.data(), {2, 2}), column(x.data(), {4, 1});
    attn::scaled_dot_product_attention(row, row, column, row);
  } catch (const attn::Error& error) {
    return error.code() == attn::ErrorCode::kShapeMismatch &&
           std::string(error.what()).find("key") != std::string::npos;
  }
  return false;
}

}  // namespace

int main() {
  std::vector<float> q{1, 2}, k{3, 4}, v{5, 6}, output(2);
  const auto view = [](std::vector<float>& x) { return attn::Tensor(x.data(), {1, 2}); };
  attn::scaled_dot_product_attention(view(q), view(k), view(v), view(output));

  const bool attends = output == v;  // to its only key
  const bool throws = throws_error_with_code();
  const bool extends = attn::state_dict(Scale(), "my.").at(0).name == "my.weight";
  const bool versions_fit = std::strcmp(attn::version(), ATTN_VERSION) == 0;
  std::printf("attn %s: attends %d, throws %d, extends %d, versions fit %d\n", attn::version(),
              attends, throws, extends, versions_fit);
  return attends && throws && extends && versions_fit ? 0 : 1;
}
