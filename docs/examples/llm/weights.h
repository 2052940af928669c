// Sizes of the model, and its weights: made up of a seed, the same here and in llm.py to the bit.
#ifndef TUNEONCE_EXAMPLES_LLM_WEIGHTS_H_
#define TUNEONCE_EXAMPLES_LLM_WEIGHTS_H_

#include <cstdint>
#include <vector>

namespace llm {

/// A number of half precision, by its bits.
using Half = std::uint16_t;
float ToFloat(Half half);
/// Rounded to nearest, ties to even.
Half ToHalf(float value);

/// Sizes, in elements.
struct ModelShape {
  static constexpr std::int64_t kHeadDim = 128;  // What the bundle rope is for.
  std::int64_t layers = 2;
  std::int64_t hidden = 256;
  std::int64_t heads = 2;
  std::int64_t kv_heads = 1;
  std::int64_t inner = 256;
  std::int64_t vocab = 256;
  std::int64_t context = 64;  ///< Tokens of a sequence that the caches hold.
  float rope_base = 10000.0f;
  float eps = 1e-5f;

  /// Returns the shape of a model with about 0.5e9 parameters.
  static ModelShape Small() {
    ModelShape shape;
    shape.layers = 16;
    shape.hidden = 1536;
    shape.heads = 12;
    shape.kv_heads = 4;
    shape.inner = 4096;
    shape.vocab = 32768;
    shape.context = 2048;
    return shape;
  }
};

enum class Weight { kEmbedding, kNorm, kLogits, kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };

/// (rows, columns) of a weight, as matmul takes it: (K, N). kNorm: one row.
struct WeightExtents {
  std::int64_t rows, columns;
};
WeightExtents ExtentsOf(const ModelShape& shape, Weight weight);
/// Row by row. Uniform in [-s, s), s a power of two near sqrt(3 / rows), so that products keep their scale; of the
/// embedding in [-1, 1); of kNorm ones. `layer`: of those that each layer has its own of.
std::vector<Half> MakeWeight(const ModelShape& shape, Weight weight, std::int64_t layer = 0);

}  // namespace llm

#endif  // TUNEONCE_EXAMPLES_LLM_WEIGHTS_H_
