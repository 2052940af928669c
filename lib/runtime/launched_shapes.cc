#include "runtime/launched_shapes.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/number_text.h"
#include "definition/fill_bytes.h"
#include "definition/scalar_value.h"
#include "shared/shape_log.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns the text that reads back as exactly these bytes, or nothing for a NaN that no text gives.
std::optional<std::string> ScalarText(DType dtype, const void* bytes) {
  if (std::optional<std::string> number = NumberText(dtype, bytes)) {
    return *number == "-0" ? std::optional<std::string>("-0.0") : number;  // A whole number has no negative zero.
  }
  if (!FloatFormatOf(dtype)) {  // One of the numbers of 64 bits that WholeScalar does not return.
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    return dtype == DType::kInt64 ? std::to_string(static_cast<std::int64_t>(word)) : std::to_string(word);
  }
  for (const char* text : {"inf", "-inf", "nan", "-nan"}) {
    std::uint64_t read = 0;
    const bool is_read = EncodeScalar(dtype, *ParseNumber<double>(text), &read);
    if (is_read && std::memcmp(&read, bytes, DTypeBytes(dtype)) == 0) return text;
  }
  return std::nullopt;
}

}  // namespace

void LaunchedShapes::Count(const BoundCall& call) {
  if (log_ == nullptr || InsideTrial()) return;
  std::vector<std::uint64_t> words(binder_.num_key_words());
  binder_.KeyWords(call, words.data());
  ShapeLog::Counter* counter = nullptr;
  {
    MutexLock lock(mutex_);
    if (auto it = by_key_.find(words); it != by_key_.end()) {
      counter = it->second;
    } else {
      Result<std::string> text = TextOf(call);
      counter = text.ok() ? &log_->CounterOf(*text) : &log_->CounterOfOthers(text.status().message());
      if (by_key_.size() < ShapeLog::kMostShapes) by_key_.emplace(std::move(words), counter);
    }
  }
  log_->Count(*counter);
}

Result<std::string> LaunchedShapes::TextOf(const BoundCall& call) const {
  ShapeLine line;
  line.kernel = definition_.name();
  for (const std::string& dim : definition_.dims()) {
    line.values.emplace_back(dim, std::to_string(call.problem.dims[definition_.DimOf(dim)]));
  }
  for (std::size_t i = 0; i < definition_.parameters().size(); ++i) {
    const Parameter& parameter = definition_.parameters()[i];
    if (parameter.kind == ParameterKind::kTensor && parameter.dtype == DType::kAny && parameter.same_dtype_as.empty()) {
      line.values.emplace_back(parameter.name, std::string(DTypeName(call.problem.dtypes[i])));
    }
    if (parameter.kind != ParameterKind::kScalar || call.problem.values[i] == nullptr) continue;
    std::optional<std::string> text = ScalarText(call.problem.dtypes[i], call.problem.values[i]);
    if (!text) {
      return UnimplementedError(absl::StrCat("a launch of '", definition_.name(), "': the scalar '", parameter.name,
                                             "' is a NaN whose bits no text gives"));
    }
    line.values.emplace_back(parameter.name, *std::move(text));
  }
  return ShapeText(line);
}

}  // namespace v0
}  // namespace tuneonce
