#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tests/datasets/image_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Which image of write_mnist a task shows, and which pixels: by its first value and all of them.
struct Seen {
  std::vector<int> pixels;
  std::vector<double> values;
};

Seen seen(const Tensor& x, const Tensor& y, std::int64_t row, std::int64_t points) {
  Seen result;
  const auto at = x.values<float>().subspan(static_cast<std::size_t>(row * x.dim(1) * 2));
  const auto value = y.values<float>().subspan(static_cast<std::size_t>(row * x.dim(1)));
  for (std::size_t i = 0; i < static_cast<std::size_t>(points); ++i) {
    const double r = (at[2 * i] + 1) * 27 / 2, c = (at[2 * i + 1] + 1) * 27 / 2;
    CHECK(std::abs(r - std::round(r)) < 1e-4);
    CHECK(std::abs(c - std::round(c)) < 1e-4);
    result.pixels.push_back(static_cast<int>(28 * std::round(r) + std::round(c)));
    result.values.push_back((value[i] + 0.5) * 255);
  }
  return result;
}

/// The image whose bytes these are; -1 if there is none.
int image_of(const Seen& s, int count) {
  for (int n = 0; n < count; ++n) {
    bool same = true;
    for (std::size_t i = 0; i < s.pixels.size(); ++i)
      same = same && std::abs(byte_of(n, s.pixels[i]) - s.values[i]) < 1e-3;
    if (same) return n;
  }
  return -1;
}

}  // namespace

TEST_CASE("[images] a task is some pixels of one image, each once") {
  const DataFolder folder;
  write_mnist(folder, 20, 6);
  const auto source = image_tasks()->source({.batch_size = 5, .seed = 1});
  std::set<std::vector<int>> different;
  for (std::uint64_t index = 0; index < 6; ++index) {
    const Task task = source->task(index);
    REQUIRE(task.xc.dim(0) == 5);
    CHECK((task.xc.dim(1) >= 3 && task.xc.dim(1) < 50));
    CHECK((task.xt.dim(1) >= 3 && task.xt.dim(1) < 40 && task.xc.dim(1) + task.xt.dim(1) <= 60));
    CHECK_FALSE(task.lengths.defined());
    for (std::int64_t row = 0; row < 5; ++row) {
      Seen all = seen(task.xc, task.yc, row, task.xc.dim(1)), targets = seen(task.xt, task.yt, row, task.xt.dim(1));
      all.pixels.insert(all.pixels.end(), targets.pixels.begin(), targets.pixels.end());
      all.values.insert(all.values.end(), targets.values.begin(), targets.values.end());
      CHECK(image_of(all, 20) >= 0);
      CHECK(std::set(all.pixels.begin(), all.pixels.end()).size() == all.pixels.size());
      different.insert(all.pixels);
    }
  }
  CHECK(different.size() == 30);
}

TEST_CASE("[images] an epoch shows each image once, a test all of them in their order") {
  const DataFolder folder;
  write_mnist(folder, 20, 6);
  const auto config = image_tasks();
  const auto training = config->source({.batch_size = 5, .seed = 1});
  CHECK_FALSE(training->size());
  std::multiset<int> images;
  for (std::uint64_t index = 0; index < 8; ++index) {
    const Task task = training->task(index);
    for (std::int64_t row = 0; row < 5; ++row) images.insert(image_of(seen(task.xt, task.yt, row, task.xt.dim(1)), 20));
  }
  for (int n = 0; n < 20; ++n) CHECK(images.count(n) == 2);

  const auto test = config->source({.batch_size = 4, .seed = 0, .split = Split::evaluation});
  CHECK(test->size() == 2);
  std::vector<int> order;
  for (std::uint64_t index = 0; index < 2; ++index) {
    const Task task = test->task(index);
    for (std::int64_t row = 0; row < task.xt.dim(0); ++row)
      order.push_back(image_of(seen(task.xt, task.yt, row, task.xt.dim(1)), 6));
  }
  CHECK(order == std::vector{0, 1, 2, 3, 4, 5});
  CHECK(error_of([&] { test->task(2); }) == "[images] batch 2 found, expected one of the 2 batches");
}

