#include "tuneonce/kernel/call_binder.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tuneonce {
namespace {

int ParameterIndex(const KernelDefinition& definition, const std::string& name) {
  const auto& parameters = definition.parameters();
  auto it = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
  return static_cast<int>(it - parameters.begin());
}

}  // namespace

CallBinder::CallBinder(const KernelDefinition& definition)
    : definition_(&definition), num_dims_(static_cast<int>(definition.dims().size())) {
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    Expected expected{};
    expected.parameter = static_cast<int>(i);
    expected.dtype = parameter.dtype;
    if (parameter.kind == ParameterKind::kTensor) {
      expected.kind = Argument::kTensor;
      expected.rank = parameter.dims.empty() ? -1 : static_cast<int>(parameter.dims.size());
      for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
        expected.dims[d] = static_cast<std::int8_t>(definition.DimOf(parameter.dims[d]).index);
      }
    } else if (parameter.kind == ParameterKind::kScalar) {
      expected.kind = static_cast<std::uint32_t>(parameter.dtype);
    } else {
      not_passed_.push_back(static_cast<int>(i));
      continue;
    }
    expected_.push_back(expected);
  }
  for (const KeyPart& part : definition.key()) {
    int index =
        part.kind == KeyPart::Kind::kDim ? definition.DimOf(part.name).index : ParameterIndex(definition, part.name);
    key_.push_back(KeyWord{part, index});
  }
}

Status CallBinder::Mismatch(std::size_t argument, const Argument& given) const {
  const Parameter& parameter = definition_->parameters()[static_cast<std::size_t>(expected_[argument].parameter)];
  std::string expected =
      parameter.kind == ParameterKind::kScalar
          ? absl::StrCat("a ", std::string(DTypeName(parameter.dtype)), " scalar")
          : absl::StrCat("a ", parameter.dtype == DType::kAny ? "" : std::string(DTypeName(parameter.dtype)) + " ",
                         "tensor", parameter.dims.empty() ? "" : absl::StrCat(" of rank ", parameter.dims.size()));
  std::string got = given.is_tensor() ? given.tensor().ToString()
                                      : absl::StrCat("a ", std::string(DTypeName(given.dtype())), " scalar");
  return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', parameter '", parameter.name,
                                           "': expected ", expected, ", got ", got));
}

Status CallBinder::Bind(const Argument* arguments, std::size_t count, BoundCall* call) const {
  if (count != expected_.size()) {
    return InvalidArgumentError(
        absl::StrCat("kernel '", definition_->name(), "' takes ", expected_.size(), " arguments, got ", count));
  }
  Dims& dims = call->problem.dims;
  dims.Reset(num_dims_);
  for (int parameter : not_passed_) call->ResetParameter(static_cast<std::size_t>(parameter));
  std::uint32_t bound = 0;  // Bit d: dim d has its value.
  for (std::size_t i = 0; i < count; ++i) {
    const Expected& expected = expected_[i];
    const Argument& argument = arguments[i];
    auto parameter = static_cast<std::size_t>(expected.parameter);
    if (argument.kind() != expected.kind) return Mismatch(i, argument);
    if (expected.kind != Argument::kTensor) {
      call->tensors[parameter] = nullptr;
      call->scalars[parameter] = argument.scalar();
      call->problem.dtypes[parameter] = expected.dtype;
      continue;
    }
    const TensorView& tensor = argument.tensor();
    if ((expected.dtype != DType::kAny && tensor.dtype != expected.dtype) ||
        (expected.rank >= 0 && tensor.rank != expected.rank)) {
      return Mismatch(i, argument);
    }
    if (tensor.data == nullptr) {
      return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', parameter '",
                                               definition_->parameters()[parameter].name, "': null pointer"));
    }
    call->tensors[parameter] = &tensor;
    call->scalars[parameter] = nullptr;
    call->problem.dtypes[parameter] = tensor.dtype;
    for (int d = 0; d < expected.rank; ++d) {
      Dim dim{expected.dims[static_cast<std::size_t>(d)]};
      std::int64_t extent = tensor.shape[static_cast<std::size_t>(d)];
      std::uint32_t bit = 1u << dim.index;
      if (extent < 1 || ((bound & bit) != 0 && dims[dim] != extent)) {
        const std::string& dim_name = definition_->dims()[static_cast<std::size_t>(dim.index)];
        return InvalidArgumentError(absl::StrCat(
            "kernel '", definition_->name(), "', parameter '", definition_->parameters()[parameter].name,
            "', dimension ", d, " ('", dim_name, "'): extent ", extent,
            extent < 1 ? " is not positive: there is nothing to launch"
                       : absl::StrCat(" disagrees with ", dim_name, "=", dims[dim], " of an earlier parameter")));
      }
      dims[dim] = extent;
      bound |= bit;
    }
  }
  return Status();
}

void CallBinder::KeyWords(const BoundCall& call, std::uint64_t* words) const {
  for (const KeyWord& word : key_) {
    auto index = static_cast<std::size_t>(word.index);
    switch (word.part.kind) {
      case KeyPart::Kind::kDim:
        *words++ = static_cast<std::uint64_t>(word.part.Round(call.problem.dims[Dim{word.index}]));
        break;
      case KeyPart::Kind::kDType:
        *words++ = static_cast<std::uint64_t>(call.problem.dtypes[index]);
        break;
      case KeyPart::Kind::kValue: {
        std::uint64_t value = 0;
        std::memcpy(&value, call.scalars[index], DTypeBytes(call.problem.dtypes[index]));
        *words++ = value;
        break;
      }
    }
  }
}

}  // namespace tuneonce
