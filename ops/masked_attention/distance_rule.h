#pragma once

#include <cstdint>

#include "npzoo/engine/cuda/device_function.h"

namespace npzoo {

/// How a distance d enters the score of a head; sums are over its F terms.
enum class BiasForm : std::uint8_t {
  scalar,       // a d
  exponential,  // Σ a exp(−b d)
  rbf,          // Σ a exp(−b d²)
  tisa  // Σ a exp(−b (d − c)²) (Wennberg and Henter, "The case for translation-invariant self-attention", 2021)
};

enum class DistanceKind : std::uint8_t {
  euclidean,
  great_circle  // in degrees
};

/// A DistanceBias as kernels read it.
template <class T>
struct DistanceRule {
  BiasForm form;
  DistanceKind distance;
  std::int64_t dims;      // of a place; 3 for points of the unit sphere
  std::int64_t terms;     // F
  const T* query_places;  // (batch, queries, dims)
  const T* key_places;    // (batch, keys, dims)
  const T *a, *b, *c;     // (heads, terms), or null

  /// Parameters of one head: those that the form has, one after the other.
  NPZOO_DEVICE std::int64_t columns() const {
    return terms * (form == BiasForm::scalar ? 1 : form == BiasForm::tisa ? 3 : 2);
  }
};

/// All biases of an attention.
template <class T>
struct DistanceRules {
  static constexpr int kMost = 3;

  int count = 0;
  DistanceRule<T> of[kMost] = {};

  /// Coordinates of a place in all groups together.
  NPZOO_DEVICE std::int64_t dims() const {
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += of[i].dims;
    return sum;
  }
  /// Parameters of one head in all groups together.
  NPZOO_DEVICE std::int64_t columns() const {
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += of[i].columns();
    return sum;
  }
};

/// The scan of dl4bi's attention: the running maximum of a row starts at kLeastTop, and kScanEpsilon is added to the
/// sum of weights after every chunk of keys.
constexpr double kLeastTop = -1e-6, kScanEpsilon = 1e-10;

}  // namespace npzoo
