#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/safetensors_header.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// The content of a safetensors file: named tensors and free text about them.
struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;

  /// Returns the number of elements of all tensors.
  std::int64_t elements() const;
};

/// Opens a safetensors file without reading its data: names, dtypes and shapes first, then single tensors on demand.
///
/// A file is an 8-byte little-endian length, a JSON header of that length and the data. It may come from a stranger:
/// whatever does not follow the format to the letter throws an Error that names the file and the tensor, and nothing is
/// allocated that the real size of the file does not justify. float32, float64 and int64 are supported.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& path);
  /// Reads from memory, which must outlive the reader. `name` is what error messages call it.
  explicit SafetensorsReader(std::span<const std::byte> content, std::string name = "<memory>");

  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const TensorTable& tensors() const { return header_.tensors; }
  /// Throws Error if there is no such tensor.
  Tensor read(std::string_view name) const;
  TensorFile read_all() const;

 private:
  void open(std::int64_t size);
  void read_at(std::int64_t offset, std::span<std::byte> out) const;
  Tensor read(const TensorInfo& info) const;

  std::string name_;
  std::optional<ReadOnlyFile> file_;  // absent: read from content_
  std::span<const std::byte> content_;
  SafetensorsHeader header_;
  std::int64_t data_ = 0;  // where the data begins
};

TensorFile load_safetensors(const std::filesystem::path& path);
TensorFile parse_safetensors(std::span<const std::byte> content, std::string name = "<memory>");

/// Writes what load_safetensors reads, all of it or, after a failure, nothing (see AtomicFile). The header is sorted by
/// name; wider dtypes come first in the data, so that every tensor is aligned for programs that map the file. Returns
/// the number of bytes.
std::int64_t save_safetensors(const std::filesystem::path& path, const TensorFile& content);

/// Compares the tensors of `file` with those a model needs and throws one Error that lists every missing, unexpected
/// and wrongly shaped tensor, at most ten of each. `name` is what the message calls the file.
void check_names(const std::map<std::string, Shape>& expected, const TensorFile& file, std::string_view name);

}  // namespace npzoo
