#pragma once

#include <optional>
#include <string_view>

namespace npzoo {

/// Reads an angle with the sign of degrees as a number of them: 52°31'12"N, 13° 24.5′ W, N 52.52°, -33°51'. South and
/// west are negative. None for anything else, such as 12 °C.
std::optional<double> parse_degrees(std::string_view text);

}  // namespace npzoo
