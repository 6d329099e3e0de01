#include "npzoo/datasets/kinds/images/cifar.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "npzoo/datasets/pictures/whole_bytes.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

using namespace std::string_view_literals;

constexpr std::int64_t kSide = 32, kColour = kSide * kSide, kImage = 3 * kColour;
constexpr std::int64_t kMostImages = 1 << 20, kMostNames = std::int64_t{1} << 28;  // bytes of file names

ImageSet empty_set() { return {kSide, kSide, 3, {}, {}}; }

/// Red, green and blue of one image after each other become pixels.
void add_image(ImageSet& set, const std::uint8_t* colours, std::uint8_t label, const std::string& name) {
  check(label < 10, "[cifar] {}: label {} of image {} found, expected 0 to 9", name, label, set.labels.size());
  set.labels.push_back(label);
  for (std::int64_t i = 0; i < kColour; ++i)
    for (std::int64_t c = 0; c < 3; ++c) set.bytes.push_back(colours[c * kColour + i]);
}

/// Steps of a pickle, each of which has to be the one that is expected.
class PickleSteps {
 public:
  explicit PickleSteps(ByteStream& file) : file_(file) {}

  std::uint8_t byte() { return read_bytes(file_, 1, "a pickle of CIFAR-10")[0]; }
  void expect(std::string_view steps) {
    for (const char step : steps)
      check(byte() == static_cast<std::uint8_t>(step),
            "[cifar] {}: an unknown pickle found, expected a published batch of CIFAR-10", file_.name());
  }
  void expect_text(std::string_view text) {
    expect("U"sv);
    check(byte() == text.size(), "[cifar] {}: a pickle without '{}', expected a batch of CIFAR-10", file_.name(), text);
    expect(text);
  }
  std::int64_t little_endian(int count) {
    std::int64_t value = 0;
    for (int i = 0; i < count; ++i) value |= static_cast<std::int64_t>(byte()) << (8 * i);
    return value;
  }

 private:
  ByteStream& file_;
};

/// Lists of a thousand at a time; the step that follows them has been read in the end.
std::vector<std::uint8_t> read_labels(PickleSteps& steps, const std::string& name) {
  std::vector<std::uint8_t> labels;
  std::uint8_t step = steps.byte();
  for (; step == '('; step = steps.byte()) {
    for (step = steps.byte(); step == 'K'; step = steps.byte()) labels.push_back(steps.byte());
    check(step == 'e' && std::ssize(labels) <= kMostImages, "[cifar] {}: labels that are not a list of small numbers",
          name);
  }
  check(step == 'U', "[cifar] {}: labels are followed by step {:02x}, expected the pixels", name, step);
  return labels;
}

ImageSet read_pickle(ByteStream& file) {
  PickleSteps steps(file);
  steps.expect("\x02}q\x01("sv);
  steps.expect_text("batch_label");
  steps.expect("q\x02U"sv);
  static_cast<void>(read_bytes(file, steps.byte(), "the name of the batch"));
  steps.expect("q\x03"sv);
  steps.expect_text("labels");
  steps.expect("q\x04]q\x05"sv);
  const std::vector<std::uint8_t> labels = read_labels(steps, file.name());
  steps.expect(
      "\x04"
      "dataq\x06"
      "cnumpy.core.multiarray\n_reconstruct\nq\x07"
      "cnumpy\nndarray\nq\x08K\x00\x85U\x01"
      "b\x87Rq\x09(K\x01M"sv);
  const std::int64_t count = steps.little_endian(2);
  steps.expect(
      "M\x00\x0c\x86"
      "cnumpy\ndtype\nq\nU\x02u1K\x00K\x01\x87Rq\x0b(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"sv);
  const std::int64_t bytes = steps.little_endian(4);
  check(count == std::ssize(labels) && bytes == count * kImage,
        "[cifar] {}: {} labels, {} images and {} bytes found, expected one label and {} bytes for each image",
        file.name(), labels.size(), count, bytes, kImage);
  const std::vector<std::uint8_t> pixels = read_bytes(file, bytes, "the pixels");
  steps.expect("tb"sv);
  const std::vector<std::uint8_t> names = read_rest(file, kMostNames);
  check(names.size() >= 3 && std::equal(names.end() - 3, names.end(), "eu."),
        "[cifar] {}: is cut off after its pixels, expected the names of the images", file.name());
  ImageSet set = empty_set();
  for (std::int64_t i = 0; i < count; ++i)
    add_image(set, pixels.data() + i * kImage, labels[static_cast<std::size_t>(i)], file.name());
  return set;
}

ImageSet read_records(ByteStream& file, std::vector<std::uint8_t> first) {
  ImageSet set = empty_set();
  for (std::vector<std::uint8_t> label = std::move(first); !label.empty(); label = next_bytes(file, 1)) {
    check(std::ssize(set.labels) < kMostImages, "[cifar] {}: more than {} images found", file.name(), kMostImages);
    const std::vector<std::uint8_t> colours = read_bytes(file, kImage, "an image of 3072 bytes");
    add_image(set, colours.data(), label[0], file.name());
  }
  return set;
}

}  // namespace

ImageSet read_cifar(const std::filesystem::path& path) {
  ByteStream file(path);
  std::vector<std::uint8_t> first = read_bytes(file, 1, "images");
  constexpr std::uint8_t kPickle = 0x80;  // no label is as large
  return first[0] == kPickle ? read_pickle(file) : read_records(file, std::move(first));
}

}  // namespace npzoo
