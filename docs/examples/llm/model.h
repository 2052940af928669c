// A small language model of the Llama kind, in half precision, each kernel of which is a bundle: rms_norm, matmul,
// rope, varlen_attention, decode_attention and dual_gemm are tuneonce's, five small ones stand in bundles/.
#ifndef TUNEONCE_EXAMPLES_LLM_MODEL_H_
#define TUNEONCE_EXAMPLES_LLM_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"
#include "tuneonce/tuned_kernel.h"
#include "weights.h"

namespace llm {

using tuneonce::DType;
using tuneonce::Result;
using tuneonce::Status;
using tuneonce::StreamView;
using tuneonce::TensorView;
using tuneonce::TunedKernel;

/// A tensor on the device, with memory of its own.
class Tensor {
 public:
  /// All zeros.
  static Result<Tensor> Make(StreamView stream, DType dtype, std::vector<std::int64_t> extents);
  /// A matrix, of one row: a vector.
  static Result<Tensor> Of(StreamView stream, const std::vector<Half>& values, WeightExtents extents);

  /// Its first rows.
  TensorView Rows(std::int64_t rows) const;
  TensorView view() const { return Rows(extents_[0]); }
  /// The elements of its first rows, in one dimension.
  TensorView Flat(std::int64_t rows) const;
  /// Its first rows as (rows, heads, kHeadDim).
  TensorView Heads(std::int64_t rows) const;

  /// Waits.
  template <typename T>
  Status Write(const std::vector<T>& values) const {
    TUNEONCE_RETURN_IF_ERROR(buffer_.CopyFromHost(values.data(), values.size() * sizeof(T)));
    return buffer_.stream().Synchronize();
  }
  /// The first `count` elements. Waits.
  template <typename T>
  Result<std::vector<T>> Read(std::int64_t count) const {
    std::vector<T> values(static_cast<std::size_t>(count));
    TUNEONCE_RETURN_IF_ERROR(buffer_.CopyToHost(values.data(), values.size() * sizeof(T)));
    TUNEONCE_RETURN_IF_ERROR(buffer_.stream().Synchronize());
    return values;
  }

 private:
  Tensor(tuneonce::DeviceBuffer buffer, DType dtype, std::vector<std::int64_t> extents)
      : buffer_(std::move(buffer)), dtype_(dtype), extents_(std::move(extents)) {}

  tuneonce::DeviceBuffer buffer_;
  DType dtype_;
  std::vector<std::int64_t> extents_;
};

/// The sizes that steps are run at: each is warmed up, and can be captured into a graph.
struct Buckets {
  std::vector<std::int64_t> prefill_tokens;    ///< Of all sequences together; ascending.
  std::vector<std::int64_t> decode_sequences;  ///< Ascending; the last is how many sequences there can be.
};

struct Kernels {
  TunedKernel gather_rows, rotary_tables, append_kv, add_rows, next_token;
  TunedKernel rms_norm, matmul, rope, varlen_attention, decode_attention, dual_gemm;

  /// `make` makes one of its embedded bundle: TunedKernel::FromBundle, say.
  static Result<Kernels> Make(const std::function<Result<TunedKernel>(const tuneonce::EmbeddedBundle&)>& make);
  std::vector<TunedKernel*> All();
};

/// The model and the memory of its steps. A step reads and writes fixed addresses, so that it can be captured. Thread
/// rule: one thread, and one stream, at a time.
class Model {
 public:
  static Result<Model> Make(StreamView stream, Kernels kernels, const ModelShape& shape, const Buckets& buckets);

  /// Tunes every shape of every bucket, or takes what the store or a compiled bundle has; nothing is tuned after it.
  Status WarmUpAndFreeze(CUstream stream);

  /// Begins with these sequences, each of at least one token: writes what Prefill reads, and waits. Returns the bucket
  /// of tokens. Error: InvalidArgument for more than the buckets or the caches have room for.
  Result<std::int64_t> Begin(const std::vector<std::vector<std::int32_t>>& sequences);
  /// Puts a prefill of a bucket of tokens into the stream: it fills the caches and chooses each sequence's next token.
  Status Prefill(CUstream stream, std::int64_t tokens);
  /// Puts one step of a bucket of sequences into the stream: it takes the chosen tokens, and chooses the next.
  Status Decode(CUstream stream, std::int64_t sequences);
  /// The smallest bucket of Decode for that many.
  Result<std::int64_t> DecodeBucket(std::size_t sequences) const;

  /// What the last step chose for each sequence, and the logits (sequences, vocab) that it chose by. Waits.
  Result<std::vector<std::int32_t>> ChosenTokens() const {
    return state_.sequences.tokens.Read<std::int32_t>(num_sequences());
  }
  Result<std::vector<Half>> Logits() const { return scratch_.logits.Read<Half>(num_sequences() * shape_.vocab); }

  const ModelShape& shape() const { return shape_; }
  const Buckets& buckets() const { return buckets_; }
  Kernels& kernels() { return kernels_; }

 private:
  struct Layer {
    Tensor attention_norm, query, key, value, output, mlp_norm, gate, up, down, k_cache, v_cache;
  };
  struct Weights {
    Tensor embedding, norm, logits;
    std::vector<Layer> layers;
  };
  /// Memory of a step.
  struct Scratch {
    Tensor hidden, normed, q, k, v, attended, projected, inner, cosines, sines, last, logits;
  };
  /// What of each token a step has to know.
  struct Places {
    Tensor tokens, positions, slots;
  };
  struct State {
    Places prompt;
    Tensor cu_seqlens, last_rows;  // Of the prompt.
    Places sequences;              // That decode.
    Tensor lengths;                // Theirs.
    Tensor counters;               // decode_attention's: zeros, which it leaves zeros.
  };

  Model(const ModelShape& shape, Buckets buckets, Kernels kernels, Weights weights, Scratch scratch, State state)
      : shape_(shape),
        buckets_(std::move(buckets)),
        kernels_(std::move(kernels)),
        weights_(std::move(weights)),
        scratch_(std::move(scratch)),
        state_(std::move(state)) {}

  static Result<Layer> MakeLayer(StreamView stream, const ModelShape& shape, std::int64_t sequences,
                                 std::int64_t layer);
  static Result<Weights> MakeWeights(StreamView stream, const ModelShape& shape, std::int64_t sequences);
  static Result<Scratch> MakeScratch(StreamView stream, const ModelShape& shape, std::int64_t rows,
                                     std::int64_t sequences);
  static Result<State> MakeState(StreamView stream, const ModelShape& shape, std::int64_t tokens,
                                 std::int64_t sequences);
  static Result<Places> MakePlaces(StreamView stream, std::int64_t tokens);

  Status RunLayers(CUstream stream, std::int64_t rows, const Places& places,
                   const std::function<Status(const Layer&)>& attend);
  Status RunLayer(CUstream stream, std::int64_t rows, const Places& places, const Layer& layer,
                  const std::function<Status(const Layer&)>& attend);
  Status Choose(CUstream stream, const TensorView& hidden, std::int64_t sequences);
  std::int64_t num_sequences() const { return buckets_.decode_sequences.back(); }

  ModelShape shape_;
  Buckets buckets_;
  Kernels kernels_;
  Weights weights_;
  Scratch scratch_;
  State state_;
};

}  // namespace llm

#endif  // TUNEONCE_EXAMPLES_LLM_MODEL_H_
