#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <optional>

#include "npzoo/datasets/pictures/encode_png.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/ranks/program_facts.h"
#include "npzoo/models/applications/images/picture_completion.h"
#include "npzoo/models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"
#include "tools/cli/shared_job.h"
#include "tools/pictures/images.h"

namespace npzoo::tools {

namespace {

struct CompleteCommand {
  CommonOptions common;
  std::string checkpoint, size;
  std::filesystem::path image, mask, out, panels;
  std::optional<double> keep;
  std::uint64_t seed = 0;
  std::int64_t samples = 0;
  JobOptions job;
};

void add_flags(Flags& flags, CompleteCommand& c) {
  add_flags(flags, c.common);
  add_checkpoint(flags, c.checkpoint);
  flags.text("--image", c.image, "PNG or JPEG; read as grey if the model's images are").required();
  const Flag keep = flags.share("--keep", c.keep, "share of the pixels that the model sees, chosen by --seed");
  flags.text("--mask", c.mask, "PNG or JPEG of the same size, instead of --keep: the model sees the light pixels")
      .excludes(keep);
  flags.text("--out", c.out,
             "PNG to write: the model's mean; seen pixels keep their values if the size is that of the picture");
  flags.text("--size", c.size, "width and height of the result in pixels, such as 256x256 (default: the picture's)");
  flags.text("--panels", c.panels,
             "picture to write, .svg or .png: seen pixels, mean, standard deviation, samples and truth side by side");
  flags.whole("--samples", c.samples, {0, 20},
              "sampled pictures in --panels, for models with latent variables, a bootstrap or joint predictions");
  flags.seed("--seed", c.seed, "seed of the seen pixels and of samples");
  add_flags(flags, c.job);
  flags.check_together([&c] {
    check(c.keep || !c.mask.empty(), "--keep or --mask is required");
    check(!c.out.empty() || !c.panels.empty(), "complete needs a file to write: --out or --panels");
    check(c.samples == 0 || !c.panels.empty(), "--samples needs --panels, which shows them");
  });
}

struct PixelSize {
  std::int64_t height = 0, width = 0;
};

/// Reads --size: width, x, height. Zeros if it is not given.
PixelSize read_pixel_size(const std::string& text) {
  if (text.empty()) return {};
  constexpr std::int64_t kMostSide = 8192;
  PixelSize size;
  const char* const end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  const bool split = width.ec == std::errc() && width.ptr != end && *width.ptr == 'x';
  const auto height = split ? std::from_chars(width.ptr + 1, end, size.height) : width;
  const auto fits = [](std::int64_t side) { return 1 <= side && side <= kMostSide; };
  check(split && height.ec == std::errc() && height.ptr == end && fits(size.width) && fits(size.height),
        "[complete] --size '{}' found, expected width and height of 1 to {}, as 256x256", text, kMostSide);
  return size;
}

/// Shows progress from the moment on that the number of pixels is known.
class PixelProgress {
 public:
  void show(std::int64_t done, std::int64_t all) {
    if (!progress_) progress_.emplace("complete", all, Progress::Options{.unit = "pixels", .passing = true});
    progress_->update(done);
  }

 private:
  std::optional<Progress> progress_;
};

CompletedPicture complete_with_progress(const CompleteCommand& c, const PixelSize& size, std::stop_token stop,
                                        Job& job) {
  PixelProgress progress;
  CompletionRequest request{.model = c.checkpoint,
                            .picture = c.image,
                            .shown = c.keep.value_or(1),
                            .height = size.height,
                            .width = size.width,
                            .samples = c.samples,
                            .seed = c.seed,
                            .progress = [&](std::int64_t done, std::int64_t all) { progress.show(done, all); },
                            .stop = std::move(stop),
                            .job = &job};
  if (!c.mask.empty()) request.shown = c.mask;
  return complete_picture(request);
}

void write_outputs(const CompleteCommand& c, const CompletedPicture& completed) {
  if (!c.panels.empty()) {
    plot::Figure figure = image_figure(completed.height, completed.width);
    figure.panels = completion_panels(completed);
    figure.columns = static_cast<int>(figure.panels.size());
    plot::write_figure(figure, c.panels);
  }
  if (c.out.empty()) return;
  AtomicFile file(c.out);
  file.write(encode_png(finished_picture(completed), c.out.string()));
  file.commit();
}

JsonValue as_json(const CompleteCommand& c, const CompletedPicture& completed, double seconds) {
  const auto path = [](const std::filesystem::path& p) { return p.empty() ? JsonValue() : JsonValue(p.string()); };
  return JsonValue::object({{"out", path(c.out)},
                            {"panels", path(c.panels)},
                            {"height", completed.height},
                            {"width", completed.width},
                            {"pixels", completed.shown.size()},
                            {"shown", std::ranges::count(completed.shown, true)},
                            {"mse", completed.squared_error},
                            {"log_likelihood", completed.log_likelihood},
                            {"seconds", seconds}});
}

/// Throws OtherRankError unless all ranks see the same pixels and have the same weights.
void compare_ranks(Job& job, const CompleteCommand& c) {
  if (job.size() == 1) return;
  ByteHash files;
  for (const std::filesystem::path& path : {find_weights(c.checkpoint), c.image, c.mask})
    if (!path.empty()) files.add(read_text(path));
  std::vector<Job::Fact> facts = program_facts();
  facts.push_back({"weights or pictures", files.digest()});
  job.compare(facts);
}

int complete_as_rank(const CompleteCommand& c, Job& job) {
  apply(c.common);
  check_outputs("complete", c.common, {{"--out", c.out}, {"--panels", c.panels}},
                {{"--checkpoint", find_weights(c.checkpoint)}, {"--image", c.image}, {"--mask", c.mask}});
  const PixelSize size = read_pixel_size(c.size);
  if (!c.out.empty())
    check(c.out.extension() == ".png", "[complete] {} found, expected a name with the ending .png", c.out.string());
  if (!c.panels.empty()) static_cast<void>(plot::format_of(c.panels));
  for (const auto& path : {c.out, c.panels})
    if (!path.empty() && job.leads()) check_can_be_written(path);
  compare_ranks(job, c);
  const InterruptGuard interrupt;
  const auto began = std::chrono::steady_clock::now();
  const CompletedPicture completed = complete_with_progress(c, size, interrupt.token(), job);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (job.leads()) write_outputs(c, completed);
  if (completed.lost_colours)
    fmt::print(stderr, "npzoo: warning: {} is in colour and was read as grey, like the images of the model\n",
               c.image.string());
  if (c.common.json) {
    print_json(as_json(c, completed, seconds));
    return 0;
  }
  for (const auto& path : {c.out, c.panels})
    if (!path.empty()) fmt::print("{}\n", path.string());
  if (completed.squared_error)
    fmt::print("mse {:.4g}, log-likelihood {:.4g} of the pixels that were not shown\n", *completed.squared_error,
               *completed.log_likelihood);
  return 0;
}

int run(const CompleteCommand& c) {
  SharedJob job(c.job);
  try {
    return job.run([&](Job& ranks) { return complete_as_rank(c, ranks); });
  } catch (const Interrupted&) {
    return kInterruptedExit;
  }
}

}  // namespace

extern const CommandInfo complete_command = command<CompleteCommand, add_flags, run>(
    "Complete an image from a subset of its pixels, at any resolution.", CommandGroup::predict,
    "npzoo complete --checkpoint tnp-d:quick/mnist --image digit.png --keep 0.15 --out whole.png", Processes::several);

}  // namespace npzoo::tools
