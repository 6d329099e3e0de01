#include <set>

#include "npzoo/engine/tape.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "tests/testing.h"

namespace npzoo {

namespace {

using namespace testing;

/// Names on the tape after the function of a case ran.
std::set<std::string> recorded_by(const GradcheckCase& one) {
  Tape tape;
  const Recording on(tape);
  std::vector<Tensor> inputs = one.inputs;
  for (Tensor& input : inputs)
    if (input.dtype() == DType::float64) tape.watch(input);
  one.function(inputs);
  std::set<std::string> names;
  for (std::size_t i = 0; i < tape.size(); ++i) names.emplace(tape.name(i));
  return names;
}

}  // namespace

TEST_CASE("op catalogue: the gradient cases reach every op, and `op_names` names every op that is recorded") {
  std::set<std::string> recorded;
  for (const OpFolder& folder : op_folders()) {
    CAPTURE(std::string(folder.name));
    GradcheckCases cases;
    folder.add_cases(cases);
    const std::string name = folder.name;
    const bool of_data_alone =
        name == "time_encoding" || name == "local_taylor" || name == "fourier_code";  // which take no gradient
    CHECK(cases.cases().empty() == of_data_alone);
    for (const GradcheckCase& one : cases.cases()) recorded.merge(recorded_by(one));
  }
  const std::set<std::string> listed(op_names().begin(), op_names().end());
  CHECK(listed.size() == op_names().size());
  std::vector<std::string> unchecked, unlisted;
  std::ranges::set_difference(listed, recorded, std::back_inserter(unchecked));
  std::ranges::set_difference(recorded, listed, std::back_inserter(unlisted));
  CHECK(unchecked == std::vector<std::string>{});
  CHECK(unlisted == std::vector<std::string>{});
  CHECK(listed.contains("masked_attention"));
}

}  // namespace npzoo