TEST_CASE("[images] the rules of the TNP-KR paper: one choice of pixels for a batch, contexts of their own lengths") {
  const DataFolder folder;
  write_mnist(folder, 20, 6);
  std::string data = replaced(kMnistData, "\"disjoint\"\nmin_targets = 3\ntraining_targets = 40", "\"all\"");
  data = replaced(replaced(data, "context_per = \"batch\"", "context_per = \"image\""), "pixels_per = \"image\"",
                  "pixels_per = \"batch\"");
  const auto config = image_tasks(data);
  const Task task = config->source({.batch_size = 5, .seed = 3})->task(0);
  CHECK(task.xt.dim(1) == 60);
  const auto lengths = task.lengths.values<std::int64_t>();
  CHECK(std::ranges::max(lengths) == task.xc.dim(1));
  CHECK(std::ranges::min(lengths) < std::ranges::max(lengths));
  const Seen first = seen(task.xt, task.yt, 0, 60);
  for (std::int64_t row = 0; row < 5; ++row) {
    CHECK(seen(task.xt, task.yt, row, 60).pixels == first.pixels);
    const Seen context = seen(task.xc, task.yc, row, task.xc.dim(1));
    CHECK(std::equal(context.pixels.begin(), context.pixels.end(), first.pixels.begin()));
    CHECK(image_of(context, 20) == image_of(seen(task.xt, task.yt, row, 60), 20));
  }
  CHECK(config->typical_extents().targets == 60);
}

TEST_CASE("[images] targets may be as many whatever the context is, in training and in a test") {
  const DataFolder folder;
  write_mnist(folder, 20, 6);
  const auto config =
      image_tasks(replaced(replaced(kMnistData, "min_targets = 3\ntraining_targets = 40", "target_count = [3, 12]"),
                           "context = [3, 50]", "context = [40, 50]"));
  for (const Split split : {Split::training, Split::evaluation}) {
    const auto source = config->source({.batch_size = 2, .seed = 1, .split = split});
    std::set<std::int64_t> counts;
    for (std::uint64_t index = 0; index < (split == Split::training ? 200 : 3); ++index) {
      const Task task = source->task(index);
      CHECK((40 <= task.xc.dim(1) && task.xc.dim(1) < 50));
      counts.insert(task.xt.dim(1));
    }
    CHECK((*counts.begin() >= 3 && *counts.rbegin() < 12));
    if (split == Split::training) CHECK(counts.size() == 9);
  }
  CHECK(config->typical_extents().targets == 7);
}

TEST_CASE("[images] a tenth of the images is kept back for validation") {
  const DataFolder folder;
  write_mnist(folder, 20, 6);
  const auto config = image_tasks(replaced(kMnistData, "validation = \"test\"", "validation = \"apart\""));
  std::set<int> training, validation;
  for (const Split split : {Split::training, Split::validation}) {
    const auto source = config->source({.batch_size = 2, .seed = 0, .split = split});
    for (std::uint64_t index = 0; index < (split == Split::training ? 9 : 1); ++index) {
      const Task task = source->task(index);
      for (std::int64_t row = 0; row < 2; ++row)
        (split == Split::training ? training : validation)
            .insert(image_of(seen(task.xt, task.yt, row, task.xt.dim(1)), 20));
    }
  }
  CHECK(training.size() == 18);
  CHECK(validation.size() == 2);
  for (const int n : validation) CHECK(training.count(n) == 0);
}

TEST_CASE("[images] a test may be of other classes, class after class") {
  const DataFolder folder;
  write_mnist(folder, 20, 30);
  const Protocol p =
      parse_protocol(images_protocol(replaced(kMnistData, "[0, 10]", "[0, 4]"), "classes = [8, 10]"), "f");
  const auto test = p.evaluation.tests[0].data->source({.batch_size = 8, .seed = 0, .split = Split::evaluation});
  CHECK(test->size() == 1);
  const Task task = test->task(0);
  std::vector<int> order;
  for (std::int64_t row = 0; row < task.xt.dim(0); ++row)
    order.push_back(image_of(seen(task.xt, task.yt, row, task.xt.dim(1)), 30));
  CHECK(order == std::vector{8, 18, 28, 9, 19, 29});
  CHECK(p.data->source({.batch_size = 8, .seed = 0, .split = Split::evaluation})->size() == 2);
}

TEST_CASE("[images] the same bits on any threads, and pictures of tasks") {
  const DataFolder folder;
  write_mnist(folder, 20, 6);
  const auto config = image_tasks();
  const Task here = config->source({.batch_size = 5, .seed = 1})->task(7);
  const auto source = config->source({.batch_size = 5, .seed = 1});
  std::vector<Task> tasks(8);
  thread_pool().for_range(
      8, 1, [&](std::int64_t i, std::int64_t) { tasks[i] = source->task(static_cast<std::uint64_t>(i)); });
  CHECK(same_points(tasks[7], here));
  const ImageFormat format = *config->image_format();
  CHECK((format.height == 28 && format.width == 28 && format.channels == 1));
  CHECK(format.row(0) == -1);
  CHECK(format.column(27) == doctest::Approx(1));
  CHECK(format.value(255) == doctest::Approx(0.5));
  CHECK(format.value.inverse(-0.5) == 0);
  CHECK_FALSE(load_protocol("quick/gp1d").data->image_format());
}

