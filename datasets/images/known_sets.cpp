#include "datasets/images/known_sets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "datasets/images/idx.h"
#include "datasets/images/set_files.h"
#include "engine/error.h"

namespace npzoo {

namespace {

/// Grey images and their labels in two IDX files.
ImageSet read_labelled(const KnownImageSet& set, const std::string& images_name, const std::string& labels_name) {
  const std::filesystem::path images_path = set_file(set, images_name), labels_path = set_file(set, labels_name);
  IdxArray images = read_idx(images_path, 3), labels = read_idx(labels_path, 1);
  check(images.extents[1] == set.height && images.extents[2] == set.width,
        "[images] {}: images of {} x {} found, expected {} x {}", images_path.string(), images.extents[1],
        images.extents[2], set.height, set.width);
  check(images.extents[0] == labels.extents[0], "[images] {}: {} labels found, expected one for each of {} images",
        labels_path.string(), labels.extents[0], images.extents[0]);
  const std::int64_t largest = std::ranges::max(labels.bytes);
  check(largest < set.classes, "[images] {}: label {} found, expected 0 to {}", labels_path.string(), largest,
        set.classes - 1);
  return {set.height, set.width, 1, std::move(images.bytes), std::move(labels.bytes)};
}

ImageSet read_mnist(const KnownImageSet& set, const ImageChoice& /*choice*/, ImagePart part) {
  const std::string name = part == ImagePart::test ? "mnist/t10k" : "mnist/train";
  return read_labelled(set, name + "-images-idx3-ubyte", name + "-labels-idx1-ubyte");
}

/// Each image is stored with rows and columns exchanged.
void transpose(ImageSet& set) {
  const auto h = static_cast<std::size_t>(set.height), w = static_cast<std::size_t>(set.width);
  check(h == w, "[images] {} x {} pixels found, expected squares", h, w);
  for (auto image = set.bytes.begin(); image != set.bytes.end(); image += static_cast<std::ptrdiff_t>(h * w))
    for (std::size_t row = 0; row < h; ++row)
      for (std::size_t column = 0; column < row; ++column) std::swap(image[row * w + column], image[column * w + row]);
}

ImageSet read_emnist(const KnownImageSet& set, const ImageChoice& /*choice*/, ImagePart part) {
  const std::string name = part == ImagePart::test ? "emnist/emnist-balanced-test" : "emnist/emnist-balanced-train";
  ImageSet images = read_labelled(set, name + "-images-idx3-ubyte", name + "-labels-idx1-ubyte");
  transpose(images);
  return images;
}

constexpr KnownImageSet kSets[] = {
    {.name = "mnist",
     .height = 28,
     .width = 28,
     .classes = 10,
     .read = read_mnist,
     .obtained = "https://yann.lecun.com/exdb/mnist or https://ossci-datasets.s3.amazonaws.com/mnist/"},
    {.name = "emnist-balanced",
     .height = 28,
     .width = 28,
     .classes = 47,
     .read = read_emnist,
     .obtained = "https://www.nist.gov/itl/products-and-services/emnist-dataset, as gzip.zip"},
};

}  // namespace

std::span<const KnownImageSet> known_image_sets() { return kSets; }

}  // namespace npzoo
