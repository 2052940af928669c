#include "tuneonce/parameters.h"

namespace tuneonce {
inline namespace v0 {

WarmupFill WarmupFill::Constant(FillNumber value) {
  WarmupFill fill(0);
  fill.first = std::move(value);
  return fill;
}

WarmupFill WarmupFill::Iota(FillNumber start, FillNumber step) {
  WarmupFill fill = Constant(std::move(start));
  fill.kind = Kind::kIota;
  fill.second = std::move(step);
  return fill;
}

WarmupFill WarmupFill::Uniform(FillNumber low, FillNumber high) {
  WarmupFill fill = Constant(std::move(low));
  fill.kind = Kind::kUniform;
  fill.second = std::move(high);
  return fill;
}

WarmupFill WarmupFill::Offsets(FillNumber end, FillNumber skew) {
  WarmupFill fill = Constant(std::move(end));
  fill.kind = Kind::kOffsets;
  fill.second = std::move(skew);
  return fill;
}

WarmupFill WarmupFill::Of(Function function) {
  WarmupFill fill(0);
  fill.kind = Kind::kFunction;
  fill.function = std::move(function);
  return fill;
}

}  // namespace v0
}  // namespace tuneonce
