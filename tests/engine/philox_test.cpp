#include "engine/cuda/philox.h"

#include "tests/testing.h"

using namespace npzoo;

TEST_CASE("philox: kernels of a GPU draw the words that the CPU draws") {
  Random random(13);
  const auto number = [&] {
    const auto block = random.next_block();
    return (std::uint64_t{block[0]} << 32) | block[1];
  };
  constexpr std::uint64_t kEnds[] = {0, 1, 0xffffffff, 0x100000000, ~std::uint64_t{0}};
  std::vector<RandomState> states;
  for (std::uint64_t seed : kEnds)
    for (std::uint64_t stream : kEnds)
      for (std::uint64_t offset : kEnds) states.push_back({seed, stream, offset});
  for (int i = 0; i < 1000; ++i) states.push_back({number(), number(), number()});
  bool equal = true;
  for (const RandomState& state : states) {
    std::uint32_t words[4];
    philox_words(state, words);
    equal &= std::ranges::equal(words, philox(state));
  }
  CHECK(equal);
}
