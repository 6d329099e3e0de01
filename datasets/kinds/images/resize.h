#pragma once

#include "npzoo/datasets/kinds/images/known_sets.h"
#include "npzoo/datasets/pictures/picture.h"

namespace npzoo {

/// A part of a picture, in pixels: from left and top on. Edges may lie within pixels.
struct Box {
  double left = 0, top = 0, width = 0, height = 0;
};

/// The part that `crop` leaves of a picture that becomes an image of `height` x `width`. Throws Error, beginning with
/// `name`, if there is no such part.
Box crop_box(const Picture& picture, Crop crop, std::int64_t height, std::int64_t width, const std::string& name);

/// A part of a picture at another size: Keys' cubic convolution with a = -1/2, made wider where pixels become fewer so
/// that nothing is skipped, along rows and then along columns, each rounded to bytes. So does Pillow's `resize`, whose
/// default this filter is and which both papers' codes call.
Picture resized(const Picture& picture, const Box& box, std::int64_t height, std::int64_t width);

}  // namespace npzoo
