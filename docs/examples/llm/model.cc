#include "model.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "add_rows_bundle.h"
#include "append_kv_bundle.h"
#include "decode_attention_bundle.h"
#include "dual_gemm_bundle.h"
#include "gather_rows_bundle.h"
#include "matmul_bundle.h"
#include "next_token_bundle.h"
#include "rms_norm_bundle.h"
#include "rope_bundle.h"
#include "rotary_tables_bundle.h"
#include "varlen_attention_bundle.h"

namespace llm {
namespace {

using Shapes = std::vector<TunedKernel::Shape>;

constexpr std::int64_t kHeadDim = ModelShape::kHeadDim, kPairs = kHeadDim / 2;
const float kScale = 1 / std::sqrt(static_cast<float>(kHeadDim));

}  // namespace

Result<Tensor> Tensor::Make(StreamView stream, DType dtype, std::vector<std::int64_t> extents) {
  std::size_t bytes = tuneonce::DTypeBytes(dtype);
  for (std::int64_t extent : extents) bytes *= static_cast<std::size_t>(extent);
  TUNEONCE_ASSIGN_OR_RETURN(tuneonce::DeviceBuffer buffer, tuneonce::DeviceBuffer::Allocate(stream, bytes));
  TUNEONCE_RETURN_IF_ERROR(buffer.Fill(0));
  return Tensor(std::move(buffer), dtype, std::move(extents));
}

Result<Tensor> Tensor::Of(StreamView stream, const std::vector<Half>& values, WeightExtents extents) {
  const std::vector<std::int64_t> vector = {extents.columns}, matrix = {extents.rows, extents.columns};
  TUNEONCE_ASSIGN_OR_RETURN(Tensor tensor, Make(stream, DType::kFloat16, extents.rows == 1 ? vector : matrix));
  TUNEONCE_RETURN_IF_ERROR(tensor.Write(values));
  return tensor;
}

TensorView Tensor::Rows(std::int64_t rows) const {
  std::vector<std::int64_t> extents = extents_;
  extents[0] = rows;
  return TensorView::Contiguous(buffer_.data(), dtype_, extents.data(), static_cast<int>(extents.size()));
}
TensorView Tensor::Flat(std::int64_t rows) const {
  return TensorView::Contiguous(buffer_.data(), dtype_, {rows * extents_[1]});
}
TensorView Tensor::Heads(std::int64_t rows) const {
  return TensorView::Contiguous(buffer_.data(), dtype_, {rows, extents_[1] / kHeadDim, kHeadDim});
}

Result<Kernels> Kernels::Make(const std::function<Result<TunedKernel>(const tuneonce::EmbeddedBundle&)>& make) {
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel gather_rows, make(gather_rows_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel rotary_tables, make(rotary_tables_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel append_kv, make(append_kv_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel add_rows, make(add_rows_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel next_token, make(next_token_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel rms_norm, make(rms_norm_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel matmul, make(matmul_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel rope, make(rope_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel varlen_attention, make(varlen_attention_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel decode_attention, make(decode_attention_bundle));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel dual_gemm, make(dual_gemm_bundle));
  return Kernels{std::move(gather_rows),      std::move(rotary_tables),    std::move(append_kv), std::move(add_rows),
                 std::move(next_token),       std::move(rms_norm),         std::move(matmul),    std::move(rope),
                 std::move(varlen_attention), std::move(decode_attention), std::move(dual_gemm)};
}

std::vector<TunedKernel*> Kernels::All() {
  return {&gather_rows, &rotary_tables, &append_kv,        &add_rows,         &next_token, &rms_norm,
          &matmul,      &rope,          &varlen_attention, &decode_attention, &dual_gemm};
}

Result<Model::Layer> Model::MakeLayer(StreamView stream, const ModelShape& shape, std::int64_t sequences,
                                      std::int64_t layer) {
  auto make = [&](Weight weight) {
    return Tensor::Of(stream, MakeWeight(shape, weight, layer), ExtentsOf(shape, weight));
  };
  const std::vector<std::int64_t> cache = {sequences, shape.kv_heads, shape.context, kHeadDim};
  TUNEONCE_ASSIGN_OR_RETURN(Tensor attention_norm, make(Weight::kNorm));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor query, make(Weight::kQuery));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor key, make(Weight::kKey));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor value, make(Weight::kValue));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor output, make(Weight::kOutput));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor mlp_norm, make(Weight::kNorm));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor gate, make(Weight::kGate));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor up, make(Weight::kUp));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor down, make(Weight::kDown));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor k_cache, Tensor::Make(stream, DType::kFloat16, cache));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor v_cache, Tensor::Make(stream, DType::kFloat16, cache));
  return Layer{std::move(attention_norm), std::move(query),    std::move(key),    std::move(value),
               std::move(output),         std::move(mlp_norm), std::move(gate),   std::move(up),
               std::move(down),           std::move(k_cache),  std::move(v_cache)};
}

