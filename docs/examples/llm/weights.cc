#include "weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace llm {
namespace {

/// The integer hash "lowbias32" of Chris Wellons (https://nullprogram.com/blog/2018/07/31/).
std::uint32_t Hash(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

}  // namespace

float ToFloat(Half half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

Half ToHalf(float value) {
  const auto sign = static_cast<Half>(std::signbit(value) ? 0x8000 : 0);
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<Half>(sign | 0x7e00);
  if (size == 0) return sign;
  if (size >= 65520.0f) return static_cast<Half>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(size, &exponent);                    // size < 2^exponent.
  const int unit = std::max(exponent - 11, -24);  // Of the last of 11 bits; subnormals have fewer.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(size, -unit)));
  // From 1024 units on, the first bit is implied: it counts as the exponent's.
  return static_cast<Half>(sign | (((unit + 24) << 10) + units));
}

WeightExtents ExtentsOf(const ModelShape& shape, Weight weight) {
  const std::int64_t of_heads = shape.heads * ModelShape::kHeadDim, of_keys = shape.kv_heads * ModelShape::kHeadDim;
  switch (weight) {
    case Weight::kEmbedding:
      return {shape.vocab, shape.hidden};
    case Weight::kNorm:
      return {1, shape.hidden};
    case Weight::kLogits:
      return {shape.hidden, shape.vocab};
    case Weight::kQuery:
      return {shape.hidden, of_heads};
    case Weight::kKey:
    case Weight::kValue:
      return {shape.hidden, of_keys};
    case Weight::kOutput:
      return {of_heads, shape.hidden};
    case Weight::kGate:
    case Weight::kUp:
      return {shape.hidden, shape.inner};
    case Weight::kDown:
      return {shape.inner, shape.hidden};
  }
  return {0, 0};
}

std::vector<Half> MakeWeight(const ModelShape& shape, Weight weight, std::int64_t layer) {
  const WeightExtents extents = ExtentsOf(shape, weight);
  std::vector<Half> numbers(static_cast<std::size_t>(extents.rows * extents.columns), ToHalf(1.0f));
  if (weight == Weight::kNorm) return numbers;
  int exponent = 0;  // Of the scale.
  while (weight != Weight::kEmbedding && std::ldexp(1.0, -2 * exponent) > 3.0 / static_cast<double>(extents.rows)) {
    ++exponent;
  }
  const auto seed = static_cast<std::uint32_t>(layer * 16 + static_cast<std::int64_t>(weight) + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto random = static_cast<int>(Hash(static_cast<std::uint32_t>(i) ^ Hash(seed)) >> 21);  // 11 bits.
    numbers[i] = ToHalf(std::ldexp(static_cast<float>(random - 1024), -10 - exponent));
  }
  return numbers;
}

}  // namespace llm
