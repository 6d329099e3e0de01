#include "npzoo/engine/module.h"

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct Leaf {
  Parameter weight{Tensor::zeros({2, 3})}, bias;

  void visit(ModuleVisitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
  }
};

struct Tree {
  Leaf first;
  std::vector<Leaf> layers{3};
  std::vector<Parameter> tokens{{Tensor::zeros({4})}, {Tensor::zeros({0})}};

  void visit(ModuleVisitor& visitor) {
    visitor("first", first);
    visitor("layers", layers);
    visitor("tokens", tokens);
  }
};

std::vector<std::string> names(const std::vector<NamedParameter>& parameters) {
  std::vector<std::string> result;
  for (const auto& [name, parameter] : parameters) result.push_back(name);
  return result;
}

}  // namespace

TEST_CASE("module: parameters are named by their place, in the order of the parts") {
  Tree tree;
  tree.layers[1].bias.value = Tensor::zeros({2});
  const auto parameters = named_parameters(tree);
  CHECK(names(parameters) == std::vector<std::string>{"first.weight", "layers.0.weight", "layers.1.weight",
                                                      "layers.1.bias", "layers.2.weight", "tokens.0", "tokens.1"});
  CHECK(parameters[3].parameter == &tree.layers[1].bias);
  CHECK(count_elements(parameters) == 4 * 6 + 2 + 4);
  CHECK(count_elements({}) == 0);
}

TEST_CASE("module: an undefined parameter is none") {
  Leaf leaf;
  CHECK(names(named_parameters(leaf)) == std::vector<std::string>{"weight"});
}
