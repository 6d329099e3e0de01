#include <algorithm>
#include <string_view>

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/fourier_code/fourier_code.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"
#include "npzoo/ops/joint_log_density/joint_log_density.h"
#include "npzoo/ops/kriging/kriging.h"
#include "npzoo/ops/local_taylor/local_taylor.h"
#include "npzoo/ops/mask_points/mask_points.h"
#include "npzoo/ops/masked_attention/attention_weights.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "npzoo/ops/mean_nll/mean_nll.h"
#include "npzoo/ops/random_feature_attention/linear_attention_weights.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/set_convolution/set_convolution.h"
#include "npzoo/ops/time_encoding/time_encoding.h"
#include "npzoo/ops/top_softmax/top_softmax.h"
#include "tests/ops/property_cases.h"
#include "tests/testing.h"

// Cases of the property test for arguments without a gradient.

namespace npzoo {

namespace {

using Inputs = std::vector<Tensor>;

/// Collects cases that are not those of the gradient checks.
class Collector {
 public:
  explicit Collector(std::vector<PropertyCase>& all) : all_(all) {}

  Tensor normal(const Shape& shape) { return draw_.normal(shape); }
  Tensor positive(const Shape& shape) { return draw_.uniform(shape, 0.5, 2); }
  /// Lengths of `batch` sets, of 0 to `most` points.
  Tensor lengths(std::int64_t batch, std::int64_t most) { return draw_.integers({batch}, 0, most + 1); }
  Tensor integers(const Shape& shape, std::int64_t end) { return draw_.integers(shape, 0, end); }

  PropertyCase& add(std::string label, Inputs inputs, std::function<Tensor(const Inputs&)> function) {
    return all_.emplace_back(PropertyCase{label, {label, std::move(inputs), std::move(function)}});
  }

