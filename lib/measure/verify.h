#ifndef TUNEONCE_LIB_MEASURE_VERIFY_H_
#define TUNEONCE_LIB_MEASURE_VERIFY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tuneonce/result.h"
#include "tuneonce/stream.h"
#include "tuneonce/tensor_view.h"
#include "tuneonce/tolerance.h"

namespace tuneonce {
inline namespace v0 {

/// Which elements an array on the device has, and where they lie.
struct TUNEONCE_API ArrayLayout {
  DType dtype = DType::kAny;
  std::uint64_t count = 0;
  int rank = 0;  ///< 0: one behind the other. Else by shape and strides, with gaps between.
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};  ///< In elements.

  static ArrayLayout Dense(DType dtype, std::uint64_t count);
  /// Of the tensor's elements, without the gaps that its strides leave. Errors: InvalidArgument if the strides lead out
  /// of the memory that the tensor spans.
  static Result<ArrayLayout> Of(const TensorView& tensor);
};

/// When an element counts as the reference's.
struct ElementCheck {
  Tolerance tolerance;  ///< Its absolute part in the array's units, not relative to the largest.
  /// The byte that the candidate's memory was filled with before it ran. Empty: none.
  std::optional<unsigned char> poison;
  /// Where every byte of a reference's element is this one nothing is asked. Empty: all of the reference counts.
  std::optional<unsigned char> reference_poison;
};

/// What a comparison of two arrays found.
struct Comparison {
  std::uint64_t num_wrong = 0;
  std::uint64_t num_missing = 0;  ///< Left as poisoned where that is not right.
  std::uint64_t first = 0;        ///< Index of the first that is either, in row-major order.
  /// |candidate - reference| at most, and the same as a share of what is allowed there (above 1: wrong). Infinite if no
  /// number says how far apart two elements are: NaN, infinity, types other than floating point.
  double largest_difference = 0;
  double largest_share = 0;
};

struct MemoryRange {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};

/// Looks at arrays on the device: by kernels of our own on a GPU, on this machine's cores for the CPU device (or if the
/// GPU's driver does not take our PTX). NaN equals NaN, and infinity the same infinity. Thread rule: one thread.
class TUNEONCE_API ArrayComparer {
 public:
  /// The bytes that memory is filled with before one run and before the next. No element is both, so that what is left
  /// unwritten shows in one of the two at least. The first is NaN in every floating-point format, so that no tolerance
  /// takes it for a result: of 16 million halves some are within tolerance of whatever number one picks.
  static constexpr std::array<unsigned char, 2> kPoisons = {0xFF, 0x34};

  /// REQUIRES: the stream outlives it, its context is current.
  explicit ArrayComparer(StreamView stream);
  ~ArrayComparer();
  ArrayComparer(ArrayComparer&&) noexcept;

  /// Largest magnitude in a floating-point array, apart from NaN, infinity and poison; 0 for other types.
  Result<double> Largest(CUdeviceptr data, const ArrayLayout& layout, std::optional<unsigned char> poison);
  /// Compares two arrays of the same layout, in the stream's order, and waits. Types other than floating point, and
  /// kAny, must be equal.
  Result<Comparison> Compare(CUdeviceptr reference, CUdeviceptr candidate, const ArrayLayout& layout,
                             const ElementCheck& check);
  /// A checksum of each range, in the stream's order; waits. It depends on the bytes and on the address modulo 8.
  Result<std::vector<std::uint64_t>> Checksums(const std::vector<MemoryRange>& ranges);

 private:
  struct Kernels;

  StreamView stream_;
  std::unique_ptr<Kernels> kernels_;  // Null: on the host.
  bool tried_ = false;

  bool OnDevice();
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_VERIFY_H_
