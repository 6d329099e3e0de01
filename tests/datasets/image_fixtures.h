#pragma once

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/protocol.h"
#include "tests/datasets/task_fixtures.h"
#include "tests/small_protocol.h"

// Sets of images that tests make themselves.

namespace npzoo::testing {

/// A data folder of a test's own, as long as it lives.
class DataFolder {
 public:
  DataFolder() { set_data_folder(folder_ / ""); }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;
  ~DataFolder() { set_data_folder({}); }

  std::filesystem::path path(const std::string& name) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    return folder_ / name;
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

 private:
  TemporaryDirectory folder_;
};

/// In the IDX format.
inline std::string idx(const std::vector<int>& extents, const std::string& bytes) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(extents.size())};
  for (const int extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(extent >> shift & 255);
  return text + bytes;
}

/// Byte i of image n of a set of a test's own.
inline int byte_of(int n, int i) { return (31 * n + i + i / 256) % 256; }

inline std::string images_of(int count, int bytes) {
  std::string text;
  for (int n = 0; n < count; ++n)
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(byte_of(n, i));
  return text;
}

/// MNIST's files: image n has label n % 10.
inline void write_mnist(const DataFolder& folder, int training, int test) {
  for (const auto& [name, count] : {std::pair{"train", training}, std::pair{"t10k", test}}) {
    std::string labels;
    for (int n = 0; n < count; ++n) labels += static_cast<char>(n % 10);
    folder.write(std::string("mnist/") + name + "-images-idx3-ubyte", idx({count, 28, 28}, images_of(count, 28 * 28)));
    folder.write(std::string("mnist/") + name + "-labels-idx1-ubyte", idx({count}, labels));
  }
}

inline const std::string kMnistData = R"(kind = "images"
set = "mnist"
size = [28, 28]
crop = "none"
inputs = [-1.0, 1.0]
values = [-0.5, 0.5]
points = 60
targets = "disjoint"
min_targets = 3
training_targets = 40
context = [3, 50]
context_per = "batch"
pixels_per = "image"
validation = "test"
classes = [0, 10]
)";

/// A protocol of such tasks.
inline std::string images_protocol(const std::string& data = kMnistData, const std::string& test = "") {
  return small_protocol("images", data, test);
}

inline std::shared_ptr<const TaskConfig> image_tasks(const std::string& data = kMnistData) {
  return parse_protocol(images_protocol(data), "f.toml").data;
}

/// True if the data folder of this machine has a set.
inline bool has_data(const std::string& name) {
  const std::filesystem::path folder = data_folder();
  const bool there = !folder.empty() && std::filesystem::exists(folder / name);
  if (!there) MESSAGE("skipped: NPZOO_DATA has no ", name);
  return there;
}

}  // namespace npzoo::testing
