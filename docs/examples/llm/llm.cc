// A small engine in C++, without Python: prefill and decode steps of a language model whose kernels are bundles, for
// batches of several sizes.
//
//   tuneonce_llm [cpu|cuda] [tiny|small] [FOLDER]
//
// The order that an engine keeps: make, warm up (tunes, or loads what is known), freeze, capture a graph per bucket,
// replay. With FOLDER the bundles are read from there: compiled ahead (`tuneonce bundle compile`), say, so that no
// compiler is needed. All is generated twice, by launches and by graphs, which must agree to the bit; `tiny` is
// compared with arithmetic on the host, too. Exit code 0 if all that holds.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cuda/graph.h"
#include "model.h"
#include "reference.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

using namespace llm;  // NOLINT(google-build-using-namespace)
using tuneonce::GraphExec;

using Tokens = std::vector<std::int32_t>;

struct Size {
  ModelShape shape;
  Buckets buckets;
  int steps;
};

Size Tiny() {
  ModelShape shape;
  shape.heads = 4;
  shape.kv_heads = 2;
  return {shape, {{16, 64}, {1, 2, 4}}, 5};
}
Size Small() { return {ModelShape::Small(), {{256, 2048}, {1, 4, 16}}, 64}; }

/// What one batch was given and what came of it.
struct Generated {
  std::vector<Tokens> sequences;          // Their prompts, and then what was chosen.
  std::vector<std::vector<Half>> logits;  // Of each selection, of all sequences.
};

/// Puts a prefill or a step of a bucket into the stream.
using Step = std::function<Status(std::int64_t bucket)>;

Result<Generated> Generate(Model& model, std::vector<Tokens> prompts, int steps, const Step& prefill,
                           const Step& decode) {
  Generated generated{std::move(prompts), {}};
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t tokens, model.Begin(generated.sequences));
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t sequences, model.DecodeBucket(generated.sequences.size()));
  for (int i = 0; i <= steps; ++i) {
    TUNEONCE_RETURN_IF_ERROR(i == 0 ? prefill(tokens) : decode(sequences));
    TUNEONCE_ASSIGN_OR_RETURN(Tokens chosen, model.ChosenTokens());
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Half> logits, model.Logits());
    for (std::size_t s = 0; s < generated.sequences.size(); ++s) generated.sequences[s].push_back(chosen[s]);
    logits.resize(generated.sequences.size() * static_cast<std::size_t>(model.shape().vocab));
    generated.logits.push_back(std::move(logits));
  }
  return generated;
}

/// The largest difference of a logit from the reference's, on the tokens that were generated.
float LargestError(const ModelShape& shape, const Reference& reference, const Generated& generated) {
  const auto vocab = static_cast<std::size_t>(shape.vocab), steps = generated.logits.size();
  float largest = 0;
  for (std::size_t s = 0; s < generated.sequences.size(); ++s) {
    const Tokens& tokens = generated.sequences[s];
    const std::vector<float> expected = reference.Logits(tokens);
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t row = tokens.size() - steps + step - 1;  // The token that this step was given.
      for (std::size_t i = 0; i < vocab; ++i) {
        const float error = std::fabs(ToFloat(generated.logits[step][s * vocab + i]) - expected[row * vocab + i]);
        largest = error <= largest ? largest : error;  // A NaN becomes the largest.
      }
    }
  }
  return largest;
}

std::vector<Tokens> Prompts(const Size& size, std::size_t count) {
  std::vector<Tokens> prompts(count);
  const std::int64_t most = size.buckets.prefill_tokens.back() / static_cast<std::int64_t>(count) / 2;
  for (std::size_t s = 0; s < count; ++s) {
    for (std::int64_t i = 0; i <= most * static_cast<std::int64_t>(s + 1) / static_cast<std::int64_t>(count); ++i) {
      prompts[s].push_back(
          static_cast<std::int32_t>((i * 7919 + static_cast<std::int64_t>(s) * 104729) % size.shape.vocab));
    }
  }
  return prompts;
}

Result<std::map<std::int64_t, GraphExec>> Capture(StreamView stream, const std::vector<std::int64_t>& buckets,
                                                  const Step& step) {
  std::map<std::int64_t, GraphExec> graphs;
  for (std::int64_t bucket : buckets) {
    TUNEONCE_ASSIGN_OR_RETURN(GraphExec graph, GraphExec::Capture(stream, [&](CUstream) { return step(bucket); }));
    graphs.emplace(bucket, std::move(graph));
  }
  return graphs;
}

