// Checks requirements that apply no matter how the library is linked. The headers must have the
// right version. A program must be able to call the compiled library, to catch its errors, and to
// derive from its classes.

#include <attn/attn.hpp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

/// A layer that a user has written.
class Scale : public attn::Module {
 public:
  Scale() { add_parameter("weight", {1}, attn::Initialization::ones()); }
};

bool throws_error_with_code() {
  try {
    std::vector<float> x(4);
    const attn::Tensor row(x, {2, 2}), column(x, {4, 1});
    attn::scaled_dot_product_attention(row, row, column, row);
  } catch (const attn::Error& error) {
    return error.code() == attn::ErrorCode::kShapeMismatch && error.argument() == "key" &&
           std::string(error.what()).starts_with("key: got ");
  }
  return false;
}

}  // namespace

int main() {
  const attn::OwnedTensor q({1, 2}, {1, 2}), k({1, 2}, {3, 4}), v({1, 2}, {5, 6});
  attn::OwnedTensor output({1, 2});
  attn::scaled_dot_product_attention(q, k, v, output);

  const bool attends = output == v;  // to its only key
  const bool throws = throws_error_with_code();
  const bool extends = attn::state_dict(Scale(), "my.").at(0).name == "my.weight";
  const bool versions_fit = std::strcmp(attn::version(), ATTN_VERSION) == 0;
  std::printf("attn %s: attends %d, throws %d, extends %d, versions fit %d\n", attn::version(),
              attends, throws, extends, versions_fit);
  return attends && throws && extends && versions_fit ? 0 : 1;
}
