#include "launch/call_binder.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "definition/constant_extent.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Which bits of a CallBinder::TypeWord the parameter declares: of the dtype if it has one, of the rank unless it is
/// raw memory.
std::uint64_t TypeMask(const Parameter& parameter) {
  std::uint64_t mask = 0;
  char* bytes = reinterpret_cast<char*>(&mask);
  if (parameter.dtype != DType::kAny) std::memset(bytes, 0xff, sizeof(DType));
  if (!parameter.dims.empty())
    std::memset(bytes + offsetof(TensorView, rank) - offsetof(TensorView, dtype), 0xff, sizeof(int));
  return mask;
}

/// Bit d: in dimension d all tensors of a table have the same extent.
std::uint64_t EqualDimensions(const Parameter& parameter) {
  std::uint64_t equal = 0;
  for (std::size_t d = 1; d < parameter.dims.size(); ++d) {
    const bool varies =
        std::find(parameter.varying.begin(), parameter.varying.end(), parameter.dims[d]) != parameter.varying.end();
    if (!varies) equal |= std::uint64_t{1} << d;
  }
  return equal;
}

}  // namespace

std::string NameOf(const Parameter& parameter, const ReachedTensor& reached) {
  return absl::StrCat("'", parameter.name, "'",
                      parameter.by_pointers ? absl::StrCat(" (tensor ", reached.nth, ")") : "");
}

std::vector<ReachedTensor> ReachedTensorsOf(const std::vector<Parameter>& parameters, const BoundCall& call) {
  std::vector<ReachedTensor> reached;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const PointerTable* table = call.FindTable(parameters, i);
    const TensorView* tensor = table == nullptr ? call.FindTensor(parameters, i) : nullptr;
    if (tensor != nullptr) reached.push_back(ReachedTensor{i, 0, tensor});
    for (std::size_t n = 0; table != nullptr && n < table->count; ++n) {
      reached.push_back(ReachedTensor{i, n, &table->tensors[n]});
    }
  }
  return reached;
}

CallBinder::CallBinder(const KernelDefinition& definition)
    : definition_(&definition), num_dims_(static_cast<int>(definition.dims().size())) {
  std::uint32_t bound = 0;  // Bit d: dim d has its value.
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    Expected expected{};
    expected.parameter = static_cast<std::uint8_t>(i);
    expected.dtype = parameter.dtype;
    if (parameter.kind == ParameterKind::kTensor) {
      expected.kind = parameter.by_pointers ? Argument::kTable : Argument::kTensor;
      if (parameter.by_pointers) tables_.push_back(TableCheck{expected.parameter, EqualDimensions(parameter)});
      TensorView type;
      type.dtype = parameter.dtype;
      type.rank = static_cast<int>(parameter.dims.size());
      expected.type = TypeWord(type);
      expected.type_mask = TypeMask(parameter);
      for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
        if (ConstantExtent(parameter.dims[d])) continue;  // An assumption of each variant (AssumptionChecks).
        int dim = definition.DimOf(parameter.dims[d]).index;
        Extent extent{static_cast<std::uint8_t>(expected_.size()), static_cast<std::uint8_t>(d),
                      static_cast<std::uint8_t>(dim)};
        (((bound >> dim) & 1u) != 0 ? repeating_ : binding_).push_back(extent);
        bound |= 1u << dim;
      }
      if (!parameter.same_dtype_as.empty() && parameter.dtype == DType::kAny) {
        same_dtypes_.emplace_back(expected.parameter,
                                  static_cast<std::uint8_t>(*definition.FindParameter(parameter.same_dtype_as)));
      }
    } else if (parameter.kind == ParameterKind::kScalar) {
      expected.kind = static_cast<std::uint32_t>(parameter.dtype);
    } else {
      not_passed_.push_back(static_cast<int>(i));
      continue;
    }
    expected_.push_back(expected);
  }
  num_arguments_ = expected_.size();
  has_rare_checks_ = !same_dtypes_.empty() || !tables_.empty();
  bool has_leading_dtype = false;
  // LeadingDType reads it even for a kernel without parameters.
  if (definition.parameters().empty()) not_passed_.push_back(0);
  std::uint32_t undecided = bound;  // Bit d: dim d may differ between calls with the same key words.
  for (const KeyPart& part : definition.key()) {
    KeyWord word{part.kind, 0, 0, 0, nullptr};
    if (part.kind == KeyPart::Kind::kDim) {
      word.index = static_cast<std::uint8_t>(definition.DimOf(part.name).index);
      if (part.bucket == KeyPart::Bucket::kExact) undecided &= ~(1u << word.index);
      const std::vector<std::int64_t>& list = ListOf(part);
      word.num_limits = static_cast<std::uint32_t>(list.size() / 2);
      word.limits = list.data();
    } else {
      word.index = static_cast<std::uint8_t>(*definition.FindParameter(part.name));
      word.bytes = static_cast<std::uint8_t>(DTypeBytes(definition.parameters()[word.index].dtype));
    }
    key_.push_back(word);
    const Parameter* tensor = part.kind == KeyPart::Kind::kDType ? &definition.parameters()[word.index] : nullptr;
    bool is_declared = tensor != nullptr && (tensor->dtype != DType::kAny || !tensor->same_dtype_as.empty());
    if (part.kind == KeyPart::Kind::kDim && part.bucket == KeyPart::Bucket::kExact) {
      exact_dims_.push_back(word.index);
    } else if (tensor != nullptr && !is_declared && !has_leading_dtype) {
      leading_dtype_ = word.index;
      has_leading_dtype = true;
    } else if (!is_declared) {
      other_varying_.push_back(word);
    }
  }
  key_decides_problem_ = undecided == 0;  // All dtypes are in the key, or declared.
}

