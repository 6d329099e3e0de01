#pragma once

// How many blocks, warps and segments the kernels of attention by tiles use. Included by kernel sources only.

#include "npzoo/ops/masked_attention/tiles_cuda.h"

namespace npzoo {

namespace {

/// How a kernel is spread over the device. It depends on extents and on the device alone.
struct Spread {
  std::int64_t tiles;     // blocks for the owned points of one head
  std::int64_t segments;  // blocks that share the other side
  std::int64_t length;    // points of a segment
  int warps;              // of a block
};

/// Spreads `units` heads of `owned` points. If blocks are few, blocks get fewer warps, and then the passing points are
/// cut into segments.
template <class L>
Spread spread(const Cuda& cuda, std::int64_t units, std::int64_t owned, std::int64_t passing) {
  const auto at_least_one = [](std::int64_t x) { return x > 1 ? x : 1; };
  const std::int64_t warps_needed = divide_up(owned, L::kWarpRows);
  int warps = kMostWarps;
  while (warps > 1 && (warps_needed < warps || units * divide_up(warps_needed, warps) < cuda.multiprocessors))
    warps /= 2;
  const std::int64_t tiles = divide_up(warps_needed, warps), blocks = at_least_one(units * tiles);
  const std::int64_t wanted = divide_up(std::int64_t{cuda.multiprocessors} * 2 * kMostWarps / warps, blocks);
  const std::int64_t most = passing / (2 * L::kTile);
  const std::int64_t segments = at_least_one(wanted < most ? wanted : most);
  const std::int64_t length = divide_up(at_least_one(divide_up(passing, segments)), L::kTile) * L::kTile;
  return {tiles, at_least_one(divide_up(passing, length)), length, warps};
}

}  // namespace

}  // namespace npzoo
