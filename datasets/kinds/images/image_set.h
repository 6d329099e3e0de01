#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace npzoo {

/// Images of one size, as the bytes that they are.
struct ImageSet {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> bytes;   // (n, height, width, channels)
  std::vector<std::uint8_t> labels;  // (n); none where classes have no names

  std::int64_t bytes_of_one() const { return height * width * channels; }
  std::int64_t count() const { return std::ssize(bytes) / bytes_of_one(); }
  std::span<const std::uint8_t> image(std::int64_t item) const {
    return std::span(bytes).subspan(static_cast<std::size_t>(item * bytes_of_one()),
                                    static_cast<std::size_t>(bytes_of_one()));
  }
};

/// Some images of a set, in their order.
struct ChosenImages {
  std::shared_ptr<const ImageSet> set;
  std::vector<std::int64_t> items;
};

}  // namespace npzoo
