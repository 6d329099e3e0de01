// Feeds a fuzz target where libFuzzer is not: with every file of its corpora, then with mutations of them. What reaches
// new code is kept to go on from, if the program was built with -fsanitize-coverage=trace-pc. The flags are
// libFuzzer's:
//   fuzz_READER [-runs=N] [-max_total_time=SECONDS] [-seed=N] [-dict=FILE] CORPUS...
// The input at work lies in FUZZ_TARGET.input, which stays where the target does not return.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "npzoo/engine/io/file.h"

namespace fs = std::filesystem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kMaxBytes = 1 << 16;
// No std::array: its functions would report themselves.
[[maybe_unused]] bool reached[1 << 18];
bool found_new;

using Strings = std::vector<std::string>;

/// Between the first and the last quote of each line of a dictionary of libFuzzer.
Strings words(const fs::path& dictionary) {
  Strings result;
  const std::string text = npzoo::read_text(dictionary);
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const std::string line = text.substr(at, end - at);
    if (!line.starts_with('"')) continue;
    std::string word;
    for (std::size_t i = 1; i + 1 < line.size(); ++i) word += line[i] == '\\' ? line[++i] : line[i];
    result.push_back(std::move(word));
  }
  return result;
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, Strings dictionary) : random_(seed), dictionary_(std::move(dictionary)) {}

  std::string operator()(const Strings& corpus) {
    std::string text = corpus[below(corpus.size())];
    for (std::size_t changes = 1 + below(5); changes > 0; --changes) change(text, corpus[below(corpus.size())]);
    return text.substr(0, kMaxBytes);
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::string piece(const std::string& text) { return text.substr(below(text.size() + 1), 1 + below(64)); }

  void change(std::string& text, const std::string& other) {
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0: text.insert(at, 1, static_cast<char>(random_())); break;
      case 1: text.erase(at, 1 + below(16)); break;
      case 2: text.insert(at, piece(other)); break;
      case 3: text.replace(at, 1 + below(16), piece(text)); break;
      case 4: text.replace(at, below(8), dictionary_.empty() ? "0" : dictionary_[below(dictionary_.size())]); break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
    }
  }

  std::mt19937_64 random_;
  Strings dictionary_;
};

/// The input at work, in a file that outlives the process.
class InputFile {
 public:
  explicit InputFile(std::string path) : path_(std::move(path)), file_(::open(path_.c_str(), O_RDWR | O_CREAT, 0666)) {}
  ~InputFile() { ::unlink(path_.c_str()); }

  bool run(std::string_view input) const {
    found_new = false;
    if (::ftruncate(file_.get(), 0) != 0 || ::pwrite(file_.get(), input.data(), input.size(), 0) < 0) return false;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    return found_new;
  }

 private:
  std::string path_;
  npzoo::Descriptor file_;
};

}  // namespace

#ifndef __clang__  // which guides libFuzzer
extern "C" [[gnu::no_sanitize_coverage]] void __sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  bool& here = reached[(place ^ place >> 18) % sizeof reached];
  found_new |= !here;
  here = true;
}
#endif

int main(int argc, char** argv) {
  std::int64_t runs = std::numeric_limits<std::int64_t>::max(), seconds = 1'000'000'000, seed = 1;
  Strings corpus{""}, dictionary;
  for (std::string_view argument : std::span(argv, argc).subspan(1)) {
    for (auto [flag, value] :
         {std::pair("-runs=", &runs), std::pair("-max_total_time=", &seconds), std::pair("-seed=", &seed)})
      if (argument.starts_with(flag))
        std::from_chars(argument.data() + std::strlen(flag), argument.data() + argument.size(), *value);
    if (argument.starts_with("-dict=")) dictionary = words(argument.substr(6));
    if (argument.starts_with('-')) continue;
    if (!fs::is_directory(argument))
      corpus.push_back(npzoo::read_text(argument));
    else
      for (const auto& entry : fs::directory_iterator(argument)) corpus.push_back(npzoo::read_text(entry.path()));
  }
  std::ranges::sort(corpus);  // a directory has no order
  const InputFile input(fs::path(argv[0]).filename().string() + ".input");
  for (const std::string& text : corpus) input.run(text);
  const std::size_t seeds = corpus.size();

  Mutator mutate(static_cast<std::uint64_t>(seed), std::move(dictionary));
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [begin] { return std::chrono::steady_clock::now() - begin; };
  std::int64_t done = 0;
  for (; done < runs && passed() < std::chrono::seconds(seconds); ++done)
    if (std::string text = mutate(corpus); input.run(text)) corpus.push_back(std::move(text));
  fmt::print("{} inputs of the corpus, {} mutations in {} s, {} of them reached new code\n", seeds, done,
             std::chrono::duration_cast<std::chrono::seconds>(passed()).count(), corpus.size() - seeds);
}
