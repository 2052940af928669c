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

/// A call to choose for: a launch's, one on copies of a launch's inputs, one on fills for a shape, or one of a key of
/// theirs at its bucket's bound. All calls that are not a launch's own are made here, so that a launch and a
/// warm-up of a key are tuned at the same dims. Move-only. Memory of its own is in the order of a stream, which
/// outlives it.
class TuningCall {
 public:
  /// On the arguments of a launch, or of a warm-up on them, which outlive it.
  explicit TuningCall(const BoundCall& on_arguments) : call_(on_arguments) {}
  /// On the fills that the definition declares. No extent is 0. Errors: those of WarmupInputs.
  static Result<TuningCall> OnFills(const KernelDefinition& definition, const CallBinder& binder,
                                    const InputShape& shape, StreamView stream, WarmupInputs::Use use);

  /// On what a launch of this shape read; its outputs get memory in the order of `stream`, where the copies are in use
  /// until KeptInputs::EndUse. Errors: those of KeptInputs::BeginUse; InvalidArgument where a tensor held addresses:
  /// what they point to was not copied; ResourceExhausted.
  static Result<TuningCall> OnKept(const KernelDefinition& definition, const CallBinder& binder,
                                   const InputShape& shape, std::shared_ptr<const KeptInputs> kept, StreamView stream);

  /// The dims that the definition's key rounds this call's to: up, or to those that are nearest.
  Dims BoundOf(const KernelDefinition& definition) const;
  /// A call of the same key at these dims. Its tensors are row-major memory of its own. On fills it is on fills again,
  /// made for the bound: offsets that are repeated would fall. On arguments it is a VariedCall; where a dim is less
  /// than this call's, and integers may be indices beyond it, it is on the fills that are declared.
  /// Errors: ResourceExhausted if `memory`, or the device's, does not allow it; those of OnFills.
  Result<TuningCall> AtBound(const KernelDefinition& definition, const CallBinder& binder, StreamView stream,
                             TrialMemory& memory) const;

  /// CheckTables, once, of what the caller gave: only that has memory in any case, and tables that are not ours.
  Status CheckTables(const KernelDefinition& definition, StreamView stream);

  /// States in `memory` that this call's tensors are not the caller's, if it is on fills.
  void AddOwnInputs(const KernelDefinition& definition, TrialMemory& memory) const;

  const BoundCall& call() const { return call_; }
  TunedInputs inputs() const { return inputs_; }
  void SetTarget(const Target& target) { call_.problem.target = target; }

 private:
  /// Puts the views of each parameter into views_.
  Status PlaceKept(StreamView stream);
  /// Makes a table of views_[parameter] in memory of its own, in the order of `stream`.
  Result<const PointerTable*> AddTable(std::size_t parameter, StreamView stream);
  /// What a launch at fewer elements than this call's is made on: its scalars, but for numbers that are declared.
  Result<std::vector<std::optional<std::uint64_t>>> ScalarsAt(const Dims& dims,
                                                              const KernelDefinition& definition) const;
  std::vector<DType> TensorTypes(const KernelDefinition& definition) const;

  BoundCall call_;
  TunedInputs inputs_ = TunedInputs::kCaller;
  bool has_checked_tables_ = false;
  // On fills.
  InputShape shape_;
  std::optional<WarmupInputs> fills_;
  TrialMemory::Charge charge_;
  // On copies of a launch's inputs.
  std::shared_ptr<const KeptInputs> kept_;
  std::vector<std::uint64_t> scalars_;
  std::vector<DeviceBuffer> outputs_;
  // On these. What call_ points to, by parameter: of one by pointers the tensors of its table, else one. Never grows
  // after OnKept.
  std::vector<std::vector<TensorView>> views_;
  std::vector<std::unique_ptr<DeviceTable>> tables_;
  // On repeated elements.
  std::optional<VariedCall> repeated_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNING_CALL_H_
