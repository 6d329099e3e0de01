#include "npzoo/models/blocks/chunks.h"

#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kChunk = 24;

using Pieces = std::vector<std::pair<std::int64_t, std::int64_t>>;

Pieces pieces(std::int64_t points, std::int64_t chunk) {
  Pieces found;
  for_chunks(points, chunk, [&](std::int64_t begin, std::int64_t end) { found.emplace_back(begin, end); });
  return found;
}

}  // namespace

TEST_CASE("chunks: they cover the points, and a recording sees them at once") {
  CHECK(pieces(0, 3) == Pieces{{0, 0}});
  CHECK(pieces(3, 3) == Pieces{{0, 3}});
  CHECK(pieces(7, 3) == Pieces{{0, 3}, {3, 6}, {6, 7}});
  CHECK(pieces(2 * kChunk, kChunk).size() == 2);
  for (const Device device : {Device::cpu, Device::cuda}) {
    const std::int64_t usual = chunk_points(device);
    CHECK(usual >= 4096);
    const ChunkPoints chunks(kChunk);
    CHECK(chunk_points(device) == kChunk);
  }
  Tape tape;
  const Recording on(tape);
  CHECK(pieces(7, 3) == Pieces{{0, 7}});
}

TEST_CASE("chunks: results in chunks equal results at once") {
  const ChunkPoints chunks(kChunk);
  for (const std::int64_t points : {std::int64_t{0}, std::int64_t{5}, kChunk, 2 * kChunk + 5}) {
    CAPTURE(points);
    const Tensor x = normal<float>({2, points, 3}, 1), y = normal<float>({2, points, 3}, 2);
    std::atomic<int> calls = 0;
    const Tensor twice = in_chunks(x, [&](const Tensor& part) {
      ++calls;
      return affine(part, 2, 1);
    });
    CHECK(calls == std::max<std::int64_t>(1, (points + kChunk - 1) / kChunk));
    CHECK(same_bits(twice, affine(x, 2, 1)));
    const Tensor sums = join_chunks(points, kChunk, [&](std::int64_t begin, std::int64_t end) {
      return add(points_between(x, begin, end), points_between(y, begin, end));
    });
    CHECK(same_bits(sums, add(x, y)));
  }
}

TEST_CASE("models: long contexts and many targets in chunks equal those at once") {
  const auto predict_one = [](const Model& model, const Task& task) {  // one function, where any are drawn
    Draws draws = some_draws();
    return query(model, *model.condition(context_of(task), draws, 1), task.xt);
  };
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const auto model = varied_model(small_model(name));
    const std::int64_t points = 2 * kChunk + 5;
    Task task = random_task(*model, {2, points, kChunk + 3});
    task.xt = slice(task.xt, 1, 0, 9);
    for (const bool ragged : {false, true}) {
      if (ragged) task.lengths = Tensor::from<std::int64_t>({2}, {points / 2 + 14, 3});
      const Moments whole = predict_one(*model, task);
      const ChunkPoints chunks(kChunk);
      CHECK(difference(predict_one(*model, task), whole) <= 1e-12);
    }
    if (predicts_jointly(name)) continue;
    const ChunkPoints chunks(kChunk);
    const Task many = random_task(*model, {1, 6, kChunk + 3});
    const auto state = condition(*model, {many.xc, many.yc, {}});
    const Moments all = query(*model, *state, many.xt);
    const Moments last = query(*model, *state, slice(many.xt, 1, kChunk - 2, kChunk + 3));
    CHECK(difference({slice(all.mean, 1, kChunk - 2, kChunk + 3), slice(all.std, 1, kChunk - 2, kChunk + 3)}, last) <=
          1e-12);
  }
}