TEST_CASE("[images] impossible settings are one-line errors") {
  const auto refused = [](const char* before, const char* after) {
    return error_of_protocol(images_protocol(replaced(kMnistData, before, after)));
  };
  CHECK(refused("set = \"mnist\"", "set = \"mnits\"")
            .starts_with("[protocol] f.toml: data.set is 'mnits', expected one of \"mnist\""));
  CHECK(refused("points = 60", "points = 785") ==
        "[protocol] f.toml: data.points is 785, expected an integer from 2 to 784");
  CHECK(refused("[3, 50]", "[3, 58]") ==
        "[protocol] f.toml: data.context is 58, expected integers 0 <= low < high <= 57");
  CHECK(refused("[-1.0, 1.0]", "[1.0, 1.0]") ==
        "[protocol] f.toml: data.inputs is [1, 1], expected two numbers that differ");
  CHECK(refused("min_targets = 3\ntraining_targets = 40", "target_count = [3, 13]") ==
        "[protocol] f.toml: data.context is 50, expected integers 0 <= low < high <= 49");
  CHECK(refused("min_targets = 3\ntraining_targets = 40", "target_count = [3, 61]") ==
        "[protocol] f.toml: data.target_count is 61, expected integers 1 <= low < high <= 60");
  CHECK(refused("classes = [0, 10]", "classes = [0, 11]") ==
        "[protocol] f.toml: data.classes is 11, expected integers 0 <= low < high <= 10");
  CHECK(refused("classes = [0, 10]", "") ==
        "[protocol] f.toml: data.classes is missing, expected an array of two numbers");
}

TEST_CASE("[images] a set that is not at hand is named, and where it can be had") {
  const DataFolder folder;
  const auto config = image_tasks();
  const std::string message = error_of([&] { config->source({.batch_size = 1}); });
  CHECK(
      message.find("has no file mnist/train-images-idx3-ubyte, also none with .gz or .xz; download it from https://") !=
      std::string::npos);
}

TEST_CASE("[images] errors name damaged IDX files") {
  const DataFolder folder;
  write_mnist(folder, 3, 2);
  const std::string name = "mnist/t10k-images-idx3-ubyte", path = folder.path(name).string();
  const auto config = image_tasks();
  const auto message = [&](const std::string& bytes) {
    folder.write(name, bytes);
    return error_of([&] { image_tasks()->source({.batch_size = 1, .split = Split::evaluation}); });
  };
  const std::string whole = idx({2, 28, 28}, images_of(2, 784));
  CHECK(message(whole) == "no error");
  CHECK(message("") == fmt::format("[images] {}: ends after 0 of 16 bytes, expected its header", path));
  CHECK(message(whole.substr(0, 700)) ==
        fmt::format("[images] {}: ends after 684 of 1568 bytes, expected those of 2 x 28 x 28", path));
  CHECK(message(whole + "x") == fmt::format("[images] {}: has more bytes after 1568 bytes, expected its end", path));
  CHECK(message(idx({2, 784}, images_of(2, 784))) ==
        fmt::format("[idx] {}: magic number 00 00 08 02 found, expected 00 00 08 03: bytes with 3 extents", path));
  CHECK(message(idx({2, 784, 1}, images_of(2, 784))) ==
        fmt::format("[images] {}: images of 784 x 1 found, expected 28 x 28", path));
  CHECK(message(idx({3, 28, 28}, images_of(3, 784)))
            .ends_with("mnist/t10k-labels-idx1-ubyte: 2 labels found, expected one for each of 3 images"));
  CHECK(message(idx({0x7fffffff, 0x7fffffff, 28}, "")) ==
        fmt::format(
            "[idx] {}: extents 2147483647 x 2147483647 found, expected at least 1 each and 4294967296 bytes in all",
            path));
  CHECK(message(idx({0x10000000, 2, 4}, "")) ==
        fmt::format("[images] {}: ends after 0 of 2147483648 bytes, expected those of 268435456 x 2 x 4", path));
  folder.write("mnist/t10k-labels-idx1-ubyte", idx({2}, "\x03\x0a"));
  CHECK(message(whole).ends_with("mnist/t10k-labels-idx1-ubyte: label 10 found, expected 0 to 9"));
}

TEST_CASE("[images] MNIST as it is published") {
  if (!has_data("mnist")) return;
  const auto config = image_tasks(replaced(kMnistData, "points = 60", "points = 784"));
  const auto test = config->source({.batch_size = 16, .seed = 0, .split = Split::evaluation});
  CHECK(test->size() == 625);
  const auto training = config->source({.batch_size = 100, .seed = 0});
  double sum = 0;
  std::int64_t count = 0;
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Task task = training->task(index);
    for (const float y : task.yt.values<float>()) sum += y + 0.5;
    count += task.yt.numel();
  }
  CHECK(sum / static_cast<double>(count) == doctest::Approx(0.1307).epsilon(0.05));  // its known mean
}
