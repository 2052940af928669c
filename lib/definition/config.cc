#include "tuneonce/config.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/encoding.h"
#include "base/number_text.h"
#include "definition/axis_table.h"
#include "definition/term_parts.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// The encoding of Canonical. These numbers are on disk, so none may be changed or reused.
constexpr std::uint64_t kCanonicalVersion = 1;
enum ValueType : std::uint64_t { kInt64Value = 1, kDoubleValue = 2, kBoolValue = 3, kStringValue = 4 };
enum StoredKind : std::uint64_t { kStructural = 1, kHint = 2, kOption = 3 };

/// In the order of AxisKind.
StoredKind Stored(AxisKind kind) { return static_cast<StoredKind>(static_cast<int>(kind) + kStructural); }

/// The fewest digits that read back as the same double.
std::string FewestDigits(double value) {
  constexpr int kMostDigits = 17;
  for (int digits = 6; digits < kMostDigits; ++digits) {
    std::string text = RealText(value, 'g', digits);
    double again = 0;
    if (absl::SimpleAtod(text, &again) && again == value) return text;
  }
  return RealText(value, 'g', kMostDigits);
}

void AddValue(const AxisValue& value, Encoder* encoder) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    encoder->U64(kInt64Value).I64(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    encoder->U64(kDoubleValue).F64(*real);
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    encoder->U64(kBoolValue).U64(*flag ? 1 : 0);
  } else {
    encoder->U64(kStringValue).Text(std::get<std::string>(value));
  }
}

/// Returns nothing for a type or value that AddValue does not write.
std::optional<AxisValue> ReadValue(Decoder* decoder) {
  switch (decoder->U64()) {
    case kInt64Value:
      return AxisValue(decoder->I64());
    case kDoubleValue:
      return AxisValue(decoder->F64());
    case kBoolValue: {
      std::uint64_t flag = decoder->U64();
      if (flag > 1) return std::nullopt;
      return AxisValue(flag == 1);
    }
    case kStringValue:
      return AxisValue(decoder->Text());
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string AxisValueString(const AxisValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return absl::StrCat(*integer);
  if (const auto* real = std::get_if<double>(&value)) return FewestDigits(*real);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return std::get<std::string>(value);
}

bool IsSameValue(const AxisValue& a, const AxisValue& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return std::memcmp(x, y, sizeof(*x)) == 0;
  return a == b;
}

bool AreEqualInConditions(const AxisValue& a, const AxisValue& b) { return a == b || IsSameValue(a, b); }

bool AxisValueOrder::operator()(const AxisValue& a, const AxisValue& b) const {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x == nullptr || y == nullptr) return a < b;
  std::uint64_t bits[2];
  std::memcpy(&bits[0], x, sizeof(*x));
  std::memcpy(&bits[1], y, sizeof(*y));
  return bits[0] < bits[1];
}

bool AxisValueOrder::operator()(const std::vector<AxisValue>& a, const std::vector<AxisValue>& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), *this);
}

Config::Config(std::shared_ptr<AxisTable> axes, std::vector<AxisValue> values)
    : axes_(std::move(axes)), space_id_(axes_->space_id), values_(std::move(values)) {}

Config Config::Of(std::vector<Setting> settings) {
  if (settings.empty()) return Config();
  auto axes = std::make_shared<AxisTable>();
  axes->axes.reserve(settings.size());
  std::vector<AxisValue> values;
  values.reserve(settings.size());
  for (Setting& setting : settings) {
    axes->axes.push_back(AxisDefinition{std::move(setting.axis), setting.kind, {}});
    values.push_back(std::move(setting.value));
  }
  return Config(std::move(axes), std::move(values));
}

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

std::string Config::Canonical() const {
  Encoder encoder;
  encoder.U64(kCanonicalVersion).Count(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    encoder.Text(AxisName(i)).U64(Stored(Kind(i)));
    AddValue(values_[i], &encoder);
  }
  return encoder.Take();
}

Result<Config> Config::FromCanonical(std::string_view bytes, const Config& like) {
  Decoder decoder(bytes);
  Status malformed = InvalidArgumentError("a stored config is not well formed");
  if (decoder.U64() != kCanonicalVersion) return malformed;
  constexpr std::size_t kLeastBytes = 4 * sizeof(std::uint64_t);  // A name's length, a kind, a type and a value.
  std::vector<Setting> settings(decoder.Count(kLeastBytes));
  for (Setting& setting : settings) {
    setting.axis = decoder.Text();
    std::uint64_t kind = decoder.U64();
    std::optional<AxisValue> value = ReadValue(&decoder);
    if (kind < kStructural || kind > StoredKind::kOption || !value) return malformed;
    setting.kind = static_cast<AxisKind>(kind - kStructural);
    setting.value = *std::move(value);
  }
  if (!decoder.Done().ok()) return malformed;
  if (!like.HasAxesOf(settings)) return Config::Of(std::move(settings));
  std::vector<AxisValue> values;
  values.reserve(settings.size());
  for (Setting& setting : settings) values.push_back(std::move(setting.value));
  return Config(like.axes_, std::move(values));
}

bool Config::HasAxesOf(const std::vector<Setting>& settings) const {
  if (axes_ == nullptr || space_id_ != 0) return false;
  return std::equal(settings.begin(), settings.end(), axes_->axes.begin(), axes_->axes.end(),
                    [](const Setting& a, const AxisDefinition& b) { return a.axis == b.name && a.kind == b.kind; });
}

bool Config::IsSame(const Config& other) const {
  if (values_.size() != other.values_.size()) return false;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (!IsSameValue(values_[i], other.values_[i])) return false;
    if (axes_ != other.axes_ && (AxisName(i) != other.AxisName(i) || Kind(i) != other.Kind(i))) return false;
  }
  return true;
}

void Config::NoteForeignAxis(std::uint64_t foreign_space) const {
  if (axes_ != nullptr) axes_->misused_by.store(foreign_space == 0 ? ~std::uint64_t{0} : foreign_space);
}

}  // namespace v0
}  // namespace tuneonce
