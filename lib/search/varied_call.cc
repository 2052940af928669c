#include "search/varied_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "definition/constant_extent.h"
#include "definition/fill_bytes.h"
#include "definition/scalar_value.h"
#include "search/trial_memory.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The number of elements by which rows are moved apart. It is a multiple of what code usually assumes of strides, so
/// that the same variants accept the padded strides.
constexpr std::int64_t kPadding = 64;
/// The least shift of an address: code may read 16 bytes at a time without a variant that declares it.
constexpr std::int64_t kLeastShift = 16;

/// Maximum number of stretches of a tensor with gaps. Each stretch is a copy of its own; this many are enough values
/// and take some hundred microseconds.
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

/// Returns declared offsets that end elsewhere at `dims` than in the call. Empty for other parameters, and if the call
/// reads other numbers, such as the greatest length, which may depend on the offsets.
std::optional<OffsetsEnds> MovedEnds(const KernelDefinition& definition, const BoundCall& call, std::size_t index,
                                     const Dims& dims) {
  const Parameter& parameter = definition.parameters()[index];
  std::optional<double> given = OffsetsEnd(definition, parameter, call.problem.dims);
  std::optional<double> wanted = OffsetsEnd(definition, parameter, dims);
  if (given == wanted || MayHoldIndices(definition, call, index)) return std::nullopt;
  return OffsetsEnds{*given, *wanted};
}

/// Gives the floating-point elements at the buffer's begin, as many as `view` has, the opposite sign.
Status Negate(const TensorView& view, const DeviceBuffer& buffer) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> bytes, ReadDeviceMemory(buffer.stream(), buffer.get(), view.bytes));
  const std::size_t element = DTypeBytes(view.dtype);
  for (std::size_t last = element - 1; last < bytes.size(); last += element) bytes[last] ^= '\x80';
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(bytes.data(), bytes.size()));
  return buffer.stream().Synchronize();
}

/// The alignment in bytes that some variant declares of the tensor, kLeastShift at least.
std::int64_t AlignmentOf(const KernelDefinition& definition, const std::string& tensor) {
  std::int64_t alignment = kLeastShift;
  for (const Variant& variant : definition.variants()) {
    for (const Assumption& assumption : variant.assumptions) {
      if (assumption.kind != Assumption::Kind::kAligned || assumption.tensor != tensor) continue;
      alignment = std::max(alignment, assumption.value);
    }
  }
  for (const Condition& atom : definition.requirement_atoms()) {
    const std::optional<Assumption> assumption = atom.AsAssumption();
    if (!assumption || assumption->kind != Assumption::Kind::kAligned || assumption->tensor != tensor) continue;
    alignment = std::max(alignment, assumption->value);
  }
  return alignment;
}

bool TakesStride(const KernelDefinition& definition, const std::string& tensor, std::size_t dimension) {
  return std::any_of(definition.parameters().begin(), definition.parameters().end(), [&](const Parameter& each) {
    return each.kind == ParameterKind::kStride && each.tensor == tensor &&
           each.dimension == static_cast<int>(dimension);
  });
}

/// The dimension whose stride may be padded: the one around the innermost, where a kernel takes its stride, else the
/// innermost. Empty for tensors that kernels take as a bare pointer.
std::optional<std::size_t> PaddableDimension(const KernelDefinition& definition, const Parameter& parameter) {
  const std::size_t rank = parameter.dims.size();
  if (rank == 0 || parameter.by_pointers) return std::nullopt;
  const bool is_spread =
      std::any_of(definition.variants().begin(), definition.variants().end(),
                  [](const Variant& variant) { return variant.convention == CallingConvention::kCutilePython; });
  if (rank >= 2 && (is_spread || TakesStride(definition, parameter.name, rank - 2))) return rank - 2;
  // Code that gets all strides is usually compiled for an innermost one of 1.
  return TakesStride(definition, parameter.name, rank - 1) ? std::optional<std::size_t>(rank - 1) : std::nullopt;
}

