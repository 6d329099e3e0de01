#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "npzoo/engine/device.h"
#include "npzoo/engine/shape.h"

namespace npzoo {

/// The entry of a tensor in a safetensors header. `begin` and `end` are bytes, counted from the end of the header.
struct TensorInfo {
  DType dtype = DType::float32;
  Shape shape;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

using TensorTable = std::map<std::string, TensorInfo, std::less<>>;

struct SafetensorsHeader {
  static constexpr std::int64_t kMaxBytes = 100'000'000;
  static constexpr std::size_t kMaxTensors = 100'000;

  std::map<std::string, std::string> metadata;
  TensorTable tensors;
};

/// Parses and checks the JSON header of a file that has `data_bytes` bytes of data after it. The result can be relied
/// on: names are UTF-8, no shape overflows, and the ranges of the tensors cover the data without overlap or gap.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::int64_t data_bytes, std::string_view file);

/// The inverse, padded with spaces to a multiple of 8 bytes. Throws Error for text that is not UTF-8.
std::string format_safetensors_header(const SafetensorsHeader& header, std::string_view file);

/// The beginning of a foreign text, quoted and escaped so that it cannot garble a terminal or a log.
std::string excerpt(std::string_view text);

}  // namespace npzoo
