#include "runtime/tuning_call.h"

#include <cstring>
#include <utility>

#include "definition/fill_bytes.h"
#include "search/table_check.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
Result<TuningCall> TuningCall::OnFills(const KernelDefinition& definition, const CallBinder& binder,
                                       const InputShape& shape, StreamView stream, WarmupInputs::Use use) {
  TUNEONCE_ASSIGN_OR_RETURN(WarmupInputs fills, WarmupInputs::Create(definition, shape, stream, use));
  BoundCall call;
  TUNEONCE_RETURN_IF_ERROR(binder.Bind(fills.arguments().data(), fills.arguments().size(), &call));
  TuningCall made(call);
  made.inputs_ = TunedInputs::kFill;
  made.shape_ = shape;
  made.fills_ = std::move(fills);
  return made;
}

Status TuningCall::PlaceKept(StreamView stream) {
  for (std::size_t i = 0; i < kept_->ranges().size(); ++i) {
    const KeptInputs::Range& range = kept_->ranges()[i];
    CUdeviceptr place = kept_->CopyOf(i);
    if (!range.is_read) {
      TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer output, DeviceBuffer::Allocate(stream, range.skipped() + range.bytes()));
      place = output.get() + range.skipped();
      outputs_.push_back(std::move(output));
    }
    for (const ReachedTensor& reached : range.tensors) {
      TensorView& view = views_[reached.parameter][reached.nth];
      view.data = reinterpret_cast<void*>(place + (reinterpret_cast<CUdeviceptr>(view.data) - range.begin));
    }
  }
  return Status();
}

Result<const PointerTable*> TuningCall::AddTable(std::size_t parameter, StreamView stream) {
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<DeviceTable> table, DeviceTable::Create(views_[parameter], stream));
  tables_.push_back(std::move(table));
  return &tables_.back()->table();
}

Result<TuningCall> TuningCall::OnKept(const KernelDefinition& definition, const CallBinder& binder,
                                      const InputShape& shape, std::shared_ptr<const KeptInputs> kept,
                                      StreamView stream) {
  TUNEONCE_RETURN_IF_ERROR(kept->BeginUse(stream));
  TuningCall made{BoundCall()};
  made.inputs_ = TunedInputs::kCaller;
  made.kept_ = std::move(kept);
  for (const std::optional<std::uint64_t>& scalar : shape.scalars) made.scalars_.push_back(scalar.value_or(0));
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) made.views_.push_back(made.kept_->views(i));
  TUNEONCE_RETURN_IF_ERROR(made.PlaceKept(stream));
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.by_pointers) {
      TUNEONCE_ASSIGN_OR_RETURN(const PointerTable* table, made.AddTable(i, stream));
      arguments.emplace_back(*table);
    } else if (parameter.kind == ParameterKind::kTensor) {
      arguments.emplace_back(made.views_[i].front());
    }
    if (parameter.kind == ParameterKind::kScalar) {
      arguments.push_back(Argument::Scalar(parameter.dtype, &made.scalars_[i]));
    }
  }
  TUNEONCE_RETURN_IF_ERROR(binder.Bind(arguments.data(), arguments.size(), &made.call_));
  std::vector<CUdeviceptr> once;
  for (const KeptInputs::Range& range : made.kept_->ranges()) once.push_back(range.begin);
  TUNEONCE_RETURN_IF_ERROR(CheckNoAddresses(definition, made.call_, stream, once));
  made.has_checked_tables_ = true;  // The library made its tables.
  return made;
}

void TuningCall::AddOwnInputs(const KernelDefinition& definition, TrialMemory& memory) const {
  if (inputs_ != TunedInputs::kFill) return;  // Repeated elements lie in `repeated_`.
  for (const ReachedTensor& reached : ReachedTensorsOf(definition.parameters(), call_)) {
    if (reached.tensor->bytes == 0) continue;
    memory.AddOwn(reinterpret_cast<CUdeviceptr>(reached.tensor->data), reached.tensor->bytes);
  }
}

Status TuningCall::CheckTables(const KernelDefinition& definition, StreamView stream) {
  if (has_checked_tables_ || inputs_ != TunedInputs::kCaller) return Status();
  TUNEONCE_RETURN_IF_ERROR(v0::CheckTables(definition, call_, stream));
  has_checked_tables_ = true;
  return Status();
}

Dims TuningCall::BoundOf(const KernelDefinition& definition) const {
  Dims bound = call_.problem.dims;
  for (const KeyPart& part : definition.key()) {
    if (part.kind != KeyPart::Kind::kDim) continue;
    Dim dim = definition.DimOf(part.name);
    bound[dim] = part.Round(bound[dim]);
  }
  return bound;
}

Result<TuningCall> TuningCall::AtBound(const KernelDefinition& definition, const CallBinder& binder, StreamView stream,
                                       TrialMemory& memory) const {
  const Dims bound = BoundOf(definition);
  const bool is_cut = IsLessAnywhere(bound, call_.problem.dims);
  if (fills_ || (is_cut && MayHoldIndices(definition, call_))) {
    InputShape at_bound = fills_ ? shape_ : InputShape{bound, TensorTypes(definition), {}};
    at_bound.dims = bound;
    if (is_cut && (!fills_ || !shape_.scalars.empty())) {
      TUNEONCE_ASSIGN_OR_RETURN(at_bound.scalars, ScalarsAt(bound, definition));
    }
    TUNEONCE_ASSIGN_OR_RETURN(TuningCall made,
                              OnFills(definition, binder, at_bound, stream, WarmupInputs::Use::kSearch));
    TUNEONCE_ASSIGN_OR_RETURN(made.charge_, memory.Count(made.fills_->bytes()));
    made.SetTarget(*call_.problem.target);
    return made;
  }
  CallVariation to_bound;
  to_bound.dims = bound;
  DeclaredFills fills(definition, stream, memory);
  TUNEONCE_ASSIGN_OR_RETURN(VariedCall repeated, VariedCall::Make(definition, call_, to_bound, stream, memory, fills));
  TuningCall made(repeated.call());
  made.inputs_ = TunedInputs::kRepeated;
  made.repeated_ = std::move(repeated);
  return made;
}

std::vector<DType> TuningCall::TensorTypes(const KernelDefinition& definition) const {
  std::vector<DType> types;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    if (definition.parameters()[i].kind == ParameterKind::kTensor) types.push_back(call_.problem.dtypes[i]);
  }
  return types;
}

Result<std::vector<std::optional<std::uint64_t>>> TuningCall::ScalarsAt(const Dims& dims,
                                                                        const KernelDefinition& definition) const {
  const std::vector<Parameter>& parameters = definition.parameters();
  std::vector<std::optional<std::uint64_t>> scalars(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind != ParameterKind::kScalar) continue;
    std::memcpy(&scalars[i].emplace(0), call_.problem.values[i], DTypeBytes(parameters[i].dtype));
    if (!IsNumber(parameters[i].dtype)) continue;
    TUNEONCE_ASSIGN_OR_RETURN(scalars[i], NumberWhereCut(definition, parameters[i], dims, *scalars[i]));
  }
  return scalars;
}

}  // namespace v0
}  // namespace tuneonce
