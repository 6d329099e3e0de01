#pragma once

#include <string>
#include <vector>

#include "npzoo/datasets/kinds/images/image_set.h"
#include "npzoo/datasets/kinds/images/known_sets.h"
#include "npzoo/datasets/kinds/images/picture_files.h"

namespace npzoo {

/// Makes images of one size out of files, several at a time on as many threads, in the order in which they come.
class ImageBuilder {
 public:
  /// `channels` is 1 or 3. Where `skip_damaged`, what cannot be decoded is left out, and else it throws Error.
  ImageBuilder(const ImageChoice& choice, std::int64_t channels, bool skip_damaged);

  void add(PictureFile file);
  ImageSet finish();
  /// Returns messages about the files that were left out, one for each.
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  void decode_waiting();

  ImageChoice choice_;
  bool skip_damaged_;
  ImageSet set_;
  std::vector<PictureFile> waiting_;
  std::vector<std::string> skipped_;
};

}  // namespace npzoo
