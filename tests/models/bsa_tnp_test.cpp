#include "npzoo/models/tnp/bsa_tnp.h"

#include "npzoo/models/predictions/independent.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr TaskSize kSize{3, 9, 6};

/// A small model of these dimensions; `changes` are further parameters.
ModelSpec spec(std::int64_t dim_x, const ModelConfig& changes) {
  ModelConfig config{{"dim_x", dim_x},
                     {"dim_y", std::int64_t{2}},
                     {"d_model", std::int64_t{8}},
                     {"attention_width", std::int64_t{12}},
                     {"dim_feedforward", std::int64_t{10}},
                     {"nhead", std::int64_t{2}},
                     {"num_layers", std::int64_t{2}},
                     {"embed_all", std::string("10 9")},
                     {"head", std::string("7")},
                     {"basis", std::int64_t{3}},
                     {"min_std", 0.1}};
  for (const auto& [key, value] : changes) config[key] = value;
  return {"bsa-tnp", config};
}

std::string word(const char* text) { return text; }

/// Moves columns [begin, end) of all inputs.
Task moved(const Task& task, std::int64_t begin, std::int64_t end, double by) {
  const std::int64_t dims = task.xc.dim(2);
  Tensor shift = Tensor::zeros({1, 1, dims}, DType::float64, Device::cpu);
  std::fill(shift.data<double>() + begin, shift.data<double>() + end, by);
  shift = shift.to(default_device());
  return {add(task.xc, shift), task.yc, add(task.xt, shift), task.yt, task.lengths};
}

std::string message(std::int64_t dim_x, const ModelConfig& changes) {
  return error_of([&] { make_model(spec(dim_x, changes)); });
}

}  // namespace

TEST_CASE("bsa-tnp: shifts of places that are not embedded change nothing, others do") {
  for (const char* kind : {"scalar", "rbf", "tisa"}) {
    const auto model = varied_model(spec(2, {{"bias_s", word(kind)}}));
    const Task task = random_task(*model, kSize);
    CHECK(difference(predict(*model, moved(task, 0, 2, 8)), predict(*model, task)) <= kRounding);
    CHECK(difference(predict(*model, moved(task, 0, 1, 8)), predict(*model, task)) <= kRounding);
  }
  const auto embedded = varied_model(spec(2, {{"bias_s", word("rbf")}, {"embed", word("s")}}));
  const Task task = random_task(*embedded, kSize);
  CHECK(difference(predict(*embedded, moved(task, 0, 2, 8)), predict(*embedded, task)) > 1e-3);
}

TEST_CASE("bsa-tnp: each group has its own columns, bias and place in tokens") {
  // Two fixed effects, one place, one time.
  const ModelConfig groups{{"width_x", std::int64_t{2}},
                           {"width_t", std::int64_t{1}},
                           {"embed", word("x")},
                           {"bias_s", word("tisa")},
                           {"bias_t", word("scalar")}};
  const auto model = varied_model(spec(4, groups));
  const Task task = random_task(*model, kSize);
  const Moments before = predict(*model, task);
  CHECK(difference(predict(*model, moved(task, 0, 2, 1)), before) > 1e-3);
  CHECK(difference(predict(*model, moved(task, 2, 3, 8)), before) <= kRounding);
  CHECK(difference(predict(*model, moved(task, 3, 4, 8)), before) <= kRounding);
  // Distances of places, and of times, matter.
  for (const std::int64_t column : {2, 3}) {
    Tensor scale = Tensor::full({1, 1, 4}, 1, DType::float64, Device::cpu);
    scale.data<double>()[column] = 2;
    scale = scale.to(default_device());
    const Task wider{mul(task.xc, scale), task.yc, mul(task.xt, scale), task.yt, {}};
    CHECK(difference(predict(*model, wider), before) > 1e-4);
  }
}

TEST_CASE("bsa-tnp: geodesic biases know the sphere") {
  for (const char* kind : {"geodesic", "geodesic-rbf"}) {
    const auto model = varied_model(spec(2, {{"bias_s", word(kind)}}));
    const Task task = random_task(*model, kSize);
    const Moments before = predict(*model, task);
    CHECK(difference(predict(*model, moved(task, 0, 1, 360)), before) <= 1e-10);
    CHECK(difference(predict(*model, moved(task, 0, 1, 77)), before) <= 1e-10);  // turns the sphere
    CHECK(difference(predict(*model, moved(task, 1, 2, 70)), before) > 1e-6);
  }
}

TEST_CASE("bsa-tnp: chunks of the scan change 1e-9 at most, padded context rows nothing") {
  const auto of_chunk = [](std::int64_t chunk) {
    return varied_model(spec(2, {{"bias_s", word("rbf")}, {"scan_chunk", chunk}}));
  };
  const auto model = of_chunk(1024);
  const Task task = random_task(*model, kSize);
  const Moments before = predict(*model, task);
  for (const std::int64_t chunk : {0, 1, 3, 4, 9}) {
    const double off = difference(predict(*of_chunk(chunk), task), before);
    CHECK(off <= 1e-9);
    CHECK((off > 0) == (chunk != 9));
  }
  const Task clean = padded(task, {9, 4, 0}, 0);
  for (const double padding : {kNaN, 1e30})
    CHECK(difference(predict(*model, padded(task, {9, 4, 0}, padding)), predict(*model, clean)) == 0);
  const Task alone{
      slice(row(task.xc, 1), 1, 0, 4), slice(row(task.yc, 1), 1, 0, 4), row(task.xt, 1), row(task.yt, 1), {}};
  CHECK(difference(predict(*model, alone).mean, row(predict(*model, clean).mean, 1)) <= kRounding);
}

