#include "runtime/tuning_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "definition/fill_bytes.h"
#include "definition/scalar_value.h"
#include "search/table_check.h"
#include "tuneonce/device_buffer.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Of a tensor with gaps each stretch without one is a copy of its own: this many are values enough, and cost some
/// hundred microseconds.
constexpr std::size_t kMostStretches = 256;

/// Copies elements of `tensor` to the buffer's begin, and not what lies in its gaps, which is another's. Returns their
/// bytes: of all of a contiguous tensor, else of its first stretches, in row-major order.
Result<std::size_t> CopyElements(const DeviceBuffer& buffer, const TensorView& tensor) {
  const std::size_t element = DTypeBytes(tensor.dtype);
  std::size_t filled = 0, stretches = 0;
  Status copied;
  ForEachStretch(tensor, [&](std::int64_t offset, std::int64_t count) {
    std::size_t bytes = std::min(static_cast<std::size_t>(count) * element, buffer.bytes() - filled);
    CUdeviceptr from = reinterpret_cast<CUdeviceptr>(tensor.data) + static_cast<std::size_t>(offset) * element;
    copied = buffer.CopyFromDevice(from, bytes, filled);
    filled += bytes;
    return copied.ok() && filled < buffer.bytes() && ++stretches < kMostStretches;
  });
  TUNEONCE_RETURN_IF_ERROR(copied);
  return filled;
}

/// Of a scalar: a number that may be an index, a count or a length.
bool IsNumber(DType dtype) { return IsWhole(dtype) && dtype != DType::kBool; }

/// Where offsets end that a parameter declares: at a call's dims, and at those that it is made for.
struct OffsetsEnds {
  double given = 0;
  double wanted = 0;
};

/// Scales offsets that end at `ends.given` so that they end at `ends.wanted`: no row is left out, and groups keep their
/// shares. False, and nothing changed, if they end elsewhere, or the type cannot hold the end.
bool Scale(DType dtype, const OffsetsEnds& ends, std::vector<char>* offsets) {
  const std::size_t element = DTypeBytes(dtype);
  std::vector<char> end(element);
  if (!EncodeElement(dtype, ends.wanted, end.data()) || ends.given <= 0 ||
      static_cast<double>(WholeScalar(dtype, &(*offsets)[offsets->size() - element])) != ends.given) {
    return false;
  }
  for (std::size_t at = 0; at < offsets->size(); at += element) {
    const double share = static_cast<double>(WholeScalar(dtype, &(*offsets)[at])) / ends.given;
    EncodeElement(dtype, std::floor(share * ends.wanted), &(*offsets)[at]);
  }
  return true;
}

/// Fills the buffer behind its first `filled` bytes, elements of `tensor`: with these again, so that indices stay
/// indices. Offsets that begin again would fall: behind numbers of one dimension that never decrease their last one is
/// repeated, and the groups that are added are empty. Offsets that end where it is declared are scaled.
Status Extend(const DeviceBuffer& buffer, std::size_t filled, const TensorView& tensor,
              const std::optional<OffsetsEnds>& ends) {
  const std::size_t element = DTypeBytes(tensor.dtype);
  if (tensor.rank != 1 || !IsNumber(tensor.dtype) || (filled == buffer.bytes() && !ends)) return buffer.Repeat(filled);
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> elements, ReadDeviceMemory(buffer.stream(), buffer.get(), filled));
  for (std::size_t at = element; at < filled; at += element) {
    if (WholeScalar(tensor.dtype, &elements[at]) < WholeScalar(tensor.dtype, &elements[at - element])) {
      return buffer.Repeat(filled);
    }
  }
  const bool is_scaled = ends && Scale(tensor.dtype, *ends, &elements);
  if (filled == buffer.bytes() && !is_scaled) return Status();
  const std::vector<char> last(elements.end() - static_cast<std::ptrdiff_t>(element), elements.end());
  for (elements.reserve(buffer.bytes()); elements.size() < buffer.bytes();) {
    elements.insert(elements.end(), last.begin(), last.end());
  }
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(elements.data(), elements.size()));
  return buffer.stream().Synchronize();
}

/// True if what the call reads, but for parameter `but`, may be indices or lengths: whole numbers, or raw memory.
bool MayHoldIndices(const KernelDefinition& definition, const BoundCall& call,
                    std::optional<std::size_t> but = std::nullopt) {
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    if (i == but) continue;
    const Parameter& parameter = definition.parameters()[i];
    const bool is_tensor = parameter.kind == ParameterKind::kTensor && parameter.access != Access::kOut;
    if (is_tensor && parameter.dims.empty()) return true;  // Raw memory.
    const bool is_read = is_tensor || parameter.kind == ParameterKind::kScalar;
    if (is_read && IsNumber(call.problem.dtypes[i])) return true;
  }
  return false;
}