/// True if all agrees.
Result<bool> GenerateAll(Model& model, const Size& size, StreamView stream, bool has_reference) {
  const Step prefill = [&](std::int64_t bucket) { return model.Prefill(stream.get(), bucket); };
  const Step decode = [&](std::int64_t bucket) { return model.Decode(stream.get(), bucket); };
  TUNEONCE_ASSIGN_OR_RETURN(auto prefills, Capture(stream, size.buckets.prefill_tokens, prefill));
  TUNEONCE_ASSIGN_OR_RETURN(auto decodes, Capture(stream, size.buckets.decode_sequences, decode));
  const Step replay_prefill = [&](std::int64_t bucket) { return prefills.at(bucket).Launch(stream.get()); };
  const Step replay_decode = [&](std::int64_t bucket) { return decodes.at(bucket).Launch(stream.get()); };
  bool agrees = true;
  for (std::size_t count :
       {std::size_t{1}, std::size_t{3}, static_cast<std::size_t>(size.buckets.decode_sequences.back())}) {
    const std::vector<Tokens> prompts = Prompts(size, count);
    TUNEONCE_ASSIGN_OR_RETURN(Generated launched, Generate(model, prompts, size.steps, prefill, decode));
    TUNEONCE_ASSIGN_OR_RETURN(Generated replayed, Generate(model, prompts, size.steps, replay_prefill, replay_decode));
    const bool is_same = launched.sequences == replayed.sequences && launched.logits == replayed.logits;
    std::printf("%zu sequences, %d steps: by graphs %s", count, size.steps, is_same ? "the same" : "DIFFERENT");
    agrees = agrees && is_same;
    if (has_reference) {
      const float error = LargestError(size.shape, Reference(size.shape), launched);
      const bool is_right = error < 0.01f;  // Of logits of about 1; what lies between was rounded to 11 bits.
      std::printf(", largest error of a logit %.4f%s", static_cast<double>(error), is_right ? "" : ": WRONG");
      agrees = agrees && is_right;
    }
    std::printf("\ntokens:");
    for (std::size_t i = prompts[0].size(); i < launched.sequences[0].size(); ++i) {
      std::printf(" %d", launched.sequences[0][i]);
    }
    std::printf("\n");
  }
  return agrees;
}

Result<bool> Run(const std::string& device_name, const std::string& size_name, const std::string& folder) {
  const Size size = size_name == "small" ? Small() : Tiny();
  TUNEONCE_ASSIGN_OR_RETURN(tuneonce::Device device, tuneonce::OpenDevice(device_name));
  TUNEONCE_ASSIGN_OR_RETURN(tuneonce::Context context, tuneonce::Context::RetainPrimary(device));
  tuneonce::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(tuneonce::Stream stream, tuneonce::Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(Kernels kernels, Kernels::Make([&](const tuneonce::EmbeddedBundle& embedded) {
                              return folder.empty() ? TunedKernel::FromBundle(embedded)
                                                    : TunedKernel::FromBundle(folder + "/" + embedded.name);
                            }));
  TUNEONCE_ASSIGN_OR_RETURN(Model model, Model::Make(stream.view(), std::move(kernels), size.shape, size.buckets));
  TUNEONCE_RETURN_IF_ERROR(model.WarmUpAndFreeze(stream.get()));
  TUNEONCE_ASSIGN_OR_RETURN(bool agrees, GenerateAll(model, size, stream.view(), size_name != "small"));

  std::int64_t missed = 0, fallbacks = 0, tunes = 0;
  for (TunedKernel* kernel : model.kernels().All()) {
    const tuneonce::Counters counters = kernel->counters();
    missed += counters.frozen_misses;
    fallbacks += counters.fallbacks;
    tunes += counters.tunes;
    for (const std::string& key : kernel->frozen_misses()) {
      std::fprintf(stderr, "missed after freezing: %s at %s\n", kernel->definition().name().c_str(), key.c_str());
    }
  }
  std::printf("%d misses after freezing, %d fallbacks\n%d searches, %d compiles\n", static_cast<int>(missed),
              static_cast<int>(fallbacks), static_cast<int>(tunes),
              static_cast<int>(tuneonce::Runtime::Default()->num_compiles()));
  return agrees && missed == 0 && fallbacks == 0;
}

int main(int argc, char** argv) {
  const std::string size = argc > 2 ? argv[2] : "tiny";
  if (argc > 4 || (size != "tiny" && size != "small")) {
    std::fprintf(stderr, "usage: tuneonce_llm [cpu|cuda] [tiny|small] [FOLDER]\n");
    return 2;
  }
  Result<bool> agrees = Run(argc > 1 ? argv[1] : "cpu", size, argc > 3 ? argv[3] : "");
  if (!agrees.ok()) std::fprintf(stderr, "%s\n", agrees.status().ToString().c_str());
  return agrees.ok() && *agrees ? 0 : 1;
}