/// The view with rows, or elements, further apart. REQUIRES: it has elements and is row-major.
TensorView Padded(const TensorView& view, std::size_t dimension) {
  std::array<std::int64_t, kMaxRank> strides = view.strides;
  const bool is_innermost = dimension + 1 == static_cast<std::size_t>(view.rank);
  strides[dimension] = is_innermost ? 2 : strides[dimension] + kPadding;
  for (std::size_t d = dimension; d-- > 0;) strides[d] = strides[d + 1] * view.shape[d + 1];
  return TensorView::Strided(nullptr, view.dtype, view.shape.data(), strides.data(), view.rank);
}

TensorView Dense(const TensorView& view) {
  return TensorView::Contiguous(nullptr, view.dtype, view.shape.data(), view.rank);
}

/// What is filled for the view: its elements in row-major order, or all that it has where some of them are the same
/// (broadcast, stride 0).
TensorView Filled(const TensorView& view) {
  if (Dense(view).bytes <= view.bytes) return Dense(view);
  const auto count = static_cast<std::int64_t>(view.bytes / DTypeBytes(view.dtype));
  return TensorView::Contiguous(nullptr, view.dtype, &count, 1);
}

/// Replaces a floating-point value by another one: half of it or somewhat more, another share for each of the first
/// eight parameters, so that scalars that were equal differ. The sign and the magnitude stay: a probability stays one.
/// With a value that is not finite or 0, most outputs are NaN or 0 whatever the code does, so that the share takes its
/// place, as that of a value of another dtype than float and double.
void ChangeReal(DType dtype, std::size_t parameter, std::uint64_t* word) {
  const double share = 0.5 + 0.0625 * static_cast<double>(parameter % 8);
  double value = 0;
  if (dtype == DType::kFloat64) std::memcpy(&value, word, sizeof(value));
  if (dtype == DType::kFloat32) {
    float narrow;
    std::memcpy(&narrow, word, sizeof(narrow));
    value = narrow;
  }
  const std::uint64_t before = *word;
  EncodeElement(dtype, std::isfinite(value) && value != 0 ? value * share : share, word);
  if (*word == before) EncodeElement(dtype, share / 2, word);
}

/// True if the key names the value of this scalar.
bool IsScalarInKey(const KernelDefinition& definition, const Parameter& scalar) {
  return std::any_of(definition.key().begin(), definition.key().end(), [&](const KeyPart& part) {
    return part.kind == KeyPart::Kind::kValue && part.name == scalar.name;
  });
}

/// True for the scalars whose values CallVariation::changes_scalars changes.
bool IsChangeable(const KernelDefinition& definition, const Parameter& parameter) {
  const bool has_type = parameter.dtype == DType::kBool || IsFloatingPoint(parameter.dtype);
  return parameter.kind == ParameterKind::kScalar && has_type && !IsScalarInKey(definition, parameter);
}

}  // namespace

std::string CallVariation::ToString(const KernelDefinition& definition) const {
  std::string text = definition.DimsString(dims);
  if (generates_data) absl::StrAppend(&text, negates_data ? ", negated generated data" : ", generated data");
  if (pads_strides) absl::StrAppend(&text, ", padded strides");
  if (shifts_addresses) absl::StrAppend(&text, ", other addresses");
  if (only_scalar) {
    absl::StrAppend(&text, ", another '", definition.parameters()[*only_scalar].name, "'");
  } else if (changes_scalars) {
    absl::StrAppend(&text, ", other scalars");
  }
  return text;
}

std::vector<std::size_t> ChangeableScalars(const KernelDefinition& definition) {
  std::vector<std::size_t> changeable;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    if (IsChangeable(definition, definition.parameters()[i])) changeable.push_back(i);
  }
  return changeable;
}

bool IsNumber(DType dtype) { return IsWhole(dtype) && dtype != DType::kBool; }

