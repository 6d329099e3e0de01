#include "npzoo/engine/fill.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"
#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"
#include "npzoo/ops/layer_norm/layer_norm.h"
#include "npzoo/ops/linear/linear.h"
#include "npzoo/ops/local_taylor/local_taylor.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/mean_nll/mean_nll.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "npzoo/ops/time_encoding/time_encoding.h"
#include "npzoo/ops/top_softmax/top_softmax.h"
#include "tests/gpu.h"
#include "tests/ops/property_cases.h"
#include "tests/testing.h"

namespace npzoo {

namespace {

using namespace testing;

/// An operation on `tensors` tensors of one shape, whatever their values are.
struct Row {
  const char* where;
  int tensors;
  Shape shape;
  void (*apply)(const Tensor* x);
};

const Row kRows[] = {
    {"add", 2, {4}, [](const Tensor* x) { add(x[0], x[1]); }},
    {"sub", 2, {4}, [](const Tensor* x) { sub(x[0], x[1]); }},
    {"mul", 2, {4}, [](const Tensor* x) { mul(x[0], x[1]); }},
    {"div", 2, {4}, [](const Tensor* x) { div(x[0], x[1]); }},
    {"concat",
     3,
     {4},
     [](const Tensor* x) {
       concat({x[0], x[1], x[2]}, 0);
     }},
    {"copy_slice",
     2,
     {4},
     [](const Tensor* x) {
       Tensor whole = x[1];
       copy_slice(x[0], 0, 0, whole);
     }},
    {"add_into",
     2,
     {4},
     [](const Tensor* x) {
       Tensor y = x[1];
       add_into(y, x[0]);
     }},
    {"top_softmax", 2, {2, 4}, [](const Tensor* x) { top_softmax(x[0], x[1], 2); }},
    {"event_times", 2, {1, 1}, [](const Tensor* x) { event_times(x[0], x[1].view({1})); }},
    {"local_taylor", 3, {1, 4, 1}, [](const Tensor* x) { local_taylor(x[0], x[1], 2, {}, 0, x[2]); }},
    {"gaussian_log_density", 3, {2, 2}, [](const Tensor* x) { gaussian_log_density(x[0], x[1], x[2]); }},
    {"concat_points",
     2,
     {1, 2, 2},
     [](const Tensor* x) {
       concat_points({{{x[0], x[1]}}});
     }},
    {"mean_nll", 3, {2, 1}, [](const Tensor* x) { mean_nll(x[0], x[1], x[2].view({2})); }},
    {"linear", 2, {4, 4}, [](const Tensor* x) { linear(x[0], x[1], {}); }},
    {"linear", 3, {1, 1}, [](const Tensor* x) { linear(x[0], x[1], x[2].view({1})); }},
    {"layer_norm", 3, {4}, [](const Tensor* x) { layer_norm(x[0], x[1], x[2]); }},
    {"layer_norm", 4, {4}, [](const Tensor* x) { residual_layer_norm(x[0], x[1], x[2], x[3]); }},
    {"matmul", 2, {2, 2}, [](const Tensor* x) { matmul(x[0], x[1]); }},
    {"masked_attention",
     3,
     {1, 2, 2},
     [](const Tensor* x) { masked_attention(x[0], x[1], x[2], PrefixMask::all(), {}); }},
    {"incremental_cross_attention",
     3,
     {1, 2, 2},
     [](const Tensor* x) { incremental_cross_attention(x[0], x[1], x[2], PrefixMask::all(), {}); }},
    {"merge",
     4,
     {1, 1, 1},
     [](const Tensor* x) {
       merge(AttentionState{x[0], x[1]}, AttentionState{x[2], x[3]});
     }},
    {"summarise_keys",
     2,
     {1, 2, 2},
     [](const Tensor* x) {
       summarise_keys(x[0], x[1], x[0].view({2, 2}), PrefixMask::all(), {});
     }},
    {"summarise_keys",
     2,
     {1, 2, 2},
     [](const Tensor* x) {
       summarise_keys(x[0], x[0], x[1].view({2, 2}), PrefixMask::all(), {});
     }},
    {"merge",
     4,
     {1, 1, 1, 1},
     [](const Tensor* x) {
       merge(KeySummary{x[0], x[1].view({1, 1})}, KeySummary{x[2], x[3].view({1, 1})});
     }},
    {"attend_to_summary",
     3,
     {1, 1, 1},
     [](const Tensor* x) {
       attend_to_summary(x[0], KeySummary{x[1].view({1, 1, 1, 1}), x[2].view({1, 1})}, x[0].view({1, 1}), {});
     }},
    {"attend_to_summary",
     2,
     {1, 1, 1},
     [](const Tensor* x) {
       attend_to_summary(x[0], KeySummary{x[0].view({1, 1, 1, 1}), x[0].view({1, 1})}, x[1].view({1, 1}), {});
     }},
};

/// True for the functions that copy their arguments to one device.
bool copies_arguments(const PropertyCase& one) {
  return one.label == "attention_weights" || one.label == "linear_attention_weights" ||
         one.label == "kriging_fit, bank";
}

}  // namespace

TEST_CASE("device check: arguments on two devices") {
  if (!has_gpu()) return;
  for (const Row& row : kRows)
    for (int elsewhere = 0; elsewhere < row.tensors; ++elsewhere)
      for (Device device : {Device::cpu, Device::cuda}) {
        CAPTURE(row.where);
        CAPTURE(elsewhere);
        const Device other = device == Device::cpu ? Device::cuda : Device::cpu;
        std::vector<Tensor> x;
        for (int i = 0; i < row.tensors; ++i)
          x.push_back(Tensor::zeros(row.shape, DType::float64, i == elsewhere ? other : device));
        CHECK(error_of([&] { row.apply(x.data()); }) ==
              fmt::format("[{}] arguments are on cpu and cuda, expected one device", row.where));
      }
}

TEST_CASE("device check: a contribution to a gradient on another device") {
  if (!has_gpu()) return;
  const OnCpu cpu;
  Tape tape;
  Tensor x = Tensor::zeros({3});
  const Recording on(tape);
  tape.watch(x);
  Tensor out = Tensor::zeros({3});
  record("probe", out, {x}, [x](const Tensor& d_out, Grads& grads) {
    grads.add(x, d_out);
    grads.add(x, d_out.to(Device::cuda));
  });
  CHECK(error_of([&] { tape.backward(out, Tensor::zeros({3})); }) ==
        "[add_into] arguments are on cpu and cuda, expected one device");
}

TEST_CASE("device check: every case of the property test, with one argument on another device") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  int refused = 0;
  for (const PropertyCase& one : property_cases()) {
    const std::vector<Tensor>& inputs = one.run.inputs;
    const auto moves = [](const Tensor& x) { return x.defined() && x.dtype() != DType::int64; };
    if (std::ranges::count_if(inputs, moves) < 2 || one.run.function(inputs).numel() == 0) continue;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!moves(inputs[i])) continue;
      std::vector<Tensor> moved = inputs;
      moved[i] = moved[i].to(Device::cpu);
      const std::string message = error_of([&] { one.run.function(moved); });
      CAPTURE(one.label);
      CAPTURE(i);
      CAPTURE(message);
      CHECK((copies_arguments(one) ? message == "no error"
                                   : message.ends_with("] arguments are on cpu and cuda, expected one device")));
      refused += !copies_arguments(one);
    }
  }
  CHECK(refused > 300);
}

}  // namespace npzoo