const std::vector<std::int64_t>& CallBinder::ListOf(const KeyPart& part) {
  std::vector<std::int64_t> list = part.values;
  if (part.bucket == KeyPart::Bucket::kNearest) {
    for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i] += (part.values[i + 1] - part.values[i]) / 2;
    list.back() = std::numeric_limits<std::int64_t>::max();
  }
  list.insert(list.end(), part.values.begin(), part.values.end());
  return *lists_.emplace_back(std::make_unique<const std::vector<std::int64_t>>(std::move(list)));
}

void CallBinder::KeyWords(const BoundCall& call, std::uint64_t* words) const {
  const std::vector<KeyPart>& parts = definition_->key();
  for (std::size_t i = 0; i < key_.size(); ++i) {
    const bool is_dim = key_[i].kind == KeyPart::Kind::kDim;
    words[i] = is_dim ? static_cast<std::uint64_t>(parts[i].Round(call.problem.dims[Dim{key_[i].index}]))
                      : WordOf(key_[i], call);
  }
}

namespace {

std::string What(const Parameter& parameter) {
  std::string dtype = parameter.dtype == DType::kAny ? "" : std::string(DTypeName(parameter.dtype)) + " ";
  if (parameter.kind == ParameterKind::kScalar) return "a " + dtype + "scalar";
  if (parameter.by_pointers) {
    return absl::StrCat("a table of pointers to ", dtype, "tensors of rank ", parameter.dims.size() - 1,
                        " (PointerTable)");
  }
  return absl::StrCat("a ", dtype, "tensor",
                      parameter.dims.empty() ? "" : absl::StrCat(" of rank ", parameter.dims.size()));
}

}  // namespace

Status CallBinder::CheckTable(const PointerTable& table, const Parameter& parameter) {
  TUNEONCE_RETURN_IF_ERROR(table.Check());
  const std::uint64_t differing = table.differing & EqualDimensions(parameter);
  for (std::size_t d = 1; d < parameter.dims.size(); ++d) {
    if ((differing >> d & 1) == 0) continue;
    return InvalidArgumentError(absl::StrCat(
        "the tensors of the table have different extents in dimension ", d - 1, " ('", parameter.dims[d],
        "'), but are declared with the same extent: allow this with ByPointers({\"", parameter.dims[d], "\"})"));
  }
  return Status();
}