bool MayHoldIndices(const KernelDefinition& definition, const BoundCall& call, std::optional<std::size_t> but) {
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

bool IsLessAnywhere(const Dims& a, const Dims& b) {
  for (int i = 0; i < a.count(); ++i) {
    if (a[Dim{i}] < b[Dim{i}]) return true;
  }
  return false;
}

Result<std::uint64_t> NumberWhereCut(const KernelDefinition& definition, const Parameter& scalar, const Dims& dims,
                                     std::uint64_t given) {
  TUNEONCE_ASSIGN_OR_RETURN(std::uint64_t declared, WarmupScalar(definition, scalar, dims));
  if (IsScalarInKey(definition, scalar) && declared != given) {
    return InvalidArgumentError("the scalar '" + scalar.name +
                                "' may be an index, which would be out of bounds in smaller tensors");
  }
  return declared;
}

/// The parts of a call.
struct VariedCall::Source {
  const KernelDefinition& definition;
  const BoundCall& of;
  const CallVariation& variation;
  StreamView stream;
  TrialMemory& memory;
  DeclaredFills& fills;
  bool is_cut;  ///< A dim is less than the original's.
};

Result<VariedCall> VariedCall::Make(const KernelDefinition& definition, const BoundCall& of,
                                    const CallVariation& variation, StreamView stream, TrialMemory& memory,
                                    DeclaredFills& fills) {
  const Source source{
      definition, of, variation, stream, memory, fills, IsLessAnywhere(variation.dims, of.problem.dims)};
  VariedCall made;
  made.call_ = of;
  made.call_.problem.dims = variation.dims;
  made.views_.resize(definition.parameters().size());
  made.scalars_.resize(definition.parameters().size());
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.kind == ParameterKind::kScalar) TUNEONCE_RETURN_IF_ERROR(made.SetScalar(source, i));
    if (parameter.kind == ParameterKind::kTensor) TUNEONCE_RETURN_IF_ERROR(made.AddTensor(source, i));
  }
  return made;
}

Status VariedCall::AddTensor(const Source& source, std::size_t index) {
  const Parameter& parameter = source.definition.parameters()[index];
  const CallVariation& variation = source.variation;
  if (parameter.dims.empty()) return AddRawMemory(source, index);
  std::array<std::int64_t, kMaxRank> shape{};
  for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
    shape[d] = ExtentAt(source.definition, parameter.dims[d], variation.dims);
  }
  const int rank = static_cast<int>(parameter.dims.size());
  const bool has_same_dims = variation.dims == source.of.problem.dims;
  const PointerTable* table = source.of.FindTable(source.definition.parameters(), index);
  if (table != nullptr) {
    // More groups than there are have the tensors of the first ones; of those that differ each gets the largest's size.
    const TensorView view = TensorView::Contiguous(nullptr, table->view.dtype, shape.data() + 1, rank - 1);
    for (std::int64_t group = 0; group < shape[0]; ++group) {
      const TensorView& given = table->tensors[static_cast<std::size_t>(group) % table->count];
      // Generated extents of the slices may be larger than the original's.
      const bool keeps_shape = has_same_dims && !variation.generates_data;
      TUNEONCE_RETURN_IF_ERROR(AddFilled(source, index, keeps_shape ? given : view, given));
    }
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<DeviceTable> made, DeviceTable::Create(views_[index], source.stream));
    tables_.push_back(std::move(made));
    call_.problem.values[index] = &tables_.back()->table();
    return Status();
  }
  const TensorView& given = source.of.tensor(index);
  TensorView view = has_same_dims ? given : TensorView::Contiguous(nullptr, given.dtype, shape.data(), rank);
  if (variation.pads_strides && view.HasElements()) {
    if (std::optional<std::size_t> dimension = PaddableDimension(source.definition, parameter)) {
      view = Padded(Dense(view), *dimension);
    }
  }
  TUNEONCE_RETURN_IF_ERROR(AddFilled(source, index, view, given));
  call_.problem.values[index] = views_[index].data();
  return Status();
}

Status VariedCall::AddRawMemory(const Source& source, std::size_t index) {
  const Parameter& parameter = source.definition.parameters()[index];
  if (!source.is_cut && !source.variation.generates_data) return Status();  // The caller's memory is used for any dims.
  const PointerTable* table = source.of.FindTable(source.definition.parameters(), index);
  const TensorView* given = table == nullptr ? &source.of.tensor(index) : nullptr;
  const bool is_known = given != nullptr && given->dtype != DType::kAny && (given->bytes > 0 || !given->HasElements());
  if (source.is_cut || !is_known) {
    return InvalidArgumentError("parameter '" + parameter.name + "' is raw memory, whose contents are not known");
  }
  if (!IsFloatingPoint(given->dtype) || !given->HasElements()) return Status();  // Whole numbers may be indices.
  // All of it is filled, gaps between rows too. It stays where it is modulo the alignment, since code that computes
  // addresses itself may depend on that.
  const auto count = static_cast<std::int64_t>(given->bytes / DTypeBytes(given->dtype));
  const TensorView all = TensorView::Contiguous(given->data, given->dtype, &count, 1);
  CallVariation in_place = source.variation;
  in_place.shifts_addresses = false;
  const Source of_memory{source.definition, source.of,    in_place,     source.stream,
                         source.memory,     source.fills, source.is_cut};
  TUNEONCE_RETURN_IF_ERROR(AddFilled(of_memory, index, all, all));
  call_.problem.values[index] = views_[index].data();
  return Status();
}

