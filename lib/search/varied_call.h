#ifndef TUNEONCE_LIB_SEARCH_VARIED_CALL_H_
#define TUNEONCE_LIB_SEARCH_VARIED_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/call_binder.h"
#include "launch/device_table.h"
#include "search/declared_fills.h"
#include "search/trial_memory.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// How a call differs from the one that it is made from. A value.
struct CallVariation {
  Dims dims;
  /// Inputs hold what the definition declares for warm-ups, floating-point tensors without a declaration pseudo-random
  /// numbers from [-1, 1). False: the elements of the original call, repeated or cut.
  bool generates_data = false;
  /// With generates_data: pseudo-random numbers that are not declared have the opposite sign.
  bool negates_data = false;
  /// Rows of tensors lie further apart, where the kernel takes their stride.
  bool pads_strides = false;
  /// Tensors lie at other addresses modulo 256, with the alignment that variants declare, 16 bytes at least.
  bool shifts_addresses = false;
  /// Floating-point and boolean scalars that the key does not name have another value.
  bool changes_scalars = false;
  /// With changes_scalars: the parameter that is the only one to change. Empty: all of ChangeableScalars.
  std::optional<std::size_t> only_scalar;

  /// "M=100, generated data, padded strides".
  std::string ToString(const KernelDefinition& definition) const;
};

/// The parameters whose values `CallVariation::changes_scalars` changes.
std::vector<std::size_t> ChangeableScalars(const KernelDefinition& definition);

/// A call like another one, at other dims or with other data, on memory of its own. Inputs hold the original's
/// elements, repeated, so that indices stay indices: all of them, or of a tensor with gaps the first ones. Behind whole
/// numbers of one dimension that never decrease, which may be offsets, the last one is repeated; declared offsets that
/// end with the original's rows are scaled to the new dims', if they are the only numbers that it reads. Tensors are
/// row-major, but at the original's dims they keep its strides. Move-only; in the order of a stream, which outlives it.
/// Thread rule: one thread.
class VariedCall {
 public:
  /// REQUIRES: `of`, and what it points to, outlives the object; `fills` has the same definition and stream. Errors:
  /// ResourceExhausted if `memory` or the device's memory does not suffice; InvalidArgument, naming the parameter, if a
  /// dim is smaller than the original's and an integer without a declared fill could be an index beyond it; those of
  /// the definition's fills.
  static Result<VariedCall> Make(const KernelDefinition& definition, const BoundCall& of,
                                 const CallVariation& variation, StreamView stream, TrialMemory& memory,
                                 DeclaredFills& fills);

  const BoundCall& call() const { return call_; }

 private:
  struct Source;

  VariedCall() = default;
  Status AddTensor(const Source& source, std::size_t index);
  /// Adds the memory of a tensor without dims. Errors: InvalidArgument where the variation needs memory whose contents
  /// are not known.
  Status AddRawMemory(const Source& source, std::size_t index);
  /// Adds memory with the layout of `view` to views_[index], filled as the variation requires.
  Status AddFilled(const Source& source, std::size_t index, TensorView view, const TensorView& given);
  /// With the elements of `given`, a tensor of the original call.
  static Status FillLike(const Source& source, std::size_t index, const TensorView& given, const DeviceBuffer& buffer);
  Status SetScalar(const Source& source, std::size_t index);

  BoundCall call_;
  // The tensors that call_ points to, by parameter: those of its table for a parameter by pointers, else one. They
  // never grow after Make.
  std::vector<std::vector<TensorView>> views_;
  std::vector<std::unique_ptr<DeviceTable>> tables_;
  std::vector<std::uint64_t> scalars_;
  std::vector<TrialMemory::Block> blocks_;
};

/// True if what the call reads, but for parameter `but`, may be indices or lengths: whole numbers, or raw memory.
bool MayHoldIndices(const KernelDefinition& definition, const BoundCall& call,
                    std::optional<std::size_t> but = std::nullopt);
/// Returns whether a scalar of this dtype may be an index, a count or a length.
bool IsNumber(DType dtype);
/// Returns whether one of the dims of `a` is smaller than that of `b`.
bool IsLessAnywhere(const Dims& a, const Dims& b);
/// The value of a scalar for which IsNumber holds, whose value is `given`, in a call that was cut to `dims`: the
/// declared one. Errors: InvalidArgument if the key names the scalar and the declared value differs; those of the fill.
Result<std::uint64_t> NumberWhereCut(const KernelDefinition& definition, const Parameter& scalar, const Dims& dims,
                                     std::uint64_t given);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_VARIED_CALL_H_
