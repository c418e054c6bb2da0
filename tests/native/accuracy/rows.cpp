#include <utility>

#include "accuracy/accuracy.hpp"

namespace accuracy {
namespace {

/// The list of all rows. It is created on first use, because the rows are global variables in other
/// files, which may be initialised before the variables of this file.
std::vector<Row>& all_rows() {
  static std::vector<Row> all;
  return all;
}

}  // namespace

const std::vector<Row>& rows() { return all_rows(); }

Row::Row(std::string operation, std::string range, std::string bound, void (*measure)(Case&))
    : operation_(std::move(operation)),
      range_(std::move(range)),
      bound_(std::move(bound)),
      measure_(measure) {
  all_rows().push_back(*this);
}

}  // namespace accuracy
