#ifndef TUNEONCE_LIB_MEASURE_VERIFY_H_
#define TUNEONCE_LIB_MEASURE_VERIFY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cuda/library.h"
#include "tuneonce/arguments.h"
#include "tuneonce/device.h"
#include "tuneonce/parameters.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The library's own kernels (verify_kernels.cu), in the current context. PTX, which the driver compiles (and caches).
/// Not for the CPU device, which has no use for them. Move-only.
struct DeviceKernels {
  Library library;
  KernelHandle empty;         ///< Does nothing.
  KernelHandle compare;       ///< Compares two arrays.
  KernelHandle checksum;      ///< Adds up memory.
  KernelHandle find_changes;  ///< Finds bytes that were written outside of some elements.
  KernelHandle describe;      ///< Counts an array's elements by class.

  /// Errors: as Library::Load.
  static Result<DeviceKernels> Load(const DriverApi& api);
};

/// Which elements an array on the device has, and where they lie.
struct ArrayLayout {
  DType dtype = DType::kAny;
  std::uint64_t count = 0;
  int rank = 0;  ///< 0 for consecutive elements, else the array has shape and strides.
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};  ///< In elements.

  static ArrayLayout Dense(DType dtype, std::uint64_t count);
  /// Returns the layout of the tensor's elements without the gaps between them. Errors: InvalidArgument if the strides
  /// leave the memory that the tensor spans.
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

/// The result of comparing two arrays.
struct Comparison {
  std::uint64_t num_wrong = 0;
  std::uint64_t num_missing = 0;  ///< Left as poisoned where that is not right.
  std::uint64_t first = 0;        ///< Index of the first that is either, in row-major order.
  /// The largest |candidate - reference|, and the largest share of the tolerance (above 1 is a failure). Infinite if no
  /// number expresses the difference of two elements: NaN, infinity, and types other than floating point.
  double largest_difference = 0;
  double largest_share = 0;
};

/// Statistics of an array's elements, which show whether the data could reveal an error. Each element is counted once:
/// count = num_zero + num_not_finite + num_negative + num_positive.
struct ArrayFacts {
  std::uint64_t count = 0;
  std::uint64_t num_zero = 0;        ///< 0 and -0.
  std::uint64_t num_not_finite = 0;  ///< NaN and infinities; 0 for types other than floating point.
  std::uint64_t num_negative = 0;    ///< Finite and below 0; 0 for unsigned types, bool and kAny.
  std::uint64_t num_positive = 0;    ///< Finite and above 0. For kAny, bytes other than 0.
  bool is_constant = true;           ///< Whether all elements have the same bits. True for an empty array.
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
/// The bytes that must not change and did.
struct ChangedMemory {
  std::uint64_t bytes = 0;  ///< In whole granules. 0: nothing.
  std::uint64_t first = 0;  ///< The first of them, in bytes from the memory's address on.
};

/// Looks at arrays on the device: by kernels of our own on a GPU, on this machine's cores for the CPU device (or if the
/// GPU's driver does not take our PTX). NaN equals NaN, and infinity the same infinity. Thread rule: one thread.
class ArrayComparer {
 public:
  /// The bytes that memory is filled with before the first run, the next one, and the one after it. No element equals
  /// two of them, so an unwritten element is detected in one of any two runs. The first is NaN in every floating-point
  /// format, which no sum or product hides; the others are a large number and its negative, which no maximum and no
  /// minimum hides. No tolerance accepts them: among 16 million halves some are within tolerance of any smaller number.
  static constexpr std::array<unsigned char, 3> kPoisons = {0xFF, 0x7B, 0xFB};

  /// REQUIRES: the stream outlives it, its context is current.
  explicit ArrayComparer(StreamView stream);
  ~ArrayComparer();
  ArrayComparer(ArrayComparer&&) noexcept;

  /// Compares two arrays of the same layout, in the stream's order, and waits. Types other than floating point, and
  /// kAny, must be equal.
  Result<Comparison> Compare(CUdeviceptr reference, CUdeviceptr candidate, const ArrayLayout& layout,
                             const ElementCheck& check);
  /// Counts an array's elements by class, in stream order, with one launch on a GPU, and waits. The dtype decides how
  /// bits are read; elements of kAny are bytes. What a stride of 0 repeats counts once. Errors: the driver's.
  Result<ArrayFacts> Describe(CUdeviceptr data, const ArrayLayout& layout);
  /// Finds changed bytes in the part of `memory` that must not be written. Each byte must equal that at the same offset
  /// of `original`, or `fill` if that is 0. In stream order, with one launch on a GPU; waits. REQUIRES: the granule
  /// divides `original`. Errors: the driver's.
  Result<ChangedMemory> FindChanges(const MaskedMemory& memory, CUdeviceptr original, unsigned char fill);
  /// Returns a checksum of each range, in stream order, and waits. It depends on the bytes and on the address modulo 8.
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
