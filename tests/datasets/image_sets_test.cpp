#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/kinds/images/cifar.h"
#include "npzoo/datasets/kinds/images/folder.h"
#include "npzoo/datasets/kinds/images/known_sets.h"
#include "npzoo/datasets/kinds/images/picture_files.h"
#include "tests/datasets/image_fixtures.h"
#include "tests/datasets/picture_files.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

const KnownImageSet& known(const std::string& name) {
  const auto found = std::ranges::find(known_image_sets(), name, &KnownImageSet::name);
  REQUIRE(found != known_image_sets().end());
  return *found;
}

ImageSet read_known(const std::string& name, ImagePart part, const ImageChoice& choice = {}) {
  return known(name).read(known(name), choice, part);
}

/// The colours of image n of CIFAR-10, red first.
std::string cifar_colours(int n) {
  std::string colours;
  for (int i = 0; i < 3072; ++i) colours += static_cast<char>(byte_of(n, i));
  return colours;
}

std::string cifar_records(int count) {
  std::string records;
  for (int n = 0; n < count; ++n) records += static_cast<char>(n % 10) + cifar_colours(n);
  return records;
}

/// As the published pickles are, of other images.
std::string cifar_pickle(int count) {
  using namespace std::string_literals;
  const auto text = [](const std::string& word) { return "U"s + static_cast<char>(word.size()) + word; };
  const auto little_endian = [](int value, int bytes) {
    std::string number;
    for (int i = 0; i < bytes; ++i) number += static_cast<char>(value >> 8 * i & 255);
    return number;
  };
  std::string pickle = "\x80\x02}q\x01("s + text("batch_label") + "q\x02" + text("a batch of a test") + "q\x03" +
                       text("labels") + "q\x04]q\x05";
  for (int first = 0; first < count; first += 1000) {
    pickle += "(";
    for (int n = first; n < std::min(count, first + 1000); ++n) pickle += "K"s + static_cast<char>(n % 10);
    pickle += "e";
  }
  pickle += text("data") + "q\x06" + "cnumpy.core.multiarray\n_reconstruct\nq\x07" + "cnumpy\nndarray\nq\x08" +
            "K\0\x85"s + text("b") + "\x87Rq\x09(K\x01M" + little_endian(count, 2) + "M\0\x0c\x86"s +
            "cnumpy\ndtype\nq\n" + text("u1") + "K\0K\x01\x87Rq\x0b(K\x03"s + text("|") +
            "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89T"s + little_endian(3072 * count, 4);
  for (int n = 0; n < count; ++n) pickle += cifar_colours(n);
  pickle += "tb" + text("filenames") + "q\x0c]q\x0d(";
  for (int n = 0; n < count; ++n) pickle += text("a.png") + "q\x0e";
  return pickle + "eu.";
}

void check_cifar(const ImageSet& set, int count) {
  REQUIRE(set.count() == count);
  for (int n = 0; n < count; ++n) {
    CHECK(set.labels[static_cast<std::size_t>(n)] == n % 10);
    bool same = true;
    for (int i = 0; i < 1024; ++i)
      for (int c = 0; c < 3; ++c)
        same = same && set.image(n)[static_cast<std::size_t>(3 * i + c)] == byte_of(n, 1024 * c + i);
    CHECK(same);
  }
}

int shade(int number, std::int64_t row, std::int64_t column, int channel) {
  return static_cast<int>((3 * number + 2 * row + column + 30 * channel) % 256);
}

Bytes face(int number) {
  return jpeg_file({.width = 89, .height = 109},
                   [number](std::int64_t r, std::int64_t c, int k) { return shade(number, r / 8, c / 8, k); });
}

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

ImageFolder folder_at(const std::filesystem::path& path) {
  return {.path = path.string(), .choice = {.height = 8, .width = 8, .crop = Crop::centre}};
}

}  // namespace

TEST_CASE("[image sets] CIFAR-10 of both versions is the same images") {
  const DataFolder folder;
  folder.write("cifar10/test_batch.bin", cifar_records(12));
  check_cifar(read_known("cifar10", ImagePart::test), 12);
  folder.write("cifar10/test_batch", cifar_pickle(1013));
  check_cifar(read_known("cifar10", ImagePart::test), 1013);
  for (int batch = 1; batch <= 5; ++batch)
    folder.write(fmt::format("cifar10/data_batch_{}{}", batch, batch % 2 ? "" : ".bin"),
                 batch % 2 ? cifar_pickle(3) : cifar_records(3));
  CHECK(read_known("cifar10", ImagePart::training).count() == 15);
}

