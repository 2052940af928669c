#include "reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace llm {
namespace {

using Matrix = std::vector<float>;  // Row by row.

Matrix FloatsOf(const ModelShape& shape, Weight weight, std::int64_t layer = 0) {
  const std::vector<Half> halves = MakeWeight(shape, weight, layer);
  Matrix floats(halves.size());
  std::transform(halves.begin(), halves.end(), floats.begin(), ToFloat);
  return floats;
}

/// (m, k) times (k, n).
Matrix Product(const Matrix& a, const Matrix& b, std::int64_t k) {
  const auto depth = static_cast<std::size_t>(k), rows = a.size() / depth, columns = b.size() / depth;
  Matrix c(rows * columns, 0.0f);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < depth; ++i) {
      for (std::size_t column = 0; column < columns; ++column) {
        c[row * columns + column] += a[row * depth + i] * b[i * columns + column];
      }
    }
  }
  return c;
}

Matrix Normalized(const Matrix& x, std::int64_t width, float eps) {
  Matrix y = x;
  const auto columns = static_cast<std::ptrdiff_t>(width);
  for (auto row = y.begin(); row != y.end(); row += columns) {
    float sum = 0;
    for (auto each = row; each != row + columns; ++each) sum += *each * *each;
    for (auto each = row; each != row + columns; ++each) {
      *each /= std::sqrt(sum / static_cast<float>(width) + eps);
    }
  }
  return y;
}

/// Of each head of `x` (tokens, heads, head_dim), in place: elements i and i + head_dim / 2 turned by the position.
void Rotate(Matrix& x, std::int64_t heads, float base) {
  constexpr std::int64_t kHalf = ModelShape::kHeadDim / 2;
  for (std::size_t at = 0; at < x.size(); at += static_cast<std::size_t>(ModelShape::kHeadDim)) {
    const auto position = static_cast<double>(static_cast<std::int64_t>(at) / ModelShape::kHeadDim / heads);
    for (std::int64_t i = 0; i < kHalf; ++i) {
      const double angle = position * std::pow(static_cast<double>(base), -static_cast<double>(i) / kHalf);
      float& low = x[at + static_cast<std::size_t>(i)];
      float& high = x[at + static_cast<std::size_t>(i + kHalf)];
      const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
      const float was = low;
      low = was * c - high * s;
      high = high * c + was * s;
    }
  }
}

/// Causal attention; heads / kv_heads heads of queries share one of keys.
Matrix Attended(const Matrix& q, const Matrix& k, const Matrix& v, std::int64_t heads, std::int64_t kv_heads) {
  constexpr std::int64_t kDim = ModelShape::kHeadDim;
  const std::int64_t tokens = static_cast<std::int64_t>(q.size()) / heads / kDim;
  Matrix o(q.size(), 0.0f);
  for (std::int64_t row = 0; row < tokens * heads; ++row) {
    const std::int64_t token = row / heads, kv_head = row % heads / (heads / kv_heads);
    const float* query = &q[static_cast<std::size_t>(row * kDim)];
    std::vector<float> weights;
    float sum = 0;
    for (std::int64_t other = 0; other <= token; ++other) {
      const float* key = &k[static_cast<std::size_t>((other * kv_heads + kv_head) * kDim)];
      float score = 0;
      for (std::int64_t i = 0; i < kDim; ++i) score += query[i] * key[i];
      weights.push_back(std::exp(score / std::sqrt(static_cast<float>(kDim))));
      sum += weights.back();
    }
    for (std::int64_t other = 0; other <= token; ++other) {
      const float* value = &v[static_cast<std::size_t>((other * kv_heads + kv_head) * kDim)];
      for (std::int64_t i = 0; i < kDim; ++i) {
        o[static_cast<std::size_t>(row * kDim + i)] += weights[static_cast<std::size_t>(other)] / sum * value[i];
      }
    }
  }
  return o;
}

void Add(const Matrix& x, Matrix& y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += x[i];
}

}  // namespace

Reference::Reference(const ModelShape& shape)
    : shape_(shape), embedding_(FloatsOf(shape, Weight::kEmbedding)), to_logits_(FloatsOf(shape, Weight::kLogits)) {
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    auto of = [&](Weight weight) { return FloatsOf(shape, weight, i); };
    layers_.push_back({of(Weight::kQuery), of(Weight::kKey), of(Weight::kValue), of(Weight::kOutput), of(Weight::kGate),
                       of(Weight::kUp), of(Weight::kDown)});
  }
}

std::vector<float> Reference::Logits(const std::vector<std::int32_t>& tokens) const {
  const std::int64_t hidden = shape_.hidden;
  Matrix h;
  for (std::int32_t token : tokens) {
    const auto row = embedding_.begin() + token * hidden;
    h.insert(h.end(), row, row + hidden);
  }
  for (const Layer& layer : layers_) {
    const Matrix normed = Normalized(h, hidden, shape_.eps);
    Matrix q = Product(normed, layer.query, hidden), k = Product(normed, layer.key, hidden);
    Rotate(q, shape_.heads, shape_.rope_base);
    Rotate(k, shape_.kv_heads, shape_.rope_base);
    const Matrix attended = Attended(q, k, Product(normed, layer.value, hidden), shape_.heads, shape_.kv_heads);
    Add(Product(attended, layer.output, shape_.heads * ModelShape::kHeadDim), h);

    const Matrix mlp = Normalized(h, hidden, shape_.eps);
    Matrix inner = Product(mlp, layer.gate, hidden);
    const Matrix up = Product(mlp, layer.up, hidden);
    for (std::size_t i = 0; i < inner.size(); ++i) inner[i] = inner[i] / (1 + std::exp(-inner[i])) * up[i];
    Add(Product(inner, layer.down, shape_.inner), h);
  }
  return Product(Normalized(h, hidden, shape_.eps), to_logits_, hidden);
}

}  // namespace llm
