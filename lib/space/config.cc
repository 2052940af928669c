#include "tuneonce/space/config.h"

#include "absl/strings/str_cat.h"
#include "space/axis_table.h"

namespace tuneonce {

std::string AxisValueString(const AxisValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return absl::StrCat(*integer);
  if (const auto* real = std::get_if<double>(&value)) return absl::StrCat(*real);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return std::get<std::string>(value);
}

Config::Config(std::shared_ptr<AxisTable> axes, std::vector<AxisValue> values)
    : axes_(std::move(axes)), space_id_(axes_->space_id), values_(std::move(values)) {}

const AxisValue* Config::Find(std::string_view name) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (axes_->axes[i].name == name) return &values_[i];
  }
  return nullptr;
}

const std::string& Config::AxisName(std::size_t index) const { return axes_->axes[index].name; }

AxisKind Config::Kind(std::size_t index) const { return axes_->axes[index].kind; }

std::string Config::ToString() const {
  if (values_.empty()) return "(no axes)";
  std::string text;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", AxisName(i), "=", AxisValueString(values_[i]));
  }
  return text;
}

void Config::NoteForeignAxis(std::uint64_t foreign_space) const {
  if (axes_ != nullptr) axes_->misused_by.store(foreign_space == 0 ? ~std::uint64_t{0} : foreign_space);
}

}  // namespace tuneonce