Result<Model::Weights> Model::MakeWeights(StreamView stream, const ModelShape& shape, std::int64_t sequences) {
  auto make = [&](Weight weight) { return Tensor::Of(stream, MakeWeight(shape, weight), ExtentsOf(shape, weight)); };
  TUNEONCE_ASSIGN_OR_RETURN(Tensor embedding, make(Weight::kEmbedding));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor norm, make(Weight::kNorm));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor logits, make(Weight::kLogits));
  std::vector<Layer> layers;
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    TUNEONCE_ASSIGN_OR_RETURN(Layer layer, MakeLayer(stream, shape, sequences, i));
    layers.push_back(std::move(layer));
  }
  return Weights{std::move(embedding), std::move(norm), std::move(logits), std::move(layers)};
}

Result<Model::Scratch> Model::MakeScratch(StreamView stream, const ModelShape& shape, std::int64_t rows,
                                          std::int64_t sequences) {
  auto make = [&](std::int64_t extent, std::int64_t columns, DType dtype = DType::kFloat16) {
    return Tensor::Make(stream, dtype, {extent, columns});
  };
  const std::int64_t of_heads = shape.heads * kHeadDim, of_keys = shape.kv_heads * kHeadDim;
  TUNEONCE_ASSIGN_OR_RETURN(Tensor hidden, make(rows, shape.hidden));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor normed, make(rows, shape.hidden));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor q, make(rows, of_heads));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor k, make(rows, of_keys));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor v, make(rows, of_keys));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor attended, make(rows, of_heads));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor projected, make(rows, shape.hidden));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor inner, make(rows, shape.inner));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor cosines, make(rows, kPairs, DType::kFloat32));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor sines, make(rows, kPairs, DType::kFloat32));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor last, make(sequences, shape.hidden));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor logits, make(sequences, shape.vocab));
  return Scratch{std::move(hidden),  std::move(normed),   std::move(q),         std::move(k),
                 std::move(v),       std::move(attended), std::move(projected), std::move(inner),
                 std::move(cosines), std::move(sines),    std::move(last),      std::move(logits)};
}

Result<Model::Places> Model::MakePlaces(StreamView stream, std::int64_t tokens) {
  TUNEONCE_ASSIGN_OR_RETURN(Tensor which, Tensor::Make(stream, DType::kInt32, {tokens}));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor positions, Tensor::Make(stream, DType::kInt32, {tokens}));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor slots, Tensor::Make(stream, DType::kInt32, {tokens}));
  return Places{std::move(which), std::move(positions), std::move(slots)};
}

Result<Model::State> Model::MakeState(StreamView stream, const ModelShape& shape, std::int64_t tokens,
                                      std::int64_t sequences) {
  auto make = [&](std::vector<std::int64_t> extents) {
    return Tensor::Make(stream, DType::kInt32, std::move(extents));
  };
  TUNEONCE_ASSIGN_OR_RETURN(Places prompt, MakePlaces(stream, tokens));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor cu_seqlens, make({sequences + 1}));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor last_rows, make({sequences}));
  TUNEONCE_ASSIGN_OR_RETURN(Places decoding, MakePlaces(stream, sequences));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor lengths, make({sequences}));
  TUNEONCE_ASSIGN_OR_RETURN(Tensor counters, make({sequences, shape.heads}));
  return State{std::move(prompt),   std::move(cu_seqlens), std::move(last_rows),
               std::move(decoding), std::move(lengths),    std::move(counters)};
}