/// Of declared offsets that end elsewhere at `dims` than in the call. Empty for all else, and where the call reads
/// other numbers, the greatest length say, which may belong to the offsets as they are.
std::optional<OffsetsEnds> MovedEnds(const KernelDefinition& definition, const BoundCall& call, std::size_t index,
                                     const Dims& dims) {
  const Parameter& parameter = definition.parameters()[index];
  std::optional<double> given = OffsetsEnd(definition, parameter, call.problem.dims);
  std::optional<double> wanted = OffsetsEnd(definition, parameter, dims);
  if (given == wanted || MayHoldIndices(definition, call, index)) return std::nullopt;
  return OffsetsEnds{*given, *wanted};
}

bool IsLessAnywhere(const Dims& a, const Dims& b) {
  for (int i = 0; i < a.count(); ++i) {
    if (a[Dim{i}] < b[Dim{i}]) return true;
  }
  return false;
}

}  // namespace

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
  made.has_checked_tables_ = true;  // Its tables are ours.
  return made;
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
    made.SetTarget(call_.problem.target);
    return made;
  }
  TuningCall made(call_);
  made.inputs_ = TunedInputs::kRepeated;
  made.call_.problem.dims = bound;
  TUNEONCE_RETURN_IF_ERROR(made.Repeat(definition, call_, stream, memory));
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
    TUNEONCE_ASSIGN_OR_RETURN(std::uint64_t declared, WarmupScalar(definition, parameters[i], dims));
    const bool is_in_key = std::any_of(definition.key().begin(), definition.key().end(), [&](const KeyPart& part) {
      return part.kind == KeyPart::Kind::kValue && part.name == parameters[i].name;
    });
    if (is_in_key && declared != *scalars[i]) {
      return InvalidArgumentError("the scalar '" + parameters[i].name + "' may be an index beyond smaller tensors");
    }
    scalars[i] = declared;
  }
  return scalars;
}

Status TuningCall::Repeat(const KernelDefinition& definition, const BoundCall& of, StreamView stream,
                          TrialMemory& memory) {
  views_.resize(definition.parameters().size());
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.dims.empty()) continue;
    std::array<std::int64_t, kMaxRank> shape{};
    for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
      shape[d] = call_.problem.dims[definition.DimOf(parameter.dims[d])];
    }
    const int rank = static_cast<int>(parameter.dims.size());
    const PointerTable* table = of.FindTable(definition.parameters(), i);
    if (table == nullptr) {
      const TensorView view = TensorView::Contiguous(nullptr, of.tensor(i).dtype, shape.data(), rank);
      TUNEONCE_RETURN_IF_ERROR(AddRepeated(definition, of, i, view, of.tensor(i), stream, memory));
      call_.problem.values[i] = views_[i].data();
      continue;
    }
    // More groups than there are have the tensors of the first ones; of those that differ each gets the largest's size.
    const TensorView view = TensorView::Contiguous(nullptr, table->view.dtype, shape.data() + 1, rank - 1);
    for (std::int64_t group = 0; group < shape[0]; ++group) {
      const TensorView& given = table->tensors[static_cast<std::size_t>(group) % table->count];
      TUNEONCE_RETURN_IF_ERROR(AddRepeated(definition, of, i, view, given, stream, memory));
    }
    TUNEONCE_ASSIGN_OR_RETURN(const PointerTable* repeated, AddTable(i, stream));
    call_.problem.values[i] = repeated;
  }
  return Status();
}

Status TuningCall::AddRepeated(const KernelDefinition& definition, const BoundCall& of, std::size_t index,
                               TensorView view, const TensorView& given, StreamView stream, TrialMemory& memory) {
  const Parameter& parameter = definition.parameters()[index];
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory::Block block, memory.Allocate(stream, view.bytes));
  if (parameter.access != Access::kOut && given.HasElements()) {
    TUNEONCE_ASSIGN_OR_RETURN(std::size_t filled, CopyElements(block.buffer, given));
    TUNEONCE_RETURN_IF_ERROR(Extend(block.buffer, filled, given, MovedEnds(definition, of, index, call_.problem.dims)));
  } else if (parameter.access != Access::kOut) {
    TUNEONCE_RETURN_IF_ERROR(block.buffer.Fill(0));
  }
  view.data = block.buffer.data();
  views_[index].push_back(view);
  blocks_.push_back(std::move(block));
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
