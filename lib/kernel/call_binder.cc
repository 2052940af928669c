#include "tuneonce/kernel/call_binder.h"

#include "absl/strings/str_cat.h"

namespace tuneonce {
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

}  // namespace

CallBinder::CallBinder(const KernelDefinition& definition)
    : definition_(&definition), num_dims_(static_cast<int>(definition.dims().size())) {
  std::uint32_t bound = 0;  // Bit d: dim d has its value.
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    Expected expected{};
    expected.parameter = static_cast<std::uint8_t>(i);
    expected.dtype = parameter.dtype;
    if (parameter.kind == ParameterKind::kTensor) {
      expected.kind = Argument::kTensor;
      TensorView type;
      type.dtype = parameter.dtype;
      type.rank = static_cast<int>(parameter.dims.size());
      expected.type = TypeWord(type);
      expected.type_mask = TypeMask(parameter);
      for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
        int dim = definition.DimOf(parameter.dims[d]).index;
        Extent extent{static_cast<std::uint8_t>(expected_.size()), static_cast<std::uint8_t>(d),
                      static_cast<std::uint8_t>(dim)};
        (((bound >> dim) & 1u) != 0 ? repeating_ : binding_).push_back(extent);
        bound |= 1u << dim;
      }
    } else if (parameter.kind == ParameterKind::kScalar) {
      expected.kind = static_cast<std::uint32_t>(parameter.dtype);
    } else {
      not_passed_.push_back(static_cast<int>(i));
      continue;
    }
    expected_.push_back(expected);
  }
  std::uint32_t undecided = bound;  // Bit d: dim d may differ between calls with the same key words.
  std::uint32_t free_dtypes = 0;    // Bit i: so may the dtype of parameter i.
  for (const Expected& expected : expected_) {
    if (expected.dtype == DType::kAny) free_dtypes |= 1u << expected.parameter;
  }
  for (const KeyPart& part : definition.key()) {
    KeyWord word{part.kind, part.bucket, 0, 0};
    if (part.kind == KeyPart::Kind::kDim) {
      word.index = static_cast<std::uint8_t>(definition.DimOf(part.name).index);
      if (part.bucket == KeyPart::Bucket::kExact) undecided &= ~(1u << word.index);
    } else {
      word.index = static_cast<std::uint8_t>(*definition.FindParameter(part.name));
      word.bytes = static_cast<std::uint8_t>(DTypeBytes(definition.parameters()[word.index].dtype));
      if (part.kind == KeyPart::Kind::kDType) free_dtypes &= ~(1u << word.index);
    }
    key_.push_back(word);
    bool is_declared = part.kind == KeyPart::Kind::kDType && definition.parameters()[word.index].dtype != DType::kAny;
    if (part.kind == KeyPart::Kind::kDim && part.bucket == KeyPart::Bucket::kExact) {
      exact_dims_.push_back(word.index);
    } else if (!is_declared) {
      other_varying_.push_back(word);
    }
  }
  key_decides_problem_ = undecided == 0 && free_dtypes == 0;
}

namespace {

std::string What(const Parameter& parameter) {
  std::string dtype = parameter.dtype == DType::kAny ? "" : std::string(DTypeName(parameter.dtype)) + " ";
  if (parameter.kind == ParameterKind::kScalar) return "a " + dtype + "scalar";
  return absl::StrCat("a ", dtype, "tensor",
                      parameter.dims.empty() ? "" : absl::StrCat(" of rank ", parameter.dims.size()));
}

}  // namespace

Status CallBinder::Refusal(const Argument* arguments, std::size_t count) const {
  std::string kernel = "kernel '" + definition_->name() + "'";
  if (count != expected_.size()) {
    return InvalidArgumentError(absl::StrCat(kernel, " takes ", expected_.size(), " arguments, got ", count));
  }
  std::vector<std::int64_t> bound(definition_->dims().size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Expected& expected = expected_[i];
    const Argument& argument = arguments[i];
    const Parameter& parameter = definition_->parameters()[expected.parameter];
    std::string where = kernel + ", parameter '" + parameter.name + "'";
    bool fits = argument.kind() == expected.kind &&
                (!argument.is_tensor() || ((TypeWord(argument.tensor()) ^ expected.type) & expected.type_mask) == 0);
    if (!fits) {
      std::string got = argument.is_tensor() ? argument.tensor().ToString()
                                             : absl::StrCat("a ", std::string(DTypeName(argument.dtype())), " scalar");
      return InvalidArgumentError(absl::StrCat(where, ": expected ", What(parameter), ", got ", got));
    }
    if (!argument.is_tensor()) continue;
    if (argument.tensor().data == nullptr) return InvalidArgumentError(where + ": null pointer");
    for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
      const std::string& dim = parameter.dims[d];
      std::int64_t& value = bound[static_cast<std::size_t>(definition_->DimOf(dim).index)];
      std::int64_t extent = argument.tensor().shape[d];
      std::string there = absl::StrCat(where, ", dimension ", d, " ('", dim, "'): extent ", extent);
      if (extent < 1) return InvalidArgumentError(there + " is not positive: there is nothing to launch");
      if (value != 0 && value != extent) {
        return InvalidArgumentError(
            absl::StrCat(there, " disagrees with ", dim, "=", value, " of an earlier parameter"));
      }
      value = extent;
    }
  }
  return InternalError(kernel + ": its arguments were refused, but nothing is wrong with them");
}

}  // namespace tuneonce
