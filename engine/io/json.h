#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace npzoo {

/// Bounds of what is read, far beyond what npzoo writes. A value is copied, compared and printed by functions that call
/// themselves once a level: without a bound a short text would overflow the stack.
constexpr int kMaxJsonDepth = 64;
constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;

/// The one way in which JSON is read, whoever wrote it. Throws Error that begins with `where` for what is no JSON, is
/// nested deeper than `kMaxJsonDepth` or is longer than `kMaxJsonBytes`.
nlohmann::json parse_json(std::string_view text, std::string_view where);

/// The same, but the value is discarded (`is_discarded()`, and of no other type) where `parse_json` would throw.
nlohmann::json parse_json_or_discard(std::string_view text);

}  // namespace npzoo
