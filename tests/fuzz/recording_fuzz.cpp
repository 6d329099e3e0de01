// libFuzzer entry: any recording is compared or an Error of one line, and each of its tensors is used or named. The
// input changes a small recording: lines `== KEY` or `== tensor NAME`, each followed by text. A KEY of the metadata
// gets the text. A tensor gets "TYPE EXTENTS : VALUES", for example "i64 3 : 7 1000", where values are repeated as
// often as needed; without that text it is removed. `== file` names the recording.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/own_file.h"
#include "npzoo/engine/io/safetensors.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/models/parity/parity.h"
#include "npzoo/models/parity/record.h"
#include "npzoo/ops/concat/concat.h"

namespace {

using Files = std::map<std::string, npzoo::TensorFile>;

constexpr const char* kNames[] = {"dl4bi-cnp.a",     "tnp-a.a",     "autoformer.b",       "informer.b",
                                  "taylorformer.c",  "thp.c",       "thp-mix.b",          "cmanp.b",
                                  "cmanp-and.a",     "convcnp2d.a", "convcnp.a",          "np.a",
                                  "bnp.a",           "dl4bi-bnp.b", "dl4bi-tnp-nd.b",     "tnp-nd.c",
                                  "dl4bi-convcnp.a", "lbanp.a",     "taylorformer-tnp.b", "dl4bi-tnp-kr-fast.a"};

/// The folder of recordings: that of the sources, or the one beside the fuzzer.
std::filesystem::path golden() {
  const std::filesystem::path folder = NPZOO_GOLDEN;
  return std::filesystem::is_directory(folder) ? folder : npzoo::own_file().parent_path() / "golden";
}

/// Recordings of the tests, with one update instead of ten.
Files small_files() {
  npzoo::set_threads(1);
  Files files;
  for (const char* name : kNames) {
    npzoo::TensorFile file = npzoo::load_safetensors(golden() / (std::string(name) + ".safetensors"));
    for (const char* losses : {"adam.losses", "yogi.losses"})
      if (const auto all = file.tensors.find(losses); all != file.tensors.end())
        all->second = npzoo::slice(all->second, 0, 0, 1).clone();
    files[name] = std::move(file);
  }
  return files;
}

std::map<std::string, std::string> sections(std::string_view text) {
  std::map<std::string, std::string> result;
  constexpr std::string_view kMark = "== ";
  for (std::size_t at = text.starts_with(kMark) ? 0 : text.npos; at != text.npos;) {
    const std::size_t key = at + kMark.size(), line = std::min(text.find('\n', key), text.size());
    const std::size_t next = text.find("\n== ", std::min(line, text.size()));
    const std::size_t begin = std::min(line + 1, text.size());
    const std::size_t end = std::max(begin, std::min(next, text.size()));
    result[std::string(text.substr(key, line - key))] = text.substr(begin, end - begin);
    at = next == text.npos ? next : next + 1;
  }
  return result;
}

/// "f64 2 3 : 1 -1 nan"; undefined if it is something else or has more than a million elements.
npzoo::Tensor tensor_of(const std::string& text) {
  constexpr std::int64_t kMost = 1'000'000;
  std::istringstream words(text);
  std::string type, word;
  words >> type;
  std::vector<std::int64_t> extents;
  std::int64_t count = 1;
  while (words >> word && word != ":") {
    extents.push_back(std::clamp<std::int64_t>(std::atoll(word.c_str()), 0, kMost));
    count = std::min(kMost + 1, count * extents.back());
  }
  if (count > kMost || extents.size() > 4 || word != ":") return {};
  std::vector<double> values;
  while (words >> word) values.push_back(std::strtod(word.c_str(), nullptr));
  if (values.empty()) values.push_back(0);
  std::vector<double> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = values[i % values.size()];
  const npzoo::Shape shape{std::span<const std::int64_t>(extents)};
  if (type != "i64") {
    const npzoo::Tensor x = npzoo::Tensor::from<double>(shape, all);
    return type == "f32" ? x.to(npzoo::DType::float32) : x;
  }
  std::vector<std::int64_t> whole(all.size());
  std::ranges::transform(all, whole.begin(), [](double x) {
    return std::abs(x) < 1e18 ? static_cast<std::int64_t>(x) : std::int64_t{1'000'000'000};
  });
  return npzoo::Tensor::from<std::int64_t>(shape, whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Files files = small_files();
  auto changes = sections({reinterpret_cast<const char*>(data), size});
  const auto chosen = files.find(changes["file"]);
  npzoo::TensorFile file = chosen == files.end() ? files.begin()->second : chosen->second;
  constexpr std::string_view kTensor = "tensor ";
  for (auto& [key, text] : changes) {
    if (!key.starts_with(kTensor)) {
      file.metadata[key] = text;
      continue;
    }
    const std::string name = key.substr(kTensor.size());
    file.tensors.erase(name);
    if (npzoo::Tensor x = tensor_of(text); x.defined()) file.tensors[name] = std::move(x);
  }
  try {
    const npzoo::ParityReport report = npzoo::check_parity(npzoo::Record(std::move(file), "input"));
    if (report.quantities.empty()) std::abort();
  } catch (const npzoo::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
