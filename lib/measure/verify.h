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
  Tolerance tolerance;
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

/// What the elements of an array are, so that a caller can tell whether these data can show an error. Each element is
/// counted once: count = num_zero + num_not_finite + num_negative + num_positive.
struct ArrayFacts {
  std::uint64_t count = 0;
  std::uint64_t num_zero = 0;        ///< 0 and -0.
  std::uint64_t num_not_finite = 0;  ///< NaN and infinities; 0 for types other than floating point.
  std::uint64_t num_negative = 0;    ///< Finite and below 0; 0 for unsigned types, bool and kAny.
  std::uint64_t num_positive = 0;    ///< Finite and above 0. For kAny, bytes other than 0.
  bool is_constant = true;           ///< All elements have the same bits; true for an empty array.
};

struct MemoryRange {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};

/// Memory of which some parts may be written and all others must stay as they are. It is looked at in granules, each of
/// which may be written as a whole or not at all.
struct MaskedMemory {
  CUdeviceptr address = 0;
  int granule = 1;          ///< Bytes: 1, 2, 4 or 8. It divides `address`.
  std::uint64_t count = 0;  ///< Granules.
  CUdeviceptr mask = 0;     ///< Words of 32 bits: bit k % 32 of word k / 32 is set if granule k may be written.
};
/// What was written of it that must not be.
struct ChangedMemory {
  std::uint64_t bytes = 0;  ///< In whole granules. 0: nothing.
  std::uint64_t first = 0;  ///< The first of them, in bytes from the memory's address on.
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

  /// Compares two arrays of the same layout, in the stream's order, and waits. Types other than floating point, and
  /// kAny, must be equal.
  Result<Comparison> Compare(CUdeviceptr reference, CUdeviceptr candidate, const ArrayLayout& layout,
                             const ElementCheck& check);
  /// Counts an array's elements by what they are, in the stream's order, with one launch on a GPU, and waits. The dtype
  /// decides how bits are read; elements of kAny are bytes. Errors: the driver's.
  Result<ArrayFacts> Describe(CUdeviceptr data, const ArrayLayout& layout);
  /// Finds what is other than it must be in the part of `memory` that may not be written: each byte as at the same
  /// place behind `original`, or `fill` where that is 0. In the stream's order, with one launch on a GPU; waits.
  /// REQUIRES: the granule divides `original`. Errors: the driver's.
  Result<ChangedMemory> FindChanges(const MaskedMemory& memory, CUdeviceptr original, unsigned char fill);
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