TEST_CASE("bsa-tnp: without a bias its block is TNP-KR's") {
  BiasedBlockConfig config{.width = 8, .attention_width = 12, .hidden = 10, .heads = 3, .scan_chunk = 0};
  config.biases.push_back({"s", 0, 2, BiasForm::rbf, DistanceKind::euclidean, 2});
  Initializer init(Framework::flax_orthogonal, {.seed = 4});
  BiasedBlock block(config, init);
  for (const auto& [name, parameter] : named_tensors(block))
    parameter->value = name.starts_with("bias") && name.ends_with("a")
                           ? Tensor::zeros(parameter->value.shape(), DType::float64)
                           : normal<double>(parameter->value.shape(), name.size());
  block.layer.contract.weight.value = Tensor::zeros({8, 10}, DType::float64);  // TNP-KR has another activation
  TransformerLayer plain = block.layer;
  // TNP-KR's layer of this width scales scores by all channels instead of those of a head.
  for (Parameter* p : {&plain.attention.query.weight, &plain.attention.query.bias})
    p->value = affine(p->value, std::sqrt(3.0), 0);
  const Tensor context = normal<double>({2, 7, 8}, 1), targets = normal<double>({2, 5, 8}, 2),
               xc = normal<double>({2, 7, 2}, 3), xt = normal<double>({2, 5, 2}, 4);
  const auto keys = block.keys_values(context);
  for (const PrefixMask& mask : {PrefixMask::all(), PrefixMask::first(4)}) {
    CHECK(difference(block(targets, xt, keys, xc, mask), plain(targets, keys, mask)) <= kRounding);
    CHECK(difference(block(context, xc, keys, xc, mask), plain(context, keys, mask)) <= kRounding);
  }
  block.biases[0].a.value = Tensor::full({3, 2}, 1, DType::float64);
  CHECK(difference(block(targets, xt, keys, xc, PrefixMask::all()), plain(targets, keys, PrefixMask::all())) > 1e-3);
}

TEST_CASE("bsa-tnp: a block that is used twice has its weights once") {
  const auto once = varied_model(spec(1, {{"bias_s", word("rbf")}, {"num_layers", std::int64_t{1}}})),
             twice = varied_model(
                 spec(1, {{"bias_s", word("rbf")}, {"num_layers", std::int64_t{1}}, {"num_reps", std::int64_t{2}}}));
  CHECK(count_elements(named_parameters(*once)) == count_elements(named_parameters(*twice)));
  const Task task = random_task(*once, kSize);
  const auto& model = dynamic_cast<const BsaTnp&>(*twice);
  const auto states = model.block_states(context_of(task), task.xt);
  REQUIRE(states.size() == 2);
  const KeysValues keys = model.blocks[0].keys_values(states[0].context);
  CHECK(difference(model.blocks[0](states[0].targets, task.xt, keys, task.xc, PrefixMask::all()), states[1].targets) ==
        0);
  CHECK(difference(predict(*once, task), predict(*twice, task)) > 1e-3);
}

TEST_CASE("bsa-tnp: memory does not grow with the product of queries and keys") {
  const auto model = make_model(spec(2, {{"bias_s", word("rbf")}}));
  const ChunkPoints chunks(256);
  const auto bytes = [&](std::int64_t context, std::int64_t targets) {
    const Task task = random_task(*model, {1, context, targets}, DType::float32);
    return peak_bytes([&] { predict(*model, task); });
  };
  const std::int64_t small = bytes(500, 250), large = bytes(4'000, 2'000);
  CHECK(large <= 10 * small);
  CHECK(large < std::int64_t{4} * 4'000 * 2'000);  // the array of pairs, in float32
}

TEST_CASE("bsa-tnp: messages") {
  CHECK(message(2, {{"bias_s", word("rbf")}}) == "no error");
  CHECK(message(2, {{"width_x", std::int64_t{1}}, {"width_s", std::int64_t{2}}}) ==
        "[bsa-tnp] width_x 1, width_s 2 and width_t 0 found, expected the sum 2");
  CHECK(message(2, {{"embed", word("s u")}}) ==
        "[bsa-tnp] embed is \"s u\", expected x, s and t at most, between blanks");
  CHECK(message(1, {{"bias_s", word("geodesic")}}) ==
        "[bsa-tnp] bias_s is geodesic, but the group has 1 columns, expected 2");
  CHECK(message(2, {{"bias_t", word("rbf")}}) ==
        "[bsa-tnp] bias_t is rbf, but the group has 0 columns, expected 1 or more");
  for (const char* text : {"10,9", "0", "9 x", "1 2 3 4 5 6 7 8 9", "70000"})
    CHECK(message(2, {{"head", word(text)}}) ==
          fmt::format("[bsa-tnp] head is \"{}\", expected up to 8 widths from 1 to 65536 between blanks", text));
  CHECK(message(2, {{"head", word("")}}) == "no error");
}