TEST_CASE("[image sets] a pickle of CIFAR-10 is read, and no other one") {
  const DataFolder folder;
  const std::string path = folder.path("batch").string(), whole = cifar_pickle(5);
  const auto message = [&](const std::string& bytes) {
    folder.write("batch", bytes);
    return error_of([&] { read_cifar(path); });
  };
  CHECK(message(whole) == "no error");
  CHECK(message("\x80\x02}q\x01.") ==
        fmt::format("[cifar] {}: an unknown pickle found, expected a published batch of CIFAR-10", path));
  CHECK(message(replaced(whole, "numpy.core.multiarray\n_reconstruct", "os\nsystem\n")).starts_with("[cifar] "));
  CHECK(message(replaced(whole, "labels", "labelz")) ==
        fmt::format("[cifar] {}: an unknown pickle found, expected a published batch of CIFAR-10", path));
  CHECK(message(replaced(whole,
                         "K\x04"
                         "e",
                         "e"))
            .find("4 labels, 5 images and 15360 bytes found") != std::string::npos);
  CHECK(message(replaced(whole,
                         "K\x04"
                         "e",
                         "K\x0a"
                         "e")) == fmt::format("[cifar] {}: label 10 of image 4 found, expected 0 to 9", path));
  for (std::size_t cut = 0; cut < whole.size(); cut += cut < 300 || cut + 300 > whole.size() ? 1 : 97) {
    const std::string error = message(whole.substr(0, cut));
    CAPTURE(cut);
    CHECK((error.starts_with("[cifar] ") || error.starts_with("[images] ")));
    CHECK(error.find('\n') == error.npos);
  }
  Random random(2);
  for (int i = 0; i < 300; ++i) {  // within what is no image
    std::string turned = whole;
    const auto at = static_cast<std::size_t>(random.integer(0, 250));
    turned[at] = static_cast<char>(turned[at] ^ 1 << random.integer(0, 8));
    const std::string error = message(turned);
    CAPTURE(at);
    CHECK((error == "no error" || error.starts_with("[cifar] ") || error.starts_with("[images] ")));
  }
  CHECK(message(cifar_records(2).substr(0, 4000)) ==
        fmt::format("[images] {}: ends after 926 of 3072 bytes, expected an image of 3072 bytes", path));
  CHECK(message("\x0b" + cifar_colours(0)) ==
        fmt::format("[cifar] {}: label 11 of image 0 found, expected 0 to 9", path));
}

TEST_CASE("[image sets] EMNIST stands upright") {
  const DataFolder folder;
  folder.write("emnist/emnist-balanced-test-images-idx3-ubyte", idx({2, 28, 28}, images_of(2, 784)));
  folder.write("emnist/emnist-balanced-test-labels-idx1-ubyte", idx({2}, "\x2e\x05"));
  const ImageSet set = read_known("emnist-balanced", ImagePart::test);
  for (int row = 0; row < 28; ++row)
    for (int column = 0; column < 28; ++column)
      CHECK(set.image(1)[static_cast<std::size_t>(28 * row + column)] == byte_of(1, 28 * column + row));
  CHECK(set.labels == std::vector<std::uint8_t>{46, 5});
}

