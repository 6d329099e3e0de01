#include "npzoo/datasets/kinds/images/known_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <unordered_set>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/kinds/images/cifar.h"
#include "npzoo/datasets/kinds/images/idx.h"
#include "npzoo/datasets/kinds/images/image_builder.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

std::filesystem::path set_file(const KnownImageSet& set, std::initializer_list<std::string> names) {
  return data_file("images", names, set.obtained);
}

/// Grey images and their labels in two IDX files.
ImageSet read_labelled(const KnownImageSet& set, const std::string& name) {
  const std::filesystem::path images_path = set_file(set, {name + "-images-idx3-ubyte"}),
                              labels_path = set_file(set, {name + "-labels-idx1-ubyte"});
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

void append(ImageSet& set, const ImageSet& more) {
  set.bytes.insert(set.bytes.end(), more.bytes.begin(), more.bytes.end());
  set.labels.insert(set.labels.end(), more.labels.begin(), more.labels.end());
}

void append_image(ImageSet& set, const ImageSet& from, std::int64_t item) {
  const auto image = from.image(item);
  set.bytes.insert(set.bytes.end(), image.begin(), image.end());
  set.labels.push_back(from.labels[static_cast<std::size_t>(item)]);
}

ImageSet read_mnist(const KnownImageSet& set, const ImageChoice& /*choice*/, ImagePart part) {
  return read_labelled(set, part == ImagePart::test ? "mnist/t10k" : "mnist/train");
}

/// EMNIST is stored with rows and columns exchanged.
ImageSet transposed(ImageSet set) {
  const std::int64_t side = set.height;
  for (auto image = set.bytes.begin(); image != set.bytes.end(); image += side * side)
    for (std::int64_t row = 0; row < side; ++row)
      for (std::int64_t column = 0; column < row; ++column)
        std::swap(image[row * side + column], image[column * side + row]);
  return set;
}

ImageSet read_emnist(const KnownImageSet& set, const ImageChoice& /*choice*/, ImagePart part) {
  return transposed(
      read_labelled(set, part == ImagePart::test ? "emnist/emnist-balanced-test" : "emnist/emnist-balanced-train"));
}

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Training: of ByMerge's test split, as many of a class as Balanced has, the first ones. Test: what is at hand of
/// Balanced, without images that are in the former as well.
ImageSet read_emnist_part(const KnownImageSet& set, const ImageChoice& /*choice*/, ImagePart part) {
  constexpr std::int64_t kOfAClass = 2400;
  const ImageSet merged = read_labelled(set, "emnist/emnist-bymerge-test");
  ImageSet result{set.height, set.width, 1, {}, {}};
  if (part != ImagePart::test) {
    std::map<std::uint8_t, std::int64_t> seen;
    for (std::int64_t i = 0; i < merged.count(); ++i)
      if (++seen[merged.labels[static_cast<std::size_t>(i)]] <= kOfAClass) append_image(result, merged, i);
    return transposed(std::move(result));
  }
  std::unordered_set<std::string_view> known;
  for (std::int64_t i = 0; i < merged.count(); ++i) known.insert(text_of(merged.image(i)));
  for (const char* name :
       {"emnist/emnist-balanced-train-part-103680-112799", "emnist/emnist-balanced-test-part-18496-18799"}) {
    const ImageSet balanced = read_labelled(set, name);
    for (std::int64_t i = 0; i < balanced.count(); ++i)
      if (!known.contains(text_of(balanced.image(i)))) append_image(result, balanced, i);
  }
  return transposed(std::move(result));
}

/// Batches in the form of either version.
ImageSet read_cifar_batches(const KnownImageSet& set, std::initializer_list<const char*> names) {
  ImageSet result{set.height, set.width, 3, {}, {}};
  for (const char* name : names)
    append(result, read_cifar(set_file(set, {fmt::format("cifar10/{}", name), fmt::format("cifar10/{}.bin", name)})));
  return result;
}

ImageSet read_cifar10(const KnownImageSet& set, const ImageChoice& /*choice*/, ImagePart part) {
  if (part == ImagePart::test) return read_cifar_batches(set, {"test_batch"});
  return read_cifar_batches(set, {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"});
}

ImageSet read_cifar10_part(const KnownImageSet& set, const ImageChoice& /*choice*/, ImagePart part) {
  if (part == ImagePart::test) return read_cifar_batches(set, {"test_batch"});
  return read_cifar_batches(set, {"data_batch_1", "data_batch_2_first7000"});
}

/// The last image of each part of CelebA, counted from 1.
struct Partition {
  std::int64_t training = 0, validation = 0;

  bool holds(std::int64_t number, ImagePart part) const {
    const ImagePart of = number <= training     ? ImagePart::training
                         : number <= validation ? ImagePart::validation
                                                : ImagePart::test;
    return of == part || (part == ImagePart::all_but_test && of != ImagePart::test);
  }
};

/// JPEG files named by their numbers.
ImageSet read_faces(const std::filesystem::path& path, const ImageChoice& choice, ImagePart part,
                    const Partition& partition) {
  ImageBuilder builder(choice, 3, /*skip_damaged=*/false);
  const auto wanted = [&](const std::string& name) {
    const std::string stem = std::filesystem::path(name).stem().string();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
    check(error == std::errc() && end == stem.data() + stem.size(),
          "[images] {}: {} found, expected names like 000001.jpg", path.string(), name);
    return partition.holds(number, part);
  };
  for_each_picture_file(path, wanted, [&](PictureFile file) { builder.add(std::move(file)); });
  ImageSet images = builder.finish();
  check(images.count() > 0, "[images] {}: no picture of this part found", path.string());
  return images;
}

ImageSet read_celeba(const KnownImageSet& set, const ImageChoice& choice, ImagePart part) {
  constexpr Partition kMakers{162'770, 182'637};
  return read_faces(
      set_file(set, {"celeba/img_align_celeba", "celeba/img_align_celeba.zip", "celeba/img_align_celeba.tar"}), choice,
      part, kMakers);
}

ImageSet read_celeba_part(const KnownImageSet& set, const ImageChoice& choice, ImagePart part) {
  constexpr Partition kTenths{6800, 7650};
  const std::string name = "celeba/img_align_celeba_89x109_000001-008500";
  return read_faces(set_file(set, {name, name + ".tar"}), choice, part, kTenths);
}

ImageSet read_celeba_32(const KnownImageSet& set, const ImageChoice& /*choice*/, ImagePart part) {
  constexpr Partition kTenths{8000, 9000};
  const auto path = set_file(set, {"celeba/celeba-32x32-000001-010000-images-idx4-ubyte"});
  const IdxArray array = read_idx(path, 4);
  check(array.extents[1] == set.height && array.extents[2] == set.width && array.extents[3] == 3,
        "[images] {}: images of {} x {} x {} found, expected 32 x 32 x 3", path.string(), array.extents[1],
        array.extents[2], array.extents[3]);
  const ImageSet all{set.height, set.width, 3, array.bytes, {}};
  ImageSet images{set.height, set.width, 3, {}, {}};
  for (std::int64_t i = 0; i < all.count(); ++i)
    if (kTenths.holds(i + 1, part)) images.bytes.insert(images.bytes.end(), all.image(i).begin(), all.image(i).end());
  return images;
}

constexpr std::string_view kCifarObtained =
    "download it from https://www.cs.toronto.edu/~kriz/cifar.html (the binary or the Python version)";
constexpr std::string_view kCelebaObtained =
    "download it from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html (img_align_celeba.zip)";
constexpr std::string_view kOfATest = "it is a part of the set, made for the tests of this program";

constexpr KnownImageSet kSets[] = {
    {.name = "mnist",
     .height = 28,
     .width = 28,
     .classes = 10,
     .read = read_mnist,
     .obtained =
         "download it from https://yann.lecun.com/exdb/mnist or https://ossci-datasets.s3.amazonaws.com/mnist/"},
    {.name = "emnist-balanced",
     .height = 28,
     .width = 28,
     .classes = 47,
     .read = read_emnist,
     .obtained = "download it from https://www.nist.gov/itl/products-and-services/emnist-dataset (gzip.zip)"},
    {.name = "emnist-part", .height = 28, .width = 28, .classes = 47, .read = read_emnist_part, .obtained = kOfATest},
    {.name = "cifar10",
     .height = 32,
     .width = 32,
     .channels = 3,
     .classes = 10,
     .read = read_cifar10,
     .obtained = kCifarObtained},
    {.name = "cifar10-part",
     .height = 32,
     .width = 32,
     .channels = 3,
     .classes = 10,
     .read = read_cifar10_part,
     .obtained = kOfATest},
    {.name = "celeba",
     .channels = 3,
     .has_validation = true,
     .has_faces = true,
     .read = read_celeba,
     .obtained = kCelebaObtained},
    {.name = "celeba-part",
     .channels = 3,
     .has_validation = true,
     .has_faces = true,
     .read = read_celeba_part,
     .obtained = kOfATest},
    {.name = "celeba-part-32",
     .height = 32,
     .width = 32,
     .channels = 3,
     .has_validation = true,
     .read = read_celeba_32,
     .obtained = kOfATest},
};

}  // namespace

std::span<const KnownImageSet> known_image_sets() { return kSets; }

}  // namespace npzoo
