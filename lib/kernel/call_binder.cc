#include "tuneonce/kernel/call_binder.h"

#include "absl/strings/str_cat.h"

namespace tuneonce {

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
      expected.has_rank = !parameter.dims.empty();
      expected.rank = static_cast<std::uint8_t>(parameter.dims.size());
      for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
        int dim = definition.DimOf(parameter.dims[d]).index;
        expected.dims[d] = static_cast<std::uint8_t>(dim);
        expected.bound_before |= static_cast<std::uint8_t>(((bound >> dim) & 1u) << d);
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
    if (!is_declared) varying_key_.push_back(word);
  }
  key_decides_problem_ = undecided == 0 && free_dtypes == 0;
}

Status CallBinder::WrongCount(std::size_t count) const {
  return InvalidArgumentError(
      absl::StrCat("kernel '", definition_->name(), "' takes ", expected_.size(), " arguments, got ", count));
}

Status CallBinder::Mismatch(std::size_t argument, const Argument& given) const {
  const Parameter& parameter = definition_->parameters()[expected_[argument].parameter];
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

Status CallBinder::NullPointer(std::size_t argument) const {
  return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', parameter '",
                                           definition_->parameters()[expected_[argument].parameter].name,
                                           "': null pointer"));
}

Status CallBinder::BadExtent(std::size_t argument, std::size_t dimension, const TensorView& tensor,
                             std::int64_t bound) const {
  const Expected& expected = expected_[argument];
  const std::string& dim = definition_->dims()[expected.dims[dimension]];
  return InvalidArgumentError(absl::StrCat(
      "kernel '", definition_->name(), "', parameter '", definition_->parameters()[expected.parameter].name,
      "', dimension ", dimension, " ('", dim, "'): extent ", tensor.shape[dimension],
      bound == 0 ? " is not positive: there is nothing to launch"
                 : absl::StrCat(" disagrees with ", dim, "=", bound, " of an earlier parameter")));
}

}  // namespace tuneonce