TEST_CASE("[image sets] the part of EMNIST: as many of a class as Balanced has, and no image in both parts") {
  const DataFolder folder;
  const auto write = [&](const std::string& name, const std::string& images, const std::string& labels) {
    const int count = static_cast<int>(labels.size());
    folder.write("emnist/" + name + "-images-idx3-ubyte", idx({count, 28, 28}, images));
    folder.write("emnist/" + name + "-labels-idx1-ubyte", idx({count}, labels));
  };
  write("emnist-bymerge-test", images_of(2410, 784), std::string(2405, '\x03') + std::string(5, '\x0c'));
  const auto others = [](int first, int count) {
    return images_of(first + count, 784).substr(static_cast<std::size_t>(784 * first));
  };
  // byte_of repeats itself after 256 images: all of these are in the training part as well.
  write("emnist-balanced-train-part-103680-112799", others(3, 2) + std::string(784, '\x09'), "\x01\x02\x03");
  write("emnist-balanced-test-part-18496-18799", others(5, 1) + std::string(784, '\x08'), "\x04\x05");
  const ImageSet training = read_known("emnist-part", ImagePart::all_but_test),
                 test = read_known("emnist-part", ImagePart::test);
  CHECK(training.count() == 2405);
  CHECK(std::ranges::count(training.labels, 3) == 2400);
  CHECK(test.labels == std::vector<std::uint8_t>{3, 5});
}

TEST_CASE("[image sets] CelebA out of a folder and out of an archive, by the makers' partitions") {
  const DataFolder folder;
  const std::string part = "celeba/img_align_celeba_89x109_000001-008500";
  std::vector<std::pair<std::string, Bytes>> files;
  for (const int number : {1, 6800, 6801, 7650, 7651, 8500}) {
    files.emplace_back(fmt::format("img/{:06}.jpg", number), face(number));
    folder.write(fmt::format("celeba/img_align_celeba/{:06}.jpg", number), text_of(face(number)));
  }
  folder.write(part + ".tar", tar_of(files));
  const ImageChoice whole{109, 89, Crop::none};
  for (const ImagePart of : {ImagePart::training, ImagePart::validation, ImagePart::test})
    CHECK(read_known("celeba-part", of, {32, 32, Crop::face}).count() == 2);
  const ImageSet validation = read_known("celeba-part", ImagePart::validation, whole);
  const ImageSet developing = read_known("celeba-part", ImagePart::all_but_test, whole);
  CHECK(developing.count() == 4);
  CHECK(std::ranges::equal(validation.image(1), developing.image(3)));
  for (std::int64_t i = 0; i < validation.bytes_of_one(); i += 301) {
    const std::int64_t pixel = i / 3;
    CHECK(std::abs(validation.image(0)[static_cast<std::size_t>(i)] -
                   shade(6801, pixel / 89 / 8, pixel % 89 / 8, static_cast<int>(i % 3))) <= 6);
  }
  CHECK(read_known("celeba", ImagePart::training, whole).count() == 6);
  CHECK(error_of([&] { read_known("celeba", ImagePart::test, whole); }).ends_with("no picture of this part found"));
  folder.write("celeba/img_align_celeba/face.jpg", "");
  CHECK(error_of([&] {
          read_known("celeba", ImagePart::test, whole);
        }).ends_with("face.jpg found, expected names like 000001.jpg"));
}

