#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/safetensors.h"
#include "tests/models/training_fixtures.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Turns bits of a file over, one at a time: `header` and `data` tell how many lie between one and the next. Whatever
/// is read all the same must be what was written.
void check_flips(const std::string& whole, std::size_t header, std::size_t data) {
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, whole.data(), sizeof header_bytes);
  const std::size_t data_begins = 8 * (sizeof header_bytes + header_bytes);
  const Checkpoint written = read_checkpoint(parse_safetensors(std::as_bytes(std::span(whole))), "FILE");
  std::string content = whole;
  int read = 0, flips = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); bit += bit < data_begins ? header : data, ++flips) {
    const auto flip = [&] { content[bit / 8] = static_cast<char>(content[bit / 8] ^ 1 << bit % 8); };
    flip();
    try {
      const Checkpoint loaded = read_checkpoint(parse_safetensors(std::as_bytes(std::span(content))), "FILE");
      CAPTURE(bit);
      CHECK(same_state(loaded, written));
      ++read;
    } catch (const Error&) {
    }
    flip();
  }
  // The word "checksum" may become another, of 8 letters with 7 bits each.
  CHECK(read <= 8 * 7);
  CHECK(flips > 3000);
}

}  // namespace

TEST_CASE("checkpoint: no single bit can change unseen") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "c.safetensors";
  TrainingRun run = small_run();
  run.spec = small_model("cnp");
  Checkpoint c = Trainer(run).checkpoint();
  c.commit = "0123abc";
  export_weights(path, c, {});
  check_flips(read_text(path), 1, 7);  // every bit of the header
  save_checkpoint(path, trained_checkpoint());
  check_flips(read_text(path), 23, 61);
}

TEST_CASE("checkpoint: a file cut short anywhere is refused") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "c.safetensors";
  save_checkpoint(path, trained_checkpoint());
  const std::string whole = read_text(path);
  const auto put = [&](std::string_view content) { std::ofstream(path, std::ios::binary) << content; };
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 97) {
    CAPTURE(size);
    put(std::string_view(whole).substr(0, size));
    CHECK(error_of([&] { load_checkpoint(path); }) != "no error");
  }
  put(whole + "x");
  CHECK(error_of([&] { load_checkpoint(path); }) != "no error");
  put(whole);
  CHECK(load_checkpoint(path).step == 4);
  CHECK(error_of([&] { load_checkpoint(directory / "none"); }).find("none") != std::string::npos);
}

TEST_CASE("checkpoint: mutated files load or throw Error") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "c.safetensors";
  save_checkpoint(path, trained_checkpoint());
  TensorFile file = load_safetensors(path);
  file.metadata.erase("checksum");  // which would notice them all
  save_safetensors(path, file);
  const std::string whole = read_text(path);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, whole.data(), sizeof header_bytes);
  // Most of the header is the text of the protocol: half of the mutations go where the model and the run are described.
  const std::size_t config = whole.find("\"config\""), run = whole.find("\"run\"");
  REQUIRE(config < header_bytes);
  REQUIRE(run < header_bytes);

  constexpr int kCases = 4000;
  constexpr std::string_view kPieces[] = {"0", "9", "-", "1e9", "e", ".",    "\"",    "\\",
                                          "{", "}", "[", ",",   ":", "null", "65536", "NaN"};
  Random random(2024);
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(n)));
  };
  int loaded = 0, refused = 0;
  for (int i = 0; i < kCases; ++i) {
    std::string content = whole;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t kind = below(4);
      const std::size_t at = kind == 0   ? config + below(220)
                             : kind == 1 ? run + below(220)
                             : kind == 2 ? below(std::min<std::size_t>(header_bytes + 8, content.size()))
                                         : below(content.size());
      switch (below(3)) {
        case 0: content[at] = static_cast<char>(random.integer(0, 256)); break;
        case 1: content.replace(at, 1, 1, static_cast<char>('0' + random.integer(0, 10))); break;
        default: {
          // Same length, so that the ranges of the tensors still hold.
          const std::string_view piece = kPieces[below(std::size(kPieces))];
          if (at + piece.size() <= content.size()) content.replace(at, piece.size(), piece);
        }
      }
    }
    const fs::path mutant = directory / std::to_string(i);  // some file systems flush a file that is overwritten
    std::ofstream(mutant, std::ios::binary) << content;
    try {
      restore_model(load_checkpoint(mutant));
      ++loaded;
    } catch (const Error&) {
      ++refused;
    }
    fs::remove(mutant);
  }
  CHECK(loaded + refused == kCases);
  CHECK(loaded > 100);
  CHECK(refused > 1000);
}
