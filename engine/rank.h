#pragma once

namespace npzoo {

/// Most axes that an array can have.
inline constexpr int kMaxRank = 6;

}  // namespace npzoo