TEST_CASE("[image sets] CelebA as its makers publish it, a zip archive of a folder") {
  const DataFolder folder;
  std::vector<std::pair<std::string, Bytes>> files{{"img_align_celeba/", {}}};
  for (const int number : {1, 162'770, 162'771, 182'638})
    files.emplace_back(fmt::format("img_align_celeba/{:06}.jpg", number), face(number));
  folder.write("celeba/img_align_celeba.zip", zip_of(files));
  const ImageChoice whole{109, 89, Crop::none};
  CHECK(read_known("celeba", ImagePart::training, whole).count() == 2);
  CHECK(read_known("celeba", ImagePart::validation, whole).count() == 1);
  const ImageSet test = read_known("celeba", ImagePart::test, whole);
  REQUIRE(test.count() == 1);
  for (std::int64_t i = 0; i < test.bytes_of_one(); i += 301)
    CHECK(std::abs(test.image(0)[static_cast<std::size_t>(i)] -
                   shade(182'638, i / 3 / 89 / 8, i / 3 % 89 / 8, static_cast<int>(i % 3))) <= 6);
}

TEST_CASE("[image sets] a damaged or truncated archive is an error") {
  const DataFolder folder;
  const std::string path = folder.path("archive").string();
  int files = 0;
  const auto message = [&](const std::string& bytes) {
    files = 0;
    folder.write("archive", bytes);
    return error_of([&] {
      for_each_picture_file(
          path, [](const std::string&) { return true; }, [&](const PictureFile&) { ++files; });
    });
  };
  const auto is_one_line = [&path](const std::string& error) {
    return error.starts_with("[images] " + path + ": ") && error.find('\n') == error.npos;
  };
  const std::vector<std::pair<std::string, Bytes>> held{
      {"000001.jpg", face(1)}, {"notes.txt", Bytes(600, 'x')}, {"000002.jpg", face(2)}};
  const std::string tar = tar_of(held), zip = zip_of(held);
  for (const std::string* whole : {&tar, &zip}) {
    CHECK(message(*whole) == "no error");
    CHECK(files == 2);
    CAPTURE(whole == &zip);
    // The last 22 bytes of a zip archive, and a tar archive's last block but one, say that it ends there.
    for (std::size_t cut = 0; cut + (whole == &zip ? 1 : 1024) <= whole->size(); cut += 129) {
      CAPTURE(cut);
      CHECK(is_one_line(message(whole->substr(0, cut))));
    }
    Random random(7);
    for (int n = 0; n < 200; ++n) {
      std::string turned = *whole;
      const auto at = static_cast<std::size_t>(random.integer(0, std::ssize(turned)));
      turned[at] = static_cast<char>(turned[at] ^ 1 << random.integer(0, 8));
      const std::string error = message(turned);
      CAPTURE(at);
      CHECK((error == "no error" || is_one_line(error)));
    }
  }
  const std::size_t first = (face(1).size() + 511) / 512 * 512 + 512;
  CHECK(message(tar.substr(0, first)) ==
        fmt::format("[images] {}: is cut off between two files, expected the end of an archive", path));
  CHECK(message("no archive at all") ==
        fmt::format("[images] {}: Unrecognized archive format found, expected a tar or zip archive", path));
  CHECK(error_of([&] {
          for_each_picture_file(
              folder.path("none"), [](const std::string&) { return true; }, [](const PictureFile&) {});
        }) == fmt::format("[images] {}: cannot be read: No such file or directory", folder.path("none").string()));
}

TEST_CASE(
    "[image sets] a folder of one's own: all pictures in it by name, resized; damaged ones only where asked for") {
  const DataFolder folder;
  const auto flat = [](int value) { return [value](std::int64_t, std::int64_t, int) { return value; }; };
  folder.write("own/b/2.PNG", text_of(png_file({}, flat(20))));
  folder.write("own/a.png", text_of(png_file({.width = 20, .height = 8, .channels = 1}, flat(10))));
  folder.write("own/c.jpeg", text_of(jpeg_file({.channels = 1}, flat(30))));
  folder.write("own/notes.txt", "no picture");
  ImageFolder own = folder_at(folder.path("own"));
  const auto images = read_image_folder(own);
  REQUIRE(images->set.count() == 3);
  CHECK(images->set.channels == 3);
  for (int i = 0; i < 3; ++i)
    for (const std::uint8_t byte : images->set.image(i)) CHECK(byte == 10 * (i + 1));
  CHECK(images->skipped.empty());
  CHECK(read_image_folder(own) == images);  // it is kept

  const std::string damaged = text_of(png_file({}, flat(5))).substr(0, 60);
  folder.write("own/b/1.png", damaged);
  own.choice.height = 4;  // other images, which have to be read
  const std::string message =
      fmt::format("[images] {}: a damaged PNG: it is cut off", folder.path("own/b/1.png").string());
  CHECK(error_of([&] { read_image_folder(own); }) == message);
  own.skip_damaged = true;
  const auto rest = read_image_folder(own);
  CHECK(rest->set.count() == 3);
  CHECK(rest->skipped == std::vector{message});
  CHECK(rest->checksum != images->checksum);
  own.channels = 1;
  CHECK(read_image_folder(own)->set.channels == 1);

  folder.write("single/a.png", text_of(png_file({}, flat(20))));
  CHECK(error_of([&] { read_image_folder(folder_at(folder.path("single"))); }) ==
        fmt::format("[images] {}: 1 PNG or JPEG files that can be read, expected at least two",
                    folder.path("single").string()));
}

TEST_CASE("[image sets] a protocol of a folder, which must not change") {
  const DataFolder folder;
  for (int n = 0; n < 20; ++n)
    folder.write(fmt::format("own/{:02}.png", n),
                 text_of(png_file({.channels = 1}, [n](auto, auto, int) { return 10 * n; })));
  ImageFolder own = folder_at(folder.path("own"));
  own.channels = 1;
  const OwnData pictures{
      OwnPictures{.path = own.path, .height = own.choice.height, .width = own.choice.width, .grey = true}};
  const Protocol p = own_protocol(pictures).protocol;
  CHECK(p.name == "own");
  CHECK(p.evaluation.tests[0].published.empty());
  CHECK((p.data->dim_y() == 1 && p.models.contains("tnp-d")));
  const auto shades = [&p](Split split, int batches) {
    std::vector<int> seen;
    for (int i = 0; i < batches; ++i) {
      const Task task = p.data->source({.batch_size = 2, .split = split})->task(static_cast<std::uint64_t>(i));
      for (std::int64_t row = 0; row < 2; ++row)
        seen.push_back(static_cast<int>(
            std::lround((doubles(task.yt)[static_cast<std::size_t>(row * task.yt.dim(1))] + 0.5) * 25.5)));
    }
    std::ranges::sort(seen);
    return seen;
  };
  std::vector<int> all = shades(Split::training, 8);
  for (const Split split : {Split::validation, Split::evaluation}) {
    const std::vector<int> held_out = shades(split, 1);
    all.insert(all.end(), held_out.begin(), held_out.end());
  }
  std::ranges::sort(all);
  for (int n = 0; n < 20; ++n) CHECK(all[static_cast<std::size_t>(n)] == n);
  CHECK_FALSE(p.data->tested_on_validation());

  // Protocols of older checkpoints: a tenth is for both.
  const Protocol old = with_changes(p, std::vector<std::string>{"data.validation=\"apart\""});
  CHECK(old.data->tested_on_validation());
  const auto first = [&old](Split split) { return old.data->source({.batch_size = 2, .split = split})->task(0).yt; };
  std::vector<double> tested = doubles(first(Split::evaluation)), validated = doubles(first(Split::validation));
  for (auto* values : {&tested, &validated}) {
    std::ranges::sort(*values);
    values->erase(std::unique(values->begin(), values->end()), values->end());
  }
  CHECK(tested == validated);

  folder.write("own/99.png", text_of(png_file({.channels = 1}, [](auto, auto, int) { return 7; })));
  own.choice.width = 9;
  static_cast<void>(read_image_folder(own));  // another folder than the one that is kept
  const std::string error = error_of([&] { parse_protocol(p.text, "own").data->source({.batch_size = 1}); });
  CHECK(error.find("own has changed: checksum xxh3-128:") != std::string::npos);
}

TEST_CASE("[image sets] those that are published, as they are") {
  if (has_data("cifar10")) {
    const ImageSet training = read_known("cifar10-part", ImagePart::training),
                   test = read_known("cifar10-part", ImagePart::test);
    CHECK((training.count() == 17'000 && test.count() == 10'000));
    for (std::uint8_t label = 0; label < 10; ++label) CHECK(std::ranges::count(test.labels, label) == 1000);
  }
  if (has_data("emnist")) {
    const ImageSet training = read_known("emnist-part", ImagePart::training),
                   test = read_known("emnist-part", ImagePart::test);
    for (std::uint8_t label = 0; label < 10; ++label) CHECK(std::ranges::count(training.labels, label) == 2400);
    CHECK(test.count() == 9424 - 1300 - 39);
  }
  if (has_data("celeba")) {
    const ImageSet small = read_known("celeba-part-32", ImagePart::training);
    CHECK(small.count() == 8000);
    const ImageSet half = read_known("celeba-part", ImagePart::validation, {32, 32, Crop::none});
    CHECK(half.count() == 850);
    const ImageSet same = read_known("celeba-part-32", ImagePart::all_but_test);
    double squares = 0;
    for (std::size_t i = 0; i < half.bytes.size(); ++i) {
      const double off = half.bytes[i] - same.bytes[static_cast<std::size_t>(6800 * same.bytes_of_one()) + i];
      squares += off * off;
    }
    // The same faces, halved and compressed once more before they were made as small.
    CHECK(std::sqrt(squares / static_cast<double>(half.bytes.size())) < 6);
  }
}