Status CallBinder::CheckType(const Argument& argument, const Expected& expected, const Argument* arguments) const {
  const Parameter& parameter = definition_->parameters()[expected.parameter];
  std::string where = "kernel '" + definition_->name() + "', parameter '" + parameter.name + "'";
  if (argument.kind() == Argument::kTable && argument.kind() == expected.kind) {
    if (argument.table().count == 0) return Status();  // An empty table has no dtype.
    TUNEONCE_RETURN_IF_ERROR(argument.table().Check().WithPrefix(where));
  }
  bool fits = argument.kind() == expected.kind &&
              (!argument.is_tensor() || ((TypeWord(argument.tensor()) ^ expected.type) & expected.type_mask) == 0);
  if (!fits) {
    std::string got = argument.is_tensor()
                          ? absl::StrCat(argument.is_table() ? "a table of " : "", argument.tensor().ToString())
                          : absl::StrCat("a ", std::string(DTypeName(argument.dtype())), " scalar");
    return InvalidArgumentError(absl::StrCat(where, ": expected ", What(parameter), ", got ", got));
  }
  if (argument.is_table()) TUNEONCE_RETURN_IF_ERROR(CheckTable(argument.table(), parameter).WithPrefix(where));
  if (parameter.same_dtype_as.empty() || parameter.dtype != DType::kAny) return Status();
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const std::string& name = definition_->parameters()[expected_[i].parameter].name;
    if (name != parameter.same_dtype_as || !arguments[i].is_tensor()) continue;
    if (arguments[i].is_table() && arguments[i].table().count == 0) continue;
    if (arguments[i].dtype() == argument.dtype()) continue;
    return InvalidArgumentError(absl::StrCat(where, ": expected a ", std::string(DTypeName(arguments[i].dtype())),
                                             " tensor, the dtype of '", name, "', got ", argument.tensor().ToString()));
  }
  return Status();
}

Status CallBinder::Refusal(const Argument* arguments, std::size_t count, bool* is_empty) const {
  if (is_empty != nullptr) *is_empty = false;
  std::string kernel = "kernel '" + definition_->name() + "'";
  if (count != expected_.size()) {
    return InvalidArgumentError(absl::StrCat(kernel, " takes ", expected_.size(), " arguments, got ", count));
  }
  std::vector<std::optional<std::int64_t>> bound(definition_->dims().size());
  std::string zero;  // Where the first extent of 0 is.
  for (std::size_t i = 0; i < count; ++i) {
    TUNEONCE_RETURN_IF_ERROR(CheckType(arguments[i], expected_[i], arguments));
    if (!arguments[i].is_tensor()) continue;
    const Parameter& parameter = definition_->parameters()[expected_[i].parameter];
    const TensorView& tensor = arguments[i].tensor();
    std::string where = kernel + ", parameter '" + parameter.name + "'";
    if (tensor.data == nullptr && tensor.HasElements())
      return InvalidArgumentError(where + ": the tensor is a null pointer");
    const std::size_t known = arguments[i].is_table() && arguments[i].table().count == 0 ? 1 : parameter.dims.size();
    for (std::size_t d = 0; d < known; ++d) {
      const std::string& dim = parameter.dims[d];
      if (const std::optional<std::int64_t> constant = ConstantExtent(dim)) {
        if (tensor.shape[d] != *constant) {
          return OtherConstantExtent(definition_->name(), parameter.name, d, tensor.shape[d], *constant);
        }
        continue;
      }
      std::optional<std::int64_t>& value = bound[static_cast<std::size_t>(definition_->DimOf(dim).index)];
      std::int64_t extent = tensor.shape[d];
      std::string there = absl::StrCat(where, ", dimension ", d, " ('", dim, "'): extent ", extent);
      if (extent < 0) return InvalidArgumentError(there + " is negative");
      if (value && *value != extent) {
        return InvalidArgumentError(
            absl::StrCat(there, " disagrees with ", dim, "=", *value, " of an earlier parameter"));
      }
      value = extent;
      if (extent == 0 && zero.empty()) zero = there;
    }
  }
  return zero.empty() ? Status() : RefusalOfZero(arguments, zero, is_empty);
}

Status CallBinder::RefusalOfZero(const Argument* arguments, const std::string& zero, bool* is_empty) const {
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const Parameter& parameter = definition_->parameters()[expected_[i].parameter];
    if (parameter.kind != ParameterKind::kTensor || parameter.access == Access::kIn) continue;
    if (!arguments[i].tensor().HasElements()) continue;
    // A sum over nothing is 0, which the kernel would have to write, so this cannot be skipped like a launch without
    // outputs.
    return InvalidArgumentError(absl::StrCat(zero, " leaves no input elements to compute '", parameter.name,
                                             "' from: fill the output instead of launching"));
  }
  if (is_empty != nullptr) *is_empty = true;
  return InvalidArgumentError(zero + " is not positive, so there is nothing to launch");
}

}  // namespace v0
}  // namespace tuneonce