Result<Model> Model::Make(StreamView stream, Kernels kernels, const ModelShape& shape, const Buckets& buckets) {
  const std::int64_t tokens = buckets.prefill_tokens.back(), sequences = buckets.decode_sequences.back();
  TUNEONCE_ASSIGN_OR_RETURN(Weights weights, MakeWeights(stream, shape, sequences));
  TUNEONCE_ASSIGN_OR_RETURN(Scratch scratch, MakeScratch(stream, shape, std::max(tokens, sequences), sequences));
  TUNEONCE_ASSIGN_OR_RETURN(State state, MakeState(stream, shape, tokens, sequences));
  return Model(shape, buckets, std::move(kernels), std::move(weights), std::move(scratch), std::move(state));
}

Status Model::WarmUpAndFreeze(CUstream stream) {
  const std::int64_t of_heads = shape_.heads * kHeadDim, of_keys = shape_.kv_heads * kHeadDim;
  const auto causal = static_cast<std::int64_t>(true);
  Shapes gather, tables, append, add, next, norm, products, rotary, prefill, decode, gated;
  auto any_step = [&](std::int64_t rows) {
    gather.push_back({{"V", shape_.vocab}, {"T", rows}, {"W", shape_.hidden}});
    tables.push_back({{"T", rows}, {"R", kPairs}});
    append.push_back(
        {{"T", rows}, {"B", num_sequences()}, {"C", shape_.context}, {"G", shape_.kv_heads}, {"D", kHeadDim}});
    add.push_back({{"N", rows * shape_.hidden}});
    norm.push_back({{"M", rows}, {"N", shape_.hidden}});
    for (std::int64_t heads : {shape_.heads, shape_.kv_heads}) {
      rotary.push_back({{"T", rows}, {"H", heads}, {"D", kHeadDim}, {"R", kPairs}});
    }
    products.push_back({{"M", rows}, {"N", of_heads}, {"K", shape_.hidden}});
    products.push_back({{"M", rows}, {"N", of_keys}, {"K", shape_.hidden}});
    products.push_back({{"M", rows}, {"N", shape_.hidden}, {"K", of_heads}});
    products.push_back({{"M", rows}, {"N", shape_.hidden}, {"K", shape_.inner}});
    gated.push_back({{"M", rows}, {"N", shape_.inner}, {"K", shape_.hidden}});
  };
  for (std::int64_t tokens : buckets_.prefill_tokens) {
    any_step(tokens);
    // The last row of each sequence. The key omits "V", so that each extent of it is verified by its own shape.
    gather.push_back({{"V", tokens}, {"T", num_sequences()}, {"W", shape_.hidden}});
    prefill.push_back({{"T", tokens},
                       {"OFFSETS", num_sequences() + 1},
                       {"H", shape_.heads},
                       {"G", shape_.kv_heads},
                       {"D", kHeadDim},
                       {"causal", causal}});
  }
  for (std::int64_t sequences : buckets_.decode_sequences) {
    any_step(sequences);
    products.push_back({{"M", sequences}, {"N", shape_.vocab}, {"K", shape_.hidden}});
    next.push_back({{"B", sequences}, {"V", shape_.vocab}});
    decode.push_back(
        {{"B", sequences}, {"C", shape_.context}, {"H", shape_.heads}, {"G", shape_.kv_heads}, {"D", kHeadDim}});
  }
  // One list, so that ranks can divide it.
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<tuneonce::WarmedKey> keys,
                            tuneonce::WarmupAll(stream, {{&kernels_.gather_rows, gather},
                                                         {&kernels_.rotary_tables, tables},
                                                         {&kernels_.append_kv, append},
                                                         {&kernels_.add_rows, add},
                                                         {&kernels_.next_token, next},
                                                         {&kernels_.rms_norm, norm},
                                                         {&kernels_.matmul, products},
                                                         {&kernels_.rope, rotary},
                                                         {&kernels_.varlen_attention, prefill},
                                                         {&kernels_.decode_attention, decode},
                                                         {&kernels_.dual_gemm, gated}}));
  for (const tuneonce::WarmedKey& key : keys) TUNEONCE_RETURN_IF_ERROR(key.status);
  for (TunedKernel* kernel : kernels_.All()) kernel->Freeze();
  return Status();
}

