#include "runtime/launched_shapes.h"

#include <optional>
#include <utility>

#include "base/callback.h"
#include "definition/scalar_value.h"
#include "shared/shape_log.h"

namespace tuneonce {
inline namespace v0 {

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
      counter = &log_->CounterOf(TextOf(call));
      if (by_key_.size() < ShapeLog::kMostShapes) by_key_.emplace(std::move(words), counter);
    }
  }
  log_->Count(*counter);
}

std::string LaunchedShapes::TextOf(const BoundCall& call) const {
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
    if (parameter.kind != ParameterKind::kScalar) continue;
    if (call.problem.values[i] == nullptr) continue;
    std::optional<std::string> text = NumberText(call.problem.dtypes[i], call.problem.values[i]);
    if (text) line.values.emplace_back(parameter.name, *std::move(text));
  }
  return ShapeText(line);
}

}  // namespace v0
}  // namespace tuneonce