Status VariedCall::AddFilled(const Source& source, std::size_t index, TensorView view, const TensorView& given) {
  const Parameter& parameter = source.definition.parameters()[index];
  const CallVariation& variation = source.variation;
  const bool is_read = parameter.access != Access::kOut;
  std::size_t offset = reinterpret_cast<std::uintptr_t>(given.data) % GuardedMemory::kAlignment;
  if (variation.shifts_addresses) {
    offset =
        (offset + static_cast<std::size_t>(AlignmentOf(source.definition, parameter.name))) % GuardedMemory::kAlignment;
  }
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory::Block block, source.memory.Allocate(source.stream, offset + view.bytes));
  view.data = static_cast<char*>(block.buffer.data()) + offset;
  // Whole numbers may be indices: they stay the caller's where they fit and nothing else is declared.
  const bool has_fill = parameter.warmup.has_value() || IsFloatingPoint(view.dtype);
  const bool needs_fill = variation.generates_data ? has_fill : source.is_cut && IsNumber(view.dtype);
  if (is_read && source.is_cut && !has_fill && view.HasElements()) {
    return InvalidArgumentError(
        "parameter '" + parameter.name +
        "' may hold indices, which would be out of bounds in smaller tensors: declare values with ForWarmup, in a "
        "manifest with \"warmup\"");
  }
  if (is_read && view.HasElements()) {
    std::optional<TrialMemory::Block> apart;  // A buffer is filled from its beginning on.
    if (offset > 0) {
      TUNEONCE_ASSIGN_OR_RETURN(apart, source.memory.Allocate(source.stream, view.bytes));
    }
    const DeviceBuffer& filled = apart ? apart->buffer : block.buffer;
    TUNEONCE_RETURN_IF_ERROR(needs_fill ? source.fills.Fill(index, variation.dims, Filled(view), filled)
                                        : FillLike(source, index, given, filled));
    if (needs_fill && variation.negates_data && !parameter.warmup) TUNEONCE_RETURN_IF_ERROR(Negate(view, filled));
    if (apart) TUNEONCE_RETURN_IF_ERROR(block.buffer.CopyFromDevice(filled.get(), view.bytes, offset));
  }
  views_[index].push_back(view);
  blocks_.push_back(std::move(block));
  return Status();
}

Status VariedCall::FillLike(const Source& source, std::size_t index, const TensorView& given,
                            const DeviceBuffer& buffer) {
  if (!given.HasElements()) return buffer.Fill(0);
  TUNEONCE_ASSIGN_OR_RETURN(std::size_t bytes, CopyElements(buffer, given));
  return Extend(buffer, bytes, given, MovedEnds(source.definition, source.of, index, source.variation.dims));
}

Status VariedCall::SetScalar(const Source& source, std::size_t index) {
  const Parameter& parameter = source.definition.parameters()[index];
  std::uint64_t& word = scalars_[index];
  std::memcpy(&word, source.of.problem.values[index], DTypeBytes(parameter.dtype));
  call_.problem.values[index] = &word;
  if (source.is_cut && IsNumber(parameter.dtype)) {
    TUNEONCE_ASSIGN_OR_RETURN(word, NumberWhereCut(source.definition, parameter, source.variation.dims, word));
  }
  const bool is_changed =
      source.variation.changes_scalars && source.variation.only_scalar.value_or(index) == index;
  if (!is_changed || !IsChangeable(source.definition, parameter)) return Status();
  if (parameter.dtype == DType::kBool) {
    word ^= 1;
  } else {
    ChangeReal(parameter.dtype, index, &word);
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
