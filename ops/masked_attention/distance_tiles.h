#pragma once

// Distance biases of a tile: keys in its rows, a block's queries in its lanes. Included by kernel sources only.

#include <cmath>

#include "npzoo/ops/masked_attention/blocks.h"

namespace npzoo::attention {

/// Loads the places of a block's queries, group by group: (coordinates, lanes).
template <class T>
void load_places(const AttentionForward<T>& p, const Block<T>& block, T* places) {
  for (int g = 0; g < p.biases.count; ++g) {
    const DistanceRule<T>& rule = p.biases.of[g];
    load_transposed(rule.query_places + (block.batch * p.queries + block.begin) * rule.dims, rule.dims, block.rows,
                    rule.dims, T(1), places, block.lanes());
    places += rule.dims * block.lanes();
  }
}

/// Returns the angles in degrees between points of the unit sphere, from the squares of the lengths of their
/// differences and of their sums. This is exact for near and for opposite points.
template <class T>
Vec<T> angles(Vec<T> differences, Vec<T> sums) {
  constexpr double kDegrees = 180 / 3.14159265358979323846;
  Vec<T> result{};
  for (int i = 0; i < Simd<T>::kLanes; ++i)
    result[i] = static_cast<T>(2 * kDegrees) * std::atan2(std::sqrt(differences[i]), std::sqrt(sums[i]));
  return result;
}

/// Returns what the exponents of a bias depend on: the square of the distance for rbf, else the distance.
template <class T>
[[gnu::always_inline]] inline Vec<T> distances(const DistanceRule<T>& rule, const T* key, const T* places,
                                               std::int64_t lanes) {
  const bool on_sphere = rule.distance == DistanceKind::great_circle;
  Vec<T> differences{}, sums{};
  for (std::int64_t c = 0; c < rule.dims; ++c) {
    const Vec<T> place = load(places + c * lanes), difference = place - splat<T>(key[c]);
    differences += difference * difference;
    if (on_sphere) sums += (place + key[c]) * (place + key[c]);
  }
  if (on_sphere) {
    const Vec<T> angle = angles<T>(differences, sums);
    return rule.form == BiasForm::rbf ? angle * angle : angle;
  }
  return rule.form == BiasForm::rbf ? differences : simd::sqrt(differences);
}

/// Calls f(rule, first column of its parameters, key of the tile, lane, distances) for every pair of a tile.
template <class T, class F>
[[gnu::always_inline]] inline void for_distances(const AttentionForward<T>& p, const Block<T>& block,
                                                 std::int64_t first, std::int64_t count, const T* places, F f) {
  for (std::int64_t g = 0, column = 0; g < p.biases.count; ++g) {
    const DistanceRule<T>& rule = p.biases.of[g];
    const T* keys = rule.key_places + (block.batch * p.keys + first) * rule.dims;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < block.lanes(); j += Simd<T>::kLanes)
        f(rule, column, i, j, distances(rule, keys + i * rule.dims, places + j, block.lanes()));
    places += rule.dims * block.lanes();
    column += rule.columns();
  }
}

/// Returns exp(−b z) for z ≥ 0. Rates b below 0 are rare, and the exponential of a negative number takes half the time.
template <class T>
[[gnu::always_inline]] inline Vec<T> decay_of(T b, Vec<T> z) {
  return b >= 0 ? exp2_below_one(z * (-b * static_cast<T>(kLog2E))) : simd::exp(-b * z);
}

/// Adds the biases to scores (keys, lanes) in units of log 2.
template <class T>
void add_biases(const AttentionForward<T>& p, const Block<T>& block, std::int64_t first, std::int64_t count,
                const T* places, T* scores) {
  constexpr auto kUnits = static_cast<T>(kLog2E);
  for_distances(p, block, first, count, places,
                [&](const DistanceRule<T>& rule, std::int64_t, std::int64_t i, std::int64_t j, Vec<T> d) {
                  Vec<T> bias{};
                  const std::int64_t head = block.head * rule.terms;
                  for (std::int64_t f = head; f < head + rule.terms; ++f) {
                    if (rule.form == BiasForm::scalar)
                      bias += rule.a[f] * d;
                    else if (rule.form == BiasForm::tisa)
                      bias += rule.a[f] * decay_of(rule.b[f], (d - rule.c[f]) * (d - rule.c[f]));
                    else
                      bias += rule.a[f] * decay_of(rule.b[f], d);
                  }
                  T* at = scores + i * block.lanes() + j;
                  store(at, load(at) + bias * kUnits);
                });
}

/// Adds Σ d_score · ∂bias/∂parameter over a tile to the gradients of a head's parameters. `sums` is working memory of
/// (parameters, lanes of a register). Pairs that a row does not see have d_score 0, and count for nothing even if a
/// place is NaN.
template <class T>
void add_bias_gradients(const AttentionForward<T>& p, const Block<T>& block, std::int64_t first, std::int64_t count,
                        const T* places, const T* d_scores, T* sums, double* d_biases) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  const std::int64_t columns = p.biases.columns();
  std::fill_n(sums, columns * kLanes, T(0));
  const auto add = [sums](std::int64_t column, Vec<T> x) {
    store(sums + column * kLanes, load(sums + column * kLanes) + x);
  };
  for_distances(p, block, first, count, places,
                [&](const DistanceRule<T>& rule, std::int64_t column, std::int64_t i, std::int64_t j, Vec<T> d) {
                  const Vec<T> d_score = load(d_scores + i * block.lanes() + j);
                  const auto seen = d_score != 0;
                  const auto term = [&](std::int64_t at, Vec<T> slope) {
                    add(column + at, select(seen, d_score * slope, Vec<T>{}));
                  };
                  const std::int64_t terms = rule.terms, head = block.head * terms;
                  if (rule.form == BiasForm::scalar) return term(0, d);
                  for (std::int64_t f = 0; f < terms; ++f) {
                    const T a = rule.a[head + f], b = rule.b[head + f];
                    const bool tisa = rule.form == BiasForm::tisa;
                    const Vec<T> from = tisa ? d - rule.c[head + f] : d, z = tisa ? from * from : d,
                                 decay = decay_of(b, z);
                    term(f, decay);
                    term(terms + f, -a * z * decay);
                    if (tisa) term(2 * terms + f, 2 * a * b * from * decay);
                  }
                });
  for (std::int64_t i = 0; i < columns; ++i) d_biases[i] += static_cast<double>(simd::sum(load(sums + i * kLanes)));
}

}  // namespace npzoo::attention