 private:
  std::vector<PropertyCase>& all_;
  GradcheckCases draw_;
};

Tensor joined(const KrigingMoments& said) { return concat({said.mean, said.std, said.spread}, 1); }

Tensor few_kernels() {
  return kriging_bank({{.smoothness = 0, .noise = 0.01},
                       {.smoothness = 1, .inverse_length = {2, 0.5, 1}, .noise = 0.05, .trend = 0.7},
                       {.smoothness = 2, .relative = 1, .noise = 0.2},
                       {.smoothness = 1, .noise = 0.02, .share = 0.5, .ratio = 0.2, .inverse_width = 1, .period = 1}})
      .to(default_device());
}

void add_kriging(Collector& cases) {
  for (const std::int64_t dims : {1, 2, 3}) {
    const Tensor xt = cases.normal({2, 4, dims}), bank = few_kernels();
    const Inputs inputs{cases.normal({2, 14, dims}), cases.normal({2, 14, 1}), cases.lengths(2, 14)};
    cases.add("kriging_fit", inputs, [=](const Inputs& in) {
      const Tensor places = xt.to(in[0].dtype());
      return joined(kriging_predict(kriging_fit(in[0], in[1], in[2], bank, 3), places));
    });
    cases.add("kriging_leave_one_out", inputs, [=](const Inputs& in) {
      return joined(kriging_leave_one_out(kriging_fit(in[0], in[1], in[2], bank, 3), in[0].dtype()));
    });
    const auto by_bank = [](const Inputs& in) {
      return joined(kriging_predict(kriging_fit(in[1], slice(in[1], 2, 0, 1), {}, in[0], 2), in[1]));
    };
    cases.add("kriging_fit, bank", {bank, xt}, by_bank).chooses = true;
  }
}

void add_attention(Collector& cases) {
  const Tensor projection = cases.normal({5, 3});
  const Inputs inputs{cases.normal({2, 6, 6}), cases.normal({2, 5, 6}), cases.normal({2, 5, 8})};
  const auto with = [&](const Tensor& counts) {
    Inputs all = inputs;
    all.push_back(counts);
    return all;
  };
  for (const Shape& shape : {Shape{2}, Shape{2, 6}}) {
    const Tensor counts = cases.integers(shape, 6);
    for (const AttentionScore score : {AttentionScore::dot_product, AttentionScore::laplace, AttentionScore::uniform})
      cases.add("masked_attention, lengths", with(counts), [score](const Inputs& in) {
        return masked_attention(in[0], in[1], in[2], PrefixMask::lengths(in[3]), {.heads = 2, .score = score});
      });
    cases.add("biased_attention, places and lengths",
              {inputs[0], inputs[1], inputs[2], cases.normal({2, 6, 2}), cases.normal({2, 5, 2}),
               cases.positive({2, 3}), cases.normal({2}), counts},
              [](const Inputs& in) {
                const DistanceBias biases[] = {
                    {BiasForm::rbf, DistanceKind::euclidean, in[3], in[4], in[5], in[5], {}},
                    {BiasForm::exponential, DistanceKind::great_circle, in[3], in[4], in[5], in[5], {}},
                    {BiasForm::scalar, DistanceKind::euclidean, in[3], in[4], in[6], {}, {}}};
                return biased_attention(in[0], in[1], in[2], PrefixMask::lengths(in[7]), {.heads = 2, .scan_chunk = 2},
                                        biases);
              });
    cases.add("attention_weights", with(counts), [](const Inputs& in) {
      return attention_weights(in[0], in[1], PrefixMask::lengths(in[3]), {.heads = 2});
    });
    cases.add("incremental_cross_attention, lengths", with(counts), [](const Inputs& in) {
      const AttentionOptions options{.heads = 2};
      const auto once = incremental_cross_attention(in[0], in[1], in[2], PrefixMask::all(), options);
      return absorb(once, in[0], in[1], in[2], PrefixMask::lengths(in[3]).after(2), options).mean;
    });
  }
  for (const Stabiliser stabiliser : {Stabiliser::none, Stabiliser::maximum}) {
    const RandomFeatureOptions options{.heads = 2, .stabiliser = stabiliser};
    cases.add("linear_attention, lengths", with(cases.lengths(2, 5)), [=](const Inputs& in) {
      return linear_attention(in[0], in[1], in[2], projection.to(in[0].dtype()), PrefixMask::lengths(in[3]), options);
    });
    cases.add("linear_attention_weights", with(cases.lengths(2, 5)), [=](const Inputs& in) {
      return linear_attention_weights(in[0], in[1], projection.to(in[0].dtype()), PrefixMask::lengths(in[3]), options);
    });
  }
}

void add_lengths(Collector& cases) {
  cases.add("fourier_code", {cases.normal({2, 5, 3})}, [](const Inputs& in) { return fourier_code(in[0], 6); });
  cases.add("gather", {cases.normal({2, 5, 3}), cases.integers({2, 7}, 5)},
            [](const Inputs& in) { return gather(in[0], in[1]); });
  cases.add("mask_points", {cases.normal({3, 9, 2}), cases.lengths(3, 9)},
            [](const Inputs& in) { return mask_points(in[0], in[1]); });
  cases.add("concat_points, lengths", {cases.normal({3, 9, 2}), cases.normal({3, 4, 3}), cases.lengths(3, 9)},
            [](const Inputs& in) {
              return concat_points({{{in[0]}, in[2]}, {{in[1]}}});
            });
  cases.add("mean_nll, weights and totals", {cases.normal({3, 9}), cases.positive({3, 9}), cases.positive({3})},
            [](const Inputs& in) { return mean_nll(in[0], in[1], in[2]); });
  cases.add("masked_mean", {cases.normal({3, 9, 2}), cases.lengths(3, 9)},
            [](const Inputs& in) { return masked_mean(in[0], in[1]); });
  const RegularGrid line = RegularGrid::over({-1.5, 0.4, 9}), plane = RegularGrid::over({-1, 0.5, 5}, {-1.2, 0.6, 4});
  for (const RegularGrid& grid : {line, plane})
    for (const std::int64_t scales : {1, 3})
      cases
          .add("points_to_grid, lengths",
               {cases.normal({2, 7, 3}), cases.positive({scales}), cases.normal({2, 7, grid.dims()}),
                cases.lengths(2, 7)},
               [=](const Inputs& in) { return points_to_grid(in[2], in[0], in[1], grid, in[3]); })
          .spreads = true;
  cases.add("cholesky_log_density, lengths", {cases.normal({3, 4, 2}), cases.positive({3, 8, 8}), cases.lengths(3, 4)},
            [](const Inputs& in) { return cholesky_log_density(in[0], in[1], in[2]); });
  cases.add("low_rank_log_density, lengths",
            {cases.normal({3, 4, 2}), cases.normal({3, 8, 2}), cases.positive({3, 8}), cases.lengths(3, 4)},
            [](const Inputs& in) { return low_rank_log_density(in[0], in[1], in[2], in[3]); });
}

void add_data(Collector& cases) {
  for (const std::int64_t dims : {1, 2})
    cases
        .add("local_taylor",
             {cases.normal({2, 9, dims}), cases.normal({2, 9, 2}), cases.normal({2, 9, dims * dims}),
              cases.lengths(2, 6)},
             [](const Inputs& in) {
               const LocalTaylor near = local_taylor(in[0], in[1], 6, in[3], 0, in[2]);
               return concat({near.y_difference, near.derivative, near.kept, near.y_near, near.x_difference,
                              near.x_near, near.first_order},
                             2);
             })
        .chooses = true;
  cases.add("input_encoding", {cases.normal({2, 5, 2})},
            [](const Inputs& in) { return input_encoding(in[0], 6, 0.1, 1000); });
  cases.add("event_times", {cases.normal({2, 5}), cases.normal({2})},
            [](const Inputs& in) { return event_times(in[0], in[1].to(DType::float64)); });
  cases.add("time_encoding", {cases.normal({2, 5})},
            [](const Inputs& in) { return time_encoding(in[0].to(DType::float64), 6, DType::float32); });
  for (const std::int64_t k : {0, 1, 4, 200})
    cases
        .add("top_softmax, by", {cases.normal({3, 33}), cases.normal({3, 33})},
             [k](const Inputs& in) { return top_softmax(in[0], in[1], k); })
        .chooses = true;
}

}  // namespace

std::vector<PropertyCase> property_cases() {
  std::vector<PropertyCase> all;
  for (const OpFolder& folder : op_folders()) {
    const std::string_view name = folder.name;
    GradcheckCases cases;
    folder.add_cases(cases);
    for (const GradcheckCase& one : cases.cases()) {
      const auto has = [&](const char* word) { return one.label.find(word) != std::string::npos; };
      all.push_back({.label = std::string(name) + ": " + one.label,
                     .run = one,
                     .chooses = name == "top_softmax",
                     .has_edges = name == "max_pool" || has("relu") || has("abs") || has("clamp") || has("shared"),
                     .spreads = name == "set_convolution"});
    }
  }
  Collector collector(all);
  add_kriging(collector);
  add_attention(collector);
  add_lengths(collector);
  add_data(collector);
  return all;
}

}  // namespace npzoo
