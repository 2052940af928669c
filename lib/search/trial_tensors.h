#ifndef TUNEONCE_LIB_SEARCH_TRIAL_TENSORS_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_TENSORS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launch/call_binder.h"
#include "measure/verify.h"
#include "search/input_copies.h"
#include "search/trial_memory.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// A range of the caller's memory, and how it is used.
struct TensorRange {
  CUdeviceptr begin;
  CUdeviceptr end;
  bool written;
  bool read;                           ///< Its bytes before a launch matter.
  std::vector<ReachedTensor> tensors;  ///< The tensors in it, which point into the call.
};

/// A write of a trial outside of its outputs.
struct StrayWrite {
  OutcomeKind kind;
  std::string message;
};

/// The bytes of a range of scratch that are not elements of an output: gaps between rows, inputs in the range, or the
/// part of an input that no output overlaps. A kernel must not change them. A mask on the device, with a bit for each
/// granule of the range, marks them for any strides and any number of tensors in the range. Move-only. Thread rule: one
/// thread.
class OutputGaps {
 public:
  /// Makes the gaps of a range that is written. Returns nothing, at no cost, if outputs cover the whole range. `range`
  /// is of the caller's tensors. Errors: ResourceExhausted.
  static Result<std::optional<OutputGaps>> Create(const KernelDefinition& definition, const TensorRange& range,
                                                  TrialMemory& memory, StreamView stream);

  /// Returns what was written in the gaps of `scratch`, the copy of the range. Before the run these bytes equaled those
  /// at `original`, or `fill` if that is 0. Waits for the stream. Errors: the driver's.
  Result<std::optional<StrayWrite>> Find(ArrayComparer& comparer, CUdeviceptr scratch, CUdeviceptr original,
                                         unsigned char fill) const;

 private:
  /// A tensor of the range, for messages. The caller's views do not live as long.
  struct Place {
    std::string name;  // "'y'".
    bool is_input;
    std::uint64_t offset;  // In the range, in bytes.
    TensorView tensor;
  };

  OutputGaps(std::vector<Place> places, TrialMemory::Block mask, int granule, std::uint64_t count)
      : places_(std::move(places)), mask_(std::move(mask)), granule_(granule), count_(count) {}
  std::string NamesOfOutputs() const;

  std::vector<Place> places_;
  TrialMemory::Block mask_;
  int granule_;
  std::uint64_t count_;
};

/// The memory of all tensors that a call's kernel reaches: ranges that overlap are one.
std::vector<TensorRange> TensorRangesOf(const KernelDefinition& definition, const BoundCall& call);

/// The tensors that trials of one call run on, in place of the caller's: scratch for outputs, in which an InOut starts
/// each trial from its original bytes, and copies of inputs. The caller's data stays untouched whatever a candidate
/// does.
///
/// Tensors that share memory keep sharing it: arguments whose byte ranges overlap, at least one of them written, move
/// to scratch together. All lie at the original's address modulo GuardedMemory::kAlignment. Of tensors by pointers each
/// is one of them, and a table of where they are now is made in memory of the search's, guarded and checked as an input
/// is. All work is in the order of one stream, which outlives this object. Thread rule: one thread.
class TrialTensors {
 public:
  /// Returns InvalidArgument, naming the parameter, for an output that cannot be compared: its size is not known, or it
  /// has more elements than memory.
  static Status CheckOutputs(const KernelDefinition& definition, const BoundCall& call);

  /// REQUIRES: all arguments outlive it; CheckTables, of a caller's call. Errors: those of CheckOutputs;
  /// ResourceExhausted.
  static Result<TrialTensors> Create(const KernelDefinition& definition, const BoundCall& call, TrialMemory& memory,
                                     InputCopies& inputs, ArrayComparer& comparer, StreamView stream);

