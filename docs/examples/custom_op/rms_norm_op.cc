// A tuned kernel as a PyTorch op in C++: torch.ops.tuneonce_example.rms_norm(x, w, eps) -> y. The kernel is a bundle
// that was written in cuTile and is embedded into this library (CMakeLists.txt: tuneonce_add_bundle); no Python runs in
// a call.
//
// The first call of a shape tunes, so in a CUDA graph's capture it must not be the first.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "rms_norm_bundle.h"
#include "tuneonce/tuned_kernel.h"

namespace {

/// For the process: one TunedKernel serves every device and thread.
tuneonce::TunedKernel& Kernel() {
  static auto* const kernel =
      new tuneonce::Result<tuneonce::TunedKernel>(tuneonce::TunedKernel::FromBundle(rms_norm_bundle));
  TORCH_CHECK(kernel->ok(), kernel->status().message());
  return **kernel;
}

tuneonce::TensorView View(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.scalar_type() == at::kHalf, "rms_norm: expected float16, got ", tensor.scalar_type());
  TORCH_CHECK(tensor.dim() <= tuneonce::kMaxRank, "rms_norm: a tensor of rank ", tensor.dim());
  return tuneonce::TensorView::Strided(tensor.data_ptr(), tuneonce::DType::kFloat16, tensor.sizes().data(),
                                       tensor.strides().data(), static_cast<int>(tensor.dim()));
}

at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& w, double eps) {
  const c10::cuda::CUDAGuard guard(x.device());
  at::Tensor y = at::empty_like(x);
  tuneonce::Status launched =
      Kernel().Launch(c10::cuda::getCurrentCUDAStream().stream(), View(x), View(w), View(y), static_cast<float>(eps));
  // Misaligned, not contiguous, another rank: the message names the tensor and says what is wrong with it.
  TORCH_CHECK(launched.ok(), launched.message());
  return y;
}

/// For torch.compile: what comes out, without running.
at::Tensor RmsNormMeta(const at::Tensor& x, const at::Tensor&, double) { return at::empty_like(x); }

}  // namespace

TORCH_LIBRARY(tuneonce_example, library) { library.def("rms_norm(Tensor x, Tensor w, float eps) -> Tensor"); }
TORCH_LIBRARY_IMPL(tuneonce_example, CUDA, library) { library.impl("rms_norm", &RmsNorm); }
TORCH_LIBRARY_IMPL(tuneonce_example, Meta, library) { library.impl("rms_norm", &RmsNormMeta); }
