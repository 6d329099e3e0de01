#include "npzoo/engine/cuda/gemm_plan.h"

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Computes as cuBLAS is documented to: arrays stored column by column, op(X) the matrix or its transpose.
void multiply_as_blas(const BlasProduct& p, const double* first, const double* second, double* out) {
  const auto element = [](const BlasMatrix& m, const double* at, std::int64_t batch, std::int64_t i, std::int64_t j) {
    if (m.transposed) std::swap(i, j);
    CHECK(i < m.rows);
    CHECK(j < m.columns);
    return at[batch * m.step + j * m.stride + i];
  };
  for (std::int64_t batch = 0; batch < p.batch; ++batch)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k)
          sum += element(p.first, first, batch, i, k) * element(p.second, second, batch, k, j);
        out[batch * p.out.step + j * p.out.stride + i] = sum;
      }
}

struct Arrays {
  BatchedGemm<double> product;
  std::vector<double> a, b, c;
};

/// A (3, 5) times (5, 4), or with one row, column or summand, with room between rows.
Arrays example(std::int64_t m, std::int64_t n, std::int64_t k, bool a_by_columns, bool b_by_columns, bool shared_b) {
  constexpr std::int64_t kBatch = 2, kPad = 2;
  const std::int64_t a_stride = (a_by_columns ? m : k) + kPad, b_stride = (b_by_columns ? k : n) + kPad,
                     c_stride = n + kPad;
  const std::int64_t a_step = a_stride * (a_by_columns ? k : m), b_step = b_stride * (b_by_columns ? n : k);
  Arrays x;
  const auto draw = [](std::int64_t size, int seed) {
    std::vector<double> values(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((i * 7 + seed) % 11) - 5;
    return values;
  };
  x.a = draw(kBatch * a_step, 1), x.b = draw(kBatch * b_step, 2), x.c = draw(kBatch * c_stride * m, 3);
  x.product = {kBatch,
               a_step,
               shared_b ? 0 : b_step,
               c_stride * m,
               {.m = m,
                .n = n,
                .k = k,
                .a = x.a.data(),
                .a_row = a_by_columns ? 1 : a_stride,
                .a_col = a_by_columns ? a_stride : 1,
                .b = x.b.data(),
                .b_row = b_by_columns ? 1 : b_stride,
                .b_col = b_by_columns ? b_stride : 1,
                .c = nullptr,
                .c_row = c_stride}};
  return x;
}

std::vector<double> by_loops(const Arrays& x) {
  const auto& [batch, a_step, b_step, c_step, p] = x.product;
  std::vector<double> c = x.c;
  for (std::int64_t q = 0; q < batch; ++q)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k)
          sum += x.a[q * a_step + i * p.a_row + k * p.a_col] * x.b[q * b_step + k * p.b_row + j * p.b_col];
        c[q * c_step + i * p.c_row + j] = sum;
      }
  return c;
}

}  // namespace

TEST_CASE("gemm plan: the call of cuBLAS is the product") {
  for (const bool a_by_columns : {false, true})
    for (const bool b_by_columns : {false, true})
      for (const bool shared_b : {false, true})
        for (const auto& [m, n, k] : {std::array{3, 4, 5}, {1, 4, 5}, {3, 1, 5}, {3, 4, 1}, {1, 1, 1}}) {
          CAPTURE(a_by_columns);
          CAPTURE(b_by_columns);
          Arrays x = example(m, n, k, a_by_columns, b_by_columns, shared_b);
          const BlasProduct asked = blas_product(x.product);
          for (const BlasMatrix& matrix : {asked.first, asked.second, asked.out}) CHECK(matrix.stride >= matrix.rows);
          std::vector<double> c = x.c;
          multiply_as_blas(asked, x.b.data(), x.a.data(), c.data());
          CHECK(c == by_loops(x));
        }
}

TEST_CASE("gemm plan: alignments are those of the pointers") {
  alignas(256) static const std::byte memory[256] = {};
  CHECK(alignment_of(memory) == 64);
  CHECK(alignment_of(memory, 256) == 256);
  CHECK(alignment_of(memory + 64) == 64);
  CHECK(alignment_of(memory + 32) == 32);
  CHECK(alignment_of(memory + 48) == 16);
  CHECK(alignment_of(memory + 4) == 4);
  CHECK(alignment_of(memory + 7) == 1);
  CHECK(alignment_of(nullptr) == 64);
}

TEST_CASE("gemm plan: without an algorithm there is another route") {
  std::vector<GemmRoute> asked;
  const auto route = [&](bool library_bias, std::int64_t batch, std::vector<GemmRoute> known) {
    asked.clear();
    return choose_route(library_bias, batch, [&](GemmRoute wanted) {
      asked.push_back(wanted);
      return std::ranges::find(known, wanted) != known.end();
    });
  };
  using enum GemmRoute;
  CHECK(route(true, 1, {lt_with_bias, lt}) == lt_with_bias);
  CHECK(asked == std::vector{lt_with_bias});
  CHECK(route(true, 1, {lt}) == lt);
  CHECK(asked == std::vector{lt_with_bias, lt});
  CHECK(route(true, 1, {}) == strided);
  CHECK(route(false, 1, {lt_with_bias, lt}) == lt);
  CHECK(asked == std::vector{lt});
  CHECK(route(false, 1, {lt_with_bias}) == strided);
  CHECK(route(true, std::int64_t{1} << 31, {lt_with_bias, lt}) == strided);  // cuBLASLt counts in 32 bits
  CHECK(asked.empty());
}

TEST_CASE("gemm plan: bias and activation are done once, by the library or behind it") {
  alignas(64) static const float bias[8] = {};
  Gemm<float> plain{};
  plain.m = 2, plain.n = 4, plain.k = 3;
  Gemm<float> p = plain;
  using enum GemmRoute;
  CHECK_FALSE(wants_library_bias(p));
  CHECK_FALSE(needs_epilogue(p, lt));
  p.bias = bias;
  CHECK(wants_library_bias(p));
  CHECK_FALSE(needs_epilogue(p, lt_with_bias));
  CHECK(needs_epilogue(p, lt));
  CHECK(needs_epilogue(p, strided));
  p.bias = bias + 1;  // where the library may not read it
  CHECK_FALSE(wants_library_bias(p));
  p.bias = bias;
  p.accumulate = true;
  CHECK_FALSE(wants_library_bias(p));
  p.accumulate = false;
  p.activation = Activation::relu;  // the library's may drop NaN
  CHECK_FALSE(wants_library_bias(p));
  CHECK(needs_epilogue(p, lt));
  p.bias = nullptr;
  CHECK(needs_epilogue(p, lt));
  p = plain;
  p.k = 0;
  CHECK(needs_epilogue(p, strided));  // sets zeros
  p.accumulate = true;
  CHECK_FALSE(needs_epilogue(p, strided));
  p.bias = bias;
  CHECK(needs_epilogue(p, strided));
  alignas(64) static const double wide[8] = {};
  Gemm<double> in_double{};
  in_double.m = 2, in_double.n = 4, in_double.k = 3, in_double.bias = wide;
  CHECK_FALSE(wants_library_bias(in_double));
}
