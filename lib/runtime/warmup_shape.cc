#include "runtime/warmup_shape.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "base/short_list.h"
#include "definition/constant_extent.h"
#include "definition/fill_bytes.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Value = TunedKernel::Shape::Value;

std::string TextOf(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.what)) return absl::StrCat(*whole);
  if (const auto* large = std::get_if<std::uint64_t>(&value.what)) return absl::StrCat(*large);
  if (const auto* number = std::get_if<double>(&value.what)) {
    const std::string text = ShortestText(*number);
    // The fraction shows that the number was given as a floating-point number.
    return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
  }
  return std::string(DTypeName(std::get<DType>(value.what)));
}

/// Returns the bytes of a scalar, or nothing if its dtype cannot hold the value exactly. Floating-point dtypes may
/// round.
std::optional<std::uint64_t> EncodeScalar(DType dtype, const Value& value) {
  std::uint64_t word = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value.what)) {
    if (dtype == DType::kInt64 || (dtype == DType::kUInt64 && *whole >= 0)) {
      std::memcpy(&word, whole, sizeof(word));
      return word;
    }
    if (!EncodeElement(dtype, static_cast<double>(*whole), &word)) return std::nullopt;
    return word;
  }
  if (const auto* large = std::get_if<std::uint64_t>(&value.what)) {
    if (dtype == DType::kUInt64) return *large;
    if (!EncodeElement(dtype, static_cast<double>(*large), &word)) return std::nullopt;
    return word;
  }
  if (!EncodeScalar(dtype, std::get<double>(value.what), &word)) return std::nullopt;
  return word;
}

/// Reads one shape's values and collects its mistakes.
class ShapeReader {
 public:
  explicit ShapeReader(const KernelDefinition& definition) : definition_(definition) {
    shape_.dims = Dims(static_cast<int>(definition.dims().size()));
    shape_.scalars.resize(definition.parameters().size());
  }

  void Add(const std::string& name, const Value& value) {
    if (!names_.insert(name).second) return Note(absl::StrCat("'", name, "' is given twice"));
    const std::vector<std::string>& dims = definition_.dims();
    if (std::find(dims.begin(), dims.end(), name) != dims.end()) return AddDim(name, value);
    std::optional<std::size_t> parameter = definition_.FindParameter(name);
    if (parameter && definition_.parameters()[*parameter].kind == ParameterKind::kTensor) {
      return AddDType(*parameter, value);
    }
    if (parameter && definition_.parameters()[*parameter].kind == ParameterKind::kScalar) {
      return AddScalar(*parameter, value);
    }
    unknown_.push_back("'" + name + "'");
  }

  Result<InputShape> Finish() {
    for (const std::string& dim : definition_.dims()) {
      if (names_.count(dim) == 0) missing_.push_back("'" + dim + "'");
    }
    if (!missing_.empty()) {
      Note(absl::StrCat("no value for the dim", missing_.size() > 1 ? "s " : " ", ShortList(missing_)));
    }
    if (!unknown_.empty()) {
      Note(absl::StrCat(ShortList(unknown_), unknown_.size() > 1 ? " are unknown" : " is unknown", ": ", Known()));
    }
    if (!wrong_.empty()) return InvalidArgumentError("invalid shape: " + absl::StrJoin(wrong_, "; "));
    for (std::size_t i = 0; i < definition_.parameters().size(); ++i) {
      if (definition_.parameters()[i].kind == ParameterKind::kTensor) shape_.dtypes.push_back(dtypes_[i]);
    }
    return std::move(shape_);
  }

 private:
  void Note(std::string what) { wrong_.push_back(std::move(what)); }

  void AddDim(const std::string& name, const Value& value) {
    const auto* extent = std::get_if<std::int64_t>(&value.what);
    if (extent == nullptr || *extent < 0) return Note(absl::StrCat("dim ", name, " is ", TextOf(value)));
    shape_.dims[definition_.DimOf(name)] = *extent;
  }
  void AddDType(std::size_t parameter, const Value& value) {
    const auto* dtype = std::get_if<DType>(&value.what);
    if (dtype == nullptr) {
      return Note(absl::StrCat("'", definition_.parameters()[parameter].name,
                               "' is a tensor, which takes a dtype, not ", TextOf(value)));
    }
    dtypes_[parameter] = *dtype;
  }
  void AddScalar(std::size_t index, const Value& value) {
    const Parameter& parameter = definition_.parameters()[index];
    bool is_number = !std::holds_alternative<DType>(value.what);
    if (is_number) shape_.scalars[index] = EncodeScalar(parameter.dtype, value);
    if (shape_.scalars[index]) return;
    Note(absl::StrCat("scalar '", parameter.name, "' cannot be ", TextOf(value), ": it is a ",
                      std::string(DTypeName(parameter.dtype))));
  }

  /// Lists the known names: "dims M, N; scalars eps; tensors x, y".
  std::string Known() const {
    std::vector<std::string> scalars, tensors, kinds;
    for (const Parameter& parameter : definition_.parameters()) {
      if (parameter.kind == ParameterKind::kScalar) scalars.push_back(parameter.name);
      if (parameter.kind == ParameterKind::kTensor) tensors.push_back(parameter.name);
    }
    auto add = [&](const char* kind, const std::vector<std::string>& names) {
      if (!names.empty()) kinds.push_back(absl::StrCat(kind, " ", ShortList(names)));
    };
    add("dims", definition_.dims());
    add("scalars", scalars);
    add("tensors", tensors);
    return kinds.empty() ? "the kernel has no dims, scalars or tensors"
                         : "the kernel has " + absl::StrJoin(kinds, ", ");
  }

  const KernelDefinition& definition_;
  InputShape shape_;
  std::array<DType, kMaxParameters> dtypes_{};  // By parameter.
  std::set<std::string> names_;
  std::vector<std::string> missing_, unknown_, wrong_;
};

}  // namespace

Result<InputShape> ReadShape(const KernelDefinition& definition, const TunedKernel::Shape& shape) {
  ShapeReader reader(definition);
  for (const auto& [name, value] : shape.values) reader.Add(name, value);
  return reader.Finish();
}

Result<bool> IsEmptyAt(const KernelDefinition& definition, const Dims& dims) {
  auto zero = std::find_if(definition.dims().begin(), definition.dims().end(),
                           [&](const std::string& name) { return dims[definition.DimOf(name)] == 0; });
  if (zero == definition.dims().end()) return false;
  for (const Parameter& parameter : definition.parameters()) {
    if (parameter.kind != ParameterKind::kTensor || parameter.access == Access::kIn) continue;
    bool has_elements = std::all_of(parameter.dims.begin(), parameter.dims.end(),
                                    [&](const std::string& dim) { return ExtentAt(definition, dim, dims) > 0; });
    if (!has_elements) continue;
    return InvalidArgumentError(
        absl::StrCat("dim ", *zero, " is 0, which leaves no input elements to compute '", parameter.name, "' from"));
  }
  return true;
}

}  // namespace v0
}  // namespace tuneonce
