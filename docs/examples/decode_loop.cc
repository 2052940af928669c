// A small engine in C++, without Python: the MLP of a transformer block, decoded step by step with one CUDA graph. Its
// kernels are bundles that were written in cuTile and are embedded into this program (CMakeLists.txt:
// tuneonce_add_bundle).
//
//   tuneonce_decode_loop [cpu|cuda] [FOLDER]
//
// With FOLDER the bundles are read from there: compiled ahead, say (`tuneonce bundle compile`), so that no compiler is
// needed.
// The order that an engine keeps: make, warm up (tunes, or loads from the store), freeze, capture, replay.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/graph.h"
#include "matmul_bundle.h"
#include "rms_norm_bundle.h"
#include "silu_and_mul_bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kTokens = 16, kHidden = 64, kInner = 128;
constexpr int kSteps = 8;

/// A half-precision tensor of the engine.
struct Tensor {
  DeviceBuffer buffer;
  TensorView view;

  static Result<Tensor> Make(StreamView stream, std::int64_t rows, std::int64_t columns, bool vector = false) {
    auto bytes = static_cast<std::size_t>(rows * columns) * 2;
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream, bytes));
    // Bits of small positive halves, in [1/64, 1/32).
    std::vector<std::uint16_t> host(bytes / 2);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::uint16_t>(0x2400 + i * 37 % 1024);
    TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(host.data(), bytes));
    TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
    TensorView view = vector ? TensorView::Contiguous(buffer.data(), DType::kFloat16, {columns})
                             : TensorView::Contiguous(buffer.data(), DType::kFloat16, {rows, columns});
    return Tensor{std::move(buffer), view};
  }
};

/// One step: hidden = down(silu_and_mul(up(rms_norm(hidden)))).
struct Mlp {
  TunedKernel rms_norm, matmul, silu_and_mul;
  Tensor hidden, norm_weight, normed, up_weight, up, inner, down_weight;

  /// The embedded bundle, or that of the same name in `folder`.
  static Result<TunedKernel> Kernel(const EmbeddedBundle& embedded, const std::string& folder) {
    return folder.empty() ? TunedKernel::FromBundle(embedded) : TunedKernel::FromBundle(folder + "/" + embedded.name);
  }
  static Result<Mlp> Make(StreamView stream, const std::string& folder) {
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel rms_norm, Kernel(rms_norm_bundle, folder));
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel matmul, Kernel(matmul_bundle, folder));
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel silu_and_mul, Kernel(silu_and_mul_bundle, folder));
    TUNEONCE_ASSIGN_OR_RETURN(Tensor hidden, Tensor::Make(stream, kTokens, kHidden));
    TUNEONCE_ASSIGN_OR_RETURN(Tensor norm_weight, Tensor::Make(stream, 1, kHidden, /*vector=*/true));
    TUNEONCE_ASSIGN_OR_RETURN(Tensor normed, Tensor::Make(stream, kTokens, kHidden));
    TUNEONCE_ASSIGN_OR_RETURN(Tensor up_weight, Tensor::Make(stream, kHidden, 2 * kInner));
    TUNEONCE_ASSIGN_OR_RETURN(Tensor up, Tensor::Make(stream, kTokens, 2 * kInner));
    TUNEONCE_ASSIGN_OR_RETURN(Tensor inner, Tensor::Make(stream, kTokens, kInner));
    TUNEONCE_ASSIGN_OR_RETURN(Tensor down_weight, Tensor::Make(stream, kInner, kHidden));
    return Mlp{std::move(rms_norm),    std::move(matmul),     std::move(silu_and_mul), std::move(hidden),
               std::move(norm_weight), std::move(normed),     std::move(up_weight),    std::move(up),
               std::move(inner),       std::move(down_weight)};
  }

  /// Every shape that a step has. Nothing is tuned after it.
  Status WarmUpAndFreeze(CUstream stream) {
    TUNEONCE_RETURN_IF_ERROR(rms_norm.Warmup(stream, {{{"M", kTokens}, {"N", kHidden}}}));
    TUNEONCE_RETURN_IF_ERROR(matmul.Warmup(stream, {{{"M", kTokens}, {"N", 2 * kInner}, {"K", kHidden}},
                                                    {{"M", kTokens}, {"N", kHidden}, {"K", kInner}}}));
    TUNEONCE_RETURN_IF_ERROR(silu_and_mul.Warmup(stream, {{{"M", kTokens}, {"N", kInner}, {"N2", 2 * kInner}}}));
    for (TunedKernel* kernel : {&rms_norm, &matmul, &silu_and_mul}) kernel->Freeze();
    return Status();
  }

  Status Step(CUstream stream) {
    TUNEONCE_RETURN_IF_ERROR(rms_norm.Launch(stream, hidden.view, norm_weight.view, normed.view, 1e-5f));
    TUNEONCE_RETURN_IF_ERROR(matmul.Launch(stream, normed.view, up_weight.view, up.view));
    TUNEONCE_RETURN_IF_ERROR(silu_and_mul.Launch(stream, up.view, inner.view));
    return matmul.Launch(stream, inner.view, down_weight.view, hidden.view);
  }
};

Result<std::vector<std::uint16_t>> Read(const Tensor& tensor, StreamView stream) {
  std::vector<std::uint16_t> host(tensor.buffer.bytes() / 2);
  TUNEONCE_RETURN_IF_ERROR(tensor.buffer.CopyToHost(host.data(), tensor.buffer.bytes()));
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
  return host;
}

Status Run(const std::string& device_name, const std::string& folder) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(device_name));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(Mlp mlp, Mlp::Make(stream.view(), folder));
  TUNEONCE_RETURN_IF_ERROR(mlp.WarmUpAndFreeze(stream.get()));

  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint16_t> start, Read(mlp.hidden, stream.view()));
  for (int i = 0; i < kSteps; ++i) TUNEONCE_RETURN_IF_ERROR(mlp.Step(stream.get()));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint16_t> launched, Read(mlp.hidden, stream.view()));

  TUNEONCE_RETURN_IF_ERROR(mlp.hidden.buffer.CopyFromHost(start.data(), mlp.hidden.buffer.bytes()));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  TUNEONCE_ASSIGN_OR_RETURN(GraphExec step,
                            GraphExec::Capture(stream.view(), [&](CUstream into) { return mlp.Step(into); }));
  for (int i = 0; i < kSteps; ++i) TUNEONCE_RETURN_IF_ERROR(step.Launch(stream.get()));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint16_t> replayed, Read(mlp.hidden, stream.view()));

  std::int64_t missed = 0, fallbacks = 0, tunes = 0;
  for (TunedKernel* kernel : {&mlp.rms_norm, &mlp.matmul, &mlp.silu_and_mul}) {
    missed += kernel->counters().frozen_misses;
    fallbacks += kernel->counters().fallbacks;
    tunes += kernel->counters().tunes;
  }
  std::printf("%d steps by launches and by one graph on %s: %s, %d misses after freezing, %d fallbacks\n", kSteps,
              device_name.c_str(), launched == replayed ? "the same result" : "DIFFERENT RESULTS",
              static_cast<int>(missed), static_cast<int>(fallbacks));
  std::printf("%d searches, %d compiles\n", static_cast<int>(tunes),
              static_cast<int>(Runtime::Default()->num_compiles()));
  bool moved = launched != start;
  return launched == replayed && moved && missed == 0 ? Status()
                                                      : InternalError("the graph did not repeat the launches");
}

int main(int argc, char** argv) {
  Status status = Run(argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
