#ifndef TUNEONCE_LIB_RUNTIME_TUNING_CALL_H_
#define TUNEONCE_LIB_RUNTIME_TUNING_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "launch/call_binder.h"
#include "launch/device_table.h"
#include "runtime/kept_inputs.h"
#include "runtime/warmup_inputs.h"
#include "search/trial_memory.h"
#include "search/varied_call.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// A call to tune a key for: that of a launch, one on copies of a launch's inputs, one on fills for a shape, or one at
/// the key's bucket bound for any of these. All calls other than a launch's own are made here, so that a launch and a
/// warm-up of a key are tuned at the same dims. Move-only. Its own memory is in the order of a stream, which outlives
/// it.
class TuningCall {
 public:
  /// Uses the arguments of a launch, or of a warm-up on arguments. They outlive the object.
  explicit TuningCall(const BoundCall& on_arguments) : call_(on_arguments) {}
  /// Uses the fills that the definition declares. REQUIRES: no extent is 0. Errors: those of WarmupInputs.
  static Result<TuningCall> OnFills(const KernelDefinition& definition, const CallBinder& binder,
                                    const InputShape& shape, StreamView stream, WarmupInputs::Use use);

  /// Uses copies of what a launch of this shape read. Its outputs get memory in the order of `stream`, in which the
  /// copies are in use until KeptInputs::EndUse. Errors: those of KeptInputs::BeginUse; InvalidArgument if a tensor
  /// contained addresses, whose targets were not copied; ResourceExhausted.
  static Result<TuningCall> OnKept(const KernelDefinition& definition, const CallBinder& binder,
                                   const InputShape& shape, std::shared_ptr<const KeptInputs> kept, StreamView stream);

  /// Returns the dims to which the definition's key rounds this call's: up, or to the nearest entries.
  Dims BoundOf(const KernelDefinition& definition) const;
  /// Makes a call of the same key at these dims, whose tensors are row-major memory of its own. A call on fills gets
  /// fills for the bound, because repeated offsets would decrease. A call on arguments becomes a VariedCall. If a dim
  /// is smaller than this call's, and integers may be indices beyond it, it uses the declared fills. Errors:
  /// ResourceExhausted if `memory` or the device's memory does not suffice; those of OnFills.
  Result<TuningCall> AtBound(const KernelDefinition& definition, const CallBinder& binder, StreamView stream,
                             TrialMemory& memory) const;

  /// Calls CheckTables once for the caller's tables. The library's own tables need no check.
  Status CheckTables(const KernelDefinition& definition, StreamView stream);

  /// Records in `memory` that this call's tensors are not the caller's, if it uses fills.
  void AddOwnInputs(const KernelDefinition& definition, TrialMemory& memory) const;

  const BoundCall& call() const { return call_; }
  TunedInputs inputs() const { return inputs_; }
  void SetTarget(const Target& target) { call_.problem.target = &target; }

 private:
  /// Puts the views of each parameter into views_.
  Status PlaceKept(StreamView stream);
  /// Makes a table of views_[parameter] in its own memory, in the order of `stream`.
  Result<const PointerTable*> AddTable(std::size_t parameter, StreamView stream);
  /// Returns the scalars for a launch with fewer elements than this call's: its own, or the declared number if there is
  /// one.
  Result<std::vector<std::optional<std::uint64_t>>> ScalarsAt(const Dims& dims,
                                                              const KernelDefinition& definition) const;
  std::vector<DType> TensorTypes(const KernelDefinition& definition) const;

  BoundCall call_;
  TunedInputs inputs_ = TunedInputs::kCaller;
  bool has_checked_tables_ = false;
  // For a call on fills.
  InputShape shape_;
  std::optional<WarmupInputs> fills_;
  TrialMemory::Charge charge_;
  // For a call on copies of a launch's inputs.
  std::shared_ptr<const KeptInputs> kept_;
  std::vector<std::uint64_t> scalars_;
  std::vector<DeviceBuffer> outputs_;
  // The tensors on the copies that call_ points to, by parameter: those of the table for a parameter by pointers, else
  // one. They never grow after OnKept.
  std::vector<std::vector<TensorView>> views_;
  std::vector<std::unique_ptr<DeviceTable>> tables_;
  // For a call on repeated elements.
  std::optional<VariedCall> repeated_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNING_CALL_H_