Result<std::int64_t> Model::Begin(const std::vector<std::vector<std::int32_t>>& sequences) {
  std::vector<std::int32_t> tokens, positions, slots, offsets = {0}, last_rows;
  std::vector<std::int32_t> last_positions, lengths;
  const auto context = static_cast<std::int32_t>(shape_.context);
  for (const std::vector<std::int32_t>& sequence : sequences) {
    const auto length = static_cast<std::int32_t>(sequence.size());
    if (length == 0 || length > context) {
      return tuneonce::InvalidArgumentError("a sequence has " + std::to_string(length) + " tokens: it may have 1 to " +
                                            std::to_string(context));
    }
    for (std::int32_t position = 0; position < length; ++position) {
      const std::int32_t token = sequence[static_cast<std::size_t>(position)];
      if (token < 0 || token >= shape_.vocab) {
        return tuneonce::InvalidArgumentError("there is no token " + std::to_string(token) + " of " +
                                              std::to_string(shape_.vocab));
      }
      tokens.push_back(token);
      positions.push_back(position);
      slots.push_back(static_cast<std::int32_t>(last_rows.size()) * context + position);
    }
    offsets.push_back(static_cast<std::int32_t>(tokens.size()));
    last_rows.push_back(offsets.back() - 1);
    last_positions.push_back(length - 1);
    lengths.push_back(length);
  }
  const auto bucket = std::lower_bound(buckets_.prefill_tokens.begin(), buckets_.prefill_tokens.end(), tokens.size(),
                                       [](std::int64_t a, std::size_t b) { return static_cast<std::size_t>(a) < b; });
  if (bucket == buckets_.prefill_tokens.end() || last_rows.size() > static_cast<std::size_t>(num_sequences())) {
    return tuneonce::InvalidArgumentError(
        std::to_string(last_rows.size()) + " sequences of " + std::to_string(tokens.size()) + " tokens: there may be " +
        std::to_string(num_sequences()) + " of " + std::to_string(buckets_.prefill_tokens.back()));
  }
  // What fills up a bucket: tokens that go nowhere, sequences of nothing; a sequence that decodes beside them is of its
  // own caches.
  const auto room = static_cast<std::size_t>(buckets_.prefill_tokens.back());
  const auto places = static_cast<std::size_t>(num_sequences());
  tokens.resize(room, 0);
  positions.resize(room, 0);
  slots.resize(room, -1);
  offsets.resize(places + 1, offsets.back());
  last_rows.resize(places, 0);
  last_positions.resize(places, 0);
  lengths.resize(places, 1);
  TUNEONCE_RETURN_IF_ERROR(state_.prompt.tokens.Write(tokens));
  TUNEONCE_RETURN_IF_ERROR(state_.prompt.positions.Write(positions));
  TUNEONCE_RETURN_IF_ERROR(state_.prompt.slots.Write(slots));
  TUNEONCE_RETURN_IF_ERROR(state_.cu_seqlens.Write(offsets));
  TUNEONCE_RETURN_IF_ERROR(state_.last_rows.Write(last_rows));
  TUNEONCE_RETURN_IF_ERROR(state_.sequences.positions.Write(last_positions));
  TUNEONCE_RETURN_IF_ERROR(state_.lengths.Write(lengths));
  return *bucket;
}

Result<std::int64_t> Model::DecodeBucket(std::size_t sequences) const {
  for (std::int64_t bucket : buckets_.decode_sequences) {
    if (sequences <= static_cast<std::size_t>(bucket)) return bucket;
  }
  return tuneonce::InvalidArgumentError(std::to_string(sequences) + " sequences: there may be " +
                                        std::to_string(num_sequences()));
}

Status Model::Prefill(CUstream stream, std::int64_t tokens) {
  TUNEONCE_RETURN_IF_ERROR(RunLayers(stream, tokens, state_.prompt, [&](const Layer&) {
    return kernels_.varlen_attention.Launch(stream, scratch_.q.Heads(tokens), scratch_.k.Heads(tokens),
                                            scratch_.v.Heads(tokens), state_.cu_seqlens.view(),
                                            scratch_.attended.Heads(tokens), kScale, true);
  }));
  TUNEONCE_RETURN_IF_ERROR(
      kernels_.gather_rows.Launch(stream, scratch_.hidden.Rows(tokens), state_.last_rows.view(), scratch_.last.view()));
  return Choose(stream, scratch_.last.view(), num_sequences());
}

Status Model::Decode(CUstream stream, std::int64_t sequences) {
  TUNEONCE_RETURN_IF_ERROR(RunLayers(stream, sequences, state_.sequences, [&](const Layer& layer) {
    return kernels_.decode_attention.Launch(
        stream, scratch_.q.Heads(sequences), layer.k_cache.Rows(sequences), layer.v_cache.Rows(sequences),
        state_.lengths.Rows(sequences), scratch_.attended.Heads(sequences), state_.counters.Rows(sequences), kScale);
  }));
  return Choose(stream, scratch_.hidden.Rows(sequences), sequences);
}