  /// The call to use in trials: the same, but for the tensors that moved.
  const BoundCall& trial_call() const { return trial_call_; }
  /// Points the trial call at where the inputs are now: after InputCopies::Drop. REQUIRES: WriteTables before the next
  /// trial.
  void FollowInputs();
  /// Puts the tensors' addresses into the tables of the trial call, if they moved. Waits then.
  Status WriteTables();
  /// Lists inputs that are neither copied nor checked, because their size is unknown: "'x', 'w'". May be empty.
  const std::string& unprotected() const { return unprotected_; }
  /// The caller's inputs that trials run on, there being no memory for copies: "'x' (4000 bytes)". Empty: none.
  std::string at_risk() const;

  /// Puts into the stream what a trial needs before its launch: the original bytes of every InOut. Not to be timed.
  Status Restore() const;
  /// True if Restore copies anything.
  bool needs_restore() const { return !restores_.empty(); }
  /// Fills every scratch that Restore does not fill with `value`, so that elements that a trial does not write show.
  Status Poison(unsigned char value) const;
  /// True if this tensor of the parameter, the nth of its table, is in scratch that Poison fills.
  bool is_poisoned(std::size_t parameter, std::size_t nth) const { return poisoned_.count({parameter, nth}) > 0; }

  /// Returns a write of a trial outside of its outputs: in guard zones (those of `workspaces` too, if not null) or
  /// inputs, which it repairs. With `poison`, the index of what Poison filled scratch with before the run, it also
  /// checks the gaps of outputs within scratch, which the next Poison and Restore repair. Empty if there was no such
  /// write. Waits for the stream.
  Result<std::optional<StrayWrite>> FindStrayWrite(const GuardedMemory* workspaces,
                                                   std::optional<unsigned char> poison = std::nullopt) const;

  TrialTensors(TrialTensors&&) noexcept = default;
  TrialTensors& operator=(TrialTensors&&) noexcept = default;

 private:
  /// A tensor that only reads an input.
  struct Reader {
    TensorView* view;
    const InputCopies::Input* input;
    CUdeviceptr offset;
  };
  struct RestoreStep {
    std::size_t piece;
    CUdeviceptr original;
  };

  /// The gaps of one piece of scratch.
  struct Gaps {
    std::size_t piece;
    CUdeviceptr original;  // The source from which Restore fills the piece, or 0 for a piece that Poison fills.
    OutputGaps gaps;
  };

  /// A parameter's tensors where trials find them. On the heap: others point into it.
  struct Moved {
    std::size_t parameter;
    std::vector<TensorView> tensors;       // All tensors of a parameter by pointers, else one.
    PointerTable table;                    // A table of `tensors`.
    std::vector<std::uint64_t> addresses;  // The addresses that the table is written from.
    std::uint64_t checksum = 0;            // Checksum of the table.
  };

  explicit TrialTensors(const BoundCall& call) : trial_call_(call) {}
  /// Makes place for views of the trial's own.
  void MoveAll(const std::vector<Parameter>& parameters, const BoundCall& call);
  TensorView& ViewOf(const ReachedTensor& reached);
  Status MakeTables(const KernelDefinition& definition, TrialMemory& memory, StreamView stream);
  Status PutTable(std::size_t nth) const;
  Result<std::optional<StrayWrite>> FindInGaps(unsigned char poison) const;

  BoundCall trial_call_;
  std::vector<std::unique_ptr<Moved>> moved_;  // The tensors that trial_call_ points to.
  std::vector<Moved*> tables_;                 // The parameters by pointers.
  std::optional<GuardedMemory> table_memory_;  // A piece for each.
  bool has_stale_tables_ = false;
  std::optional<GuardedMemory> outputs_;
  std::vector<RestoreStep> restores_;
  std::vector<Gaps> gaps_;  // For the pieces that have gaps.
  std::vector<Reader> readers_;
  std::vector<const InputCopies::Input*> inputs_;
  InputCopies* copies_ = nullptr;
  ArrayComparer* comparer_ = nullptr;
  std::set<std::pair<std::size_t, std::size_t>> poisoned_;  // Parameter, and which tensor of it.
  std::string unprotected_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_TENSORS_H_
