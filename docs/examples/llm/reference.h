// What the model computes, written down once more: on the host, in float, without caches, batches or buckets.
#ifndef TUNEONCE_EXAMPLES_LLM_REFERENCE_H_
#define TUNEONCE_EXAMPLES_LLM_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "weights.h"

namespace llm {

/// Logits (tokens, vocab), row by row: of row t those for the token behind tokens[0..t]. Slow: for small models.
class Reference {
 public:
  explicit Reference(const ModelShape& shape);
  std::vector<float> Logits(const std::vector<std::int32_t>& tokens) const;

 private:
  struct Layer {
    std::vector<float> query, key, value, output, gate, up, down;
  };
  ModelShape shape_;
  std::vector<float> embedding_, to_logits_;
  std::vector<Layer> layers_;
};

}  // namespace llm

#endif  // TUNEONCE_EXAMPLES_LLM_REFERENCE_H_