Status Model::RunLayers(CUstream stream, std::int64_t rows, const Places& places,
                        const std::function<Status(const Layer&)>& attend) {
  TUNEONCE_RETURN_IF_ERROR(kernels_.gather_rows.Launch(stream, weights_.embedding.view(), places.tokens.Rows(rows),
                                                       scratch_.hidden.Rows(rows)));
  TUNEONCE_RETURN_IF_ERROR(kernels_.rotary_tables.Launch(
      stream, places.positions.Rows(rows), scratch_.cosines.Rows(rows), scratch_.sines.Rows(rows), shape_.rope_base));
  for (const Layer& layer : weights_.layers) {
    TUNEONCE_RETURN_IF_ERROR(RunLayer(stream, rows, places, layer, attend));
  }
  return Status();
}

Status Model::RunLayer(CUstream stream, std::int64_t rows, const Places& places, const Layer& layer,
                       const std::function<Status(const Layer&)>& attend) {
  Kernels& run = kernels_;
  const Scratch& s = scratch_;
  const TensorView hidden = s.hidden.Rows(rows), normed = s.normed.Rows(rows), projected = s.projected.Rows(rows);
  const TensorView cosines = s.cosines.Rows(rows), sines = s.sines.Rows(rows);
  TUNEONCE_RETURN_IF_ERROR(run.rms_norm.Launch(stream, hidden, layer.attention_norm.view(), normed, shape_.eps));
  TUNEONCE_RETURN_IF_ERROR(run.matmul.Launch(stream, normed, layer.query.view(), s.q.Rows(rows)));
  TUNEONCE_RETURN_IF_ERROR(run.matmul.Launch(stream, normed, layer.key.view(), s.k.Rows(rows)));
  TUNEONCE_RETURN_IF_ERROR(run.matmul.Launch(stream, normed, layer.value.view(), s.v.Rows(rows)));
  TUNEONCE_RETURN_IF_ERROR(run.rope.Launch(stream, s.q.Heads(rows), cosines, sines));
  TUNEONCE_RETURN_IF_ERROR(run.rope.Launch(stream, s.k.Heads(rows), cosines, sines));
  TUNEONCE_RETURN_IF_ERROR(run.append_kv.Launch(stream, s.k.Heads(rows), s.v.Heads(rows), places.slots.Rows(rows),
                                                layer.k_cache.view(), layer.v_cache.view()));
  TUNEONCE_RETURN_IF_ERROR(attend(layer));
  TUNEONCE_RETURN_IF_ERROR(run.matmul.Launch(stream, s.attended.Rows(rows), layer.output.view(), projected));
  TUNEONCE_RETURN_IF_ERROR(run.add_rows.Launch(stream, s.projected.Flat(rows), s.hidden.Flat(rows)));

  TUNEONCE_RETURN_IF_ERROR(run.rms_norm.Launch(stream, hidden, layer.mlp_norm.view(), normed, shape_.eps));
  TUNEONCE_RETURN_IF_ERROR(
      run.dual_gemm.Launch(stream, normed, layer.gate.view(), layer.up.view(), s.inner.Rows(rows)));
  TUNEONCE_RETURN_IF_ERROR(run.matmul.Launch(stream, s.inner.Rows(rows), layer.down.view(), projected));
  return run.add_rows.Launch(stream, s.projected.Flat(rows), s.hidden.Flat(rows));
}

Status Model::Choose(CUstream stream, const TensorView& hidden, std::int64_t sequences) {
  const TensorView normed = scratch_.normed.Rows(sequences), logits = scratch_.logits.Rows(sequences);
  TUNEONCE_RETURN_IF_ERROR(kernels_.rms_norm.Launch(stream, hidden, weights_.norm.view(), normed, shape_.eps));
  TUNEONCE_RETURN_IF_ERROR(kernels_.matmul.Launch(stream, normed, weights_.logits.view(), logits));
  const Places& places = state_.sequences;
  return kernels_.next_token.Launch(stream, logits, places.tokens.Rows(sequences), places.positions.Rows(sequences),
                                    state_.lengths.Rows(sequences), places.slots.Rows(sequences),
                                    static_cast<std::int32_t>(shape_.context));
}

}  // namespace llm
