#include "absl/strings/str_cat.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// No index of a parameter.
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

const TensorView& NoTensor() {
  static const TensorView none;
  return none;
}

}  // namespace

void CallArguments::NoteMistake(const std::string& what) const {
  if (!mistake_.ok()) return;
  mistake_ = InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "': the launcher asked for ", what));
}

std::size_t CallArguments::IndexOf(std::string_view name, const char* what) const {
  std::string text(name);
  if (std::optional<std::size_t> found = definition_->FindParameter(text)) return *found;
  NoteMistake(absl::StrCat("the ", what, " '", text, "', but the kernel has no parameter of this name"));
  return kNone;
}

const TensorView& CallArguments::tensor(std::size_t parameter) const {
  const std::vector<Parameter>& parameters = definition_->parameters();
  if (parameter < parameters.size() && parameters[parameter].kind == ParameterKind::kTensor) {
    return *static_cast<const TensorView*>(values_[parameter]);
  }
  NoteMistake(absl::StrCat("parameter ", parameter, " as a tensor, but the kernel has no tensor at this index"));
  return NoTensor();
}

const TensorView& CallArguments::tensor(std::string_view name) const {
  std::size_t index = IndexOf(name, "tensor");
  return index == kNone ? NoTensor() : tensor(index);
}

const PointerTable& CallArguments::table(std::string_view name) const {
  static const PointerTable none;
  const std::size_t index = IndexOf(name, "table");
  if (index == kNone) return none;
  if (definition_->parameters()[index].by_pointers) return *static_cast<const PointerTable*>(values_[index]);
  NoteMistake(absl::StrCat("the table of pointers '", std::string(name),
                           "', but the parameter of this name is not declared with ByPointers"));
  return none;
}

const void* CallArguments::FindScalar(std::size_t parameter, DType dtype) const {
  const std::vector<Parameter>& parameters = definition_->parameters();
  if (parameter >= parameters.size() || parameters[parameter].kind != ParameterKind::kScalar) {
    NoteMistake(absl::StrCat("parameter ", parameter, " as a scalar, but the kernel has no scalar at this index"));
    return nullptr;
  }
  if (parameters[parameter].dtype != dtype) {
    NoteMistake(absl::StrCat("the scalar '", parameters[parameter].name, "' as ", std::string(DTypeName(dtype)),
                             "; it is ", std::string(DTypeName(parameters[parameter].dtype))));
    return nullptr;
  }
  return values_[parameter];
}

void* CallArguments::workspace(std::string_view name) const {
  const std::uint64_t* next = workspaces_;
  for (const Parameter& parameter : definition_->parameters()) {
    if (parameter.kind != ParameterKind::kWorkspace) continue;
    if (parameter.name == name) return reinterpret_cast<void*>(*next);
    ++next;
  }
  NoteMistake(absl::StrCat("the workspace '", std::string(name), "', but the kernel has no workspace of this name"));
  return nullptr;
}

std::int64_t CallArguments::dim(std::string_view name) const {
  const std::vector<std::string>& dims = definition_->dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == name) return problem_->dims[Dim{static_cast<int>(i)}];
  }
  NoteMistake(absl::StrCat("the dim '", std::string(name), "', but the kernel has no dim of this name"));
  return 0;
}

}  // namespace v0
}  // namespace tuneonce
