#include <doctest/doctest.h>

#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/tnp/token_transformer.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("model: errors of use") {
  const auto cnp = varied_model(small_model("cnp")), tnp = varied_model(small_model("tnp-d"));
  const Task task = random_task(*cnp, {2, 3, 2});
  const auto cnp_state = condition(*cnp, context_of(task)), tnp_state = condition(*tnp, context_of(task));
  CHECK(error_of([&] { query(*cnp, *tnp_state, task.xt); }) == "[cnp] the state comes from another kind of model");
  CHECK(error_of([&] { query(*tnp, *cnp_state, task.xt); }) ==
        "[token_transformer] the state comes from another kind of model");
  CHECK(error_of([&] { tnp->update(ContextState{}, context_of(task)); }) ==
        "[update] the state comes from another kind of model");
  for (const std::int64_t length : {-1, 4}) {
    const Context wrong{task.xc, task.yc, Tensor::from<std::int64_t>({2}, {3, length})};
    const std::string message = fmt::format("[context] row 1 has length {}, expected 0 to 3", length);
    CHECK(error_of([&] { condition(*tnp, wrong); }) == message);
    CHECK(error_of([&] { tnp->update(*tnp_state, wrong); }) == message);
  }
  CHECK(error_of([&] {
          tnp->update(*tnp_state, {task.xc, task.yc, Tensor::zeros({3}, DType::int64)});
        }) == "[context] lengths (3) found, expected 2 of them");
  CHECK(error_of([&] {
          condition(*cnp, {task.xc, task.yc, Tensor::zeros({3}, DType::int64)});
        }) == "[context] lengths (3) found, expected 2 of them");
  // Points of another width, or a batch of another size, are refused by the operations that meet them.
  const Tensor wide = Tensor::zeros({2, 2, 3}, DType::float64), other_batch = Tensor::zeros({5, 2, 1}, DType::float64);
  for (const Model* model : {cnp.get(), tnp.get()}) {
    const auto state = condition(*model, context_of(task));
    CHECK(error_of([&] { query(*model, *state, wide); }).starts_with("["));
    CHECK(error_of([&] { query(*model, *state, other_batch); }).starts_with("["));
    CHECK(error_of([&] { condition(*model, {wide, task.yc, {}}); }).starts_with("["));
  }
}

TEST_CASE("model: errors of configuration") {
  using namespace std::string_literals;
  const auto error_with = [](const std::string& name, const std::string& key, ModelConfig::mapped_type value) {
    ModelSpec spec = small_model(name);
    spec.config[key] = std::move(value);
    return error_of([&] { make_model(spec); });
  };
  CHECK(error_with("cnp", "architecture", "torch"s) == "[cnp] architecture 'torch' found, expected tnp or dl4bi");
  CHECK(error_with("canp", "dim_hid", std::int64_t{12}) == "[attention] 8 heads do not divide the width 12");
  for (const std::string key : {"enc_v_depth", "enc_pre_depth"})
    CHECK(error_with("canp", key, std::int64_t{3}) ==
          fmt::format("[canp] {} is 3, expected 4 or more: two stand for the self-attention", key));
  CHECK(error_with("np", "architecture", "torch"s) == "[np] architecture 'torch' found, expected tnp, dl4bi or anp");
  const auto deepmind_error = [](const std::string& key, ModelConfig::mapped_type value) {
    ModelSpec spec = small_model("anp");
    for (const char* other : {"enc_v_depth", "enc_pre_depth", "enc_post_depth"}) spec.config.erase(other);
    spec.config.merge(
        ModelConfig{{"enc_depth", std::int64_t{2}}, {"lat_depth", std::int64_t{2}}, {"nhead", std::int64_t{2}}});
    spec.config["architecture"] = "anp"s;
    spec.config["attention"] = key == "laplace_scale" ? "laplace"s : "multihead"s;
    spec.config[key] = std::move(value);
    if (key == "laplace_scale") spec.config.erase("enc_qk_depth");
    return error_of([&] { make_model(spec); });
  };
  CHECK(deepmind_error("attention", "cosine"s) ==
        "[anp] attention 'cosine' found, expected uniform, laplace, dot_product or multihead");
  CHECK(deepmind_error("laplace_scale", 0.0) == "[anp] laplace_scale is 0, expected a number > 0");
  CHECK(deepmind_error("self_attention_layers", std::int64_t{-1}) ==
        "[anp] self_attention_layers is -1, expected an integer from 0 to 64");
  CHECK(deepmind_error("attention_block", "pre"s) ==
        "[anp] attention_block 'pre' found, expected plain or image-transformer");
  CHECK(error_with("tnp-d", "architecture", "torch"s) == "[tnp-d] architecture 'torch' found, expected tnp or dl4bi");
  CHECK(error_with("tnp-d", "dropout", 0.1) == "[tnp-d] dropout 0.1 found, expected 0: no published run uses another");
  CHECK(error_with("tnp-d", "nhead", std::int64_t{3}) == "[attention] 3 heads do not divide the width 8");
  for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1025}, std::int64_t{1} << 62})
    CHECK(error_with("tnp-kr-full", "num_layers", size) ==
          fmt::format("[tnp-kr-full] num_layers is {}, expected an integer from 1 to 1024", size));
  CHECK(
      error_with("tnp-d", "width", std::int64_t{8}).starts_with("[tnp-d] width is an unknown key, expected one of: "));
  CHECK(error_with("cnp", "dim_hid", "6"s) == "[cnp] dim_hid is 6, expected an integer");

  ModelSpec missing = small_model("tnp-kr-full");
  missing.config.erase("min_std");
  CHECK(error_of([&] { make_model(missing); }) == "[tnp-kr-full] min_std is missing, expected a number");
  CHECK(error_of([] { model_info("gpt"); }) ==
        "[models] there is no model 'gpt', expected one that npzoo list models lists");

  Initializer init(Framework::torch, {});
  CHECK(error_of([&] { Mlp({3}, init); }) == "[mlp] 1 widths given, expected input and output at least");
  CHECK(error_of([&] { Mlp::of_depth(1, 2, 3, 0, init); }) == "[mlp] depth 0 found, expected 1 or more");
  TokenTransformerConfig config;
  config.embedder = {4};
  CHECK(error_of([&] { TokenTransformer(config, init); }) == "[token_transformer] the embedder ends in 4, expected 64");
}
