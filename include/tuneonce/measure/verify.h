#ifndef TUNEONCE_MEASURE_VERIFY_H_
#define TUNEONCE_MEASURE_VERIFY_H_

#include <cstdint>
#include <memory>

#include "tuneonce/base/result.h"
#include "tuneonce/cuda/stream.h"
#include "tuneonce/kernel/tensor_view.h"
#include "tuneonce/kernel/tolerance.h"

namespace tuneonce {

/// What a comparison of two arrays found.
struct Comparison {
  std::uint64_t num_wrong = 0;
  std::uint64_t num_missing = 0;  ///< Left as poisoned where the reference is not.
  std::uint64_t first = 0;        ///< Index of the first that is either.
};

/// Compares arrays on the device: by kernels of our own on a GPU, on this machine's cores for the CPU device (or if the
/// GPU's driver does not take our PTX). NaN equals NaN, and infinity the same infinity. Thread rule: one thread.
class TUNEONCE_API ArrayComparer {
 public:
  /// The byte that poisoned memory is filled with: as float32 -2.7e7, as float16 -15.6.
  static constexpr unsigned char kPoison = 0xCB;

  /// REQUIRES: the stream outlives it, its context is current.
  explicit ArrayComparer(StreamView stream);
  ~ArrayComparer();
  ArrayComparer(ArrayComparer&&) noexcept;

  /// Largest magnitude in `count` elements of a floating-point array, apart from NaN and infinity; 0 for other types.
  Result<double> Largest(CUdeviceptr data, std::uint64_t count, DType dtype, bool is_poisoned);
  /// Compares `count` elements, in the stream's order, and waits. `absolute` is in the array's units. Types other than
  /// floating point, and kAny, must be equal.
  Result<Comparison> Compare(CUdeviceptr reference, CUdeviceptr candidate, std::uint64_t count, DType dtype,
                             double absolute, double relative, bool is_poisoned);

 private:
  struct Kernels;

  StreamView stream_;
  std::unique_ptr<Kernels> kernels_;  // Null: on the host.
  bool tried_ = false;

  bool OnDevice();
};

}  // namespace tuneonce

#endif  // TUNEONCE_MEASURE_VERIFY_H_
