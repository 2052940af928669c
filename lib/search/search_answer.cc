#include "search/search_answer.h"

#include <algorithm>
#include <utility>

#include "ranks/checksummed_message.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::uint64_t PlaceOf(const SearchPlan& plan, const Config& config) {
  auto found = std::find_if(plan.planned.begin(), plan.planned.end(),
                            [&](const PlannedConfig& planned) { return planned.config == config; });
  return static_cast<std::uint64_t>(found - plan.planned.begin());
}

void Write(MessageWriter& writer, const Measurement& measurement) {
  writer.F64(measurement.mean_us).Bool(measurement.error_margin_us.has_value());
  writer.F64(measurement.error_margin_us.value_or(0)).I64(measurement.num_samples).F64(measurement.std_us);
  writer.F64(measurement.median_us).F64(measurement.min_us).F64(measurement.max_us);
}
Measurement ReadMeasurement(MessageReader& reader) {
  Measurement measurement;
  measurement.mean_us = reader.F64();
  const bool has_margin = reader.Bool();
  const double margin_us = reader.F64();
  if (has_margin) measurement.error_margin_us = margin_us;
  measurement.num_samples = static_cast<int>(reader.I64());
  measurement.std_us = reader.F64();
  measurement.median_us = reader.F64();
  measurement.min_us = reader.F64();
  measurement.max_us = reader.F64();
  return measurement;
}

void Write(MessageWriter& writer, const Success& success) {
  writer.Text(success.variant).Text(success.toolchain).Bool(success.ties_with_fastest);
  Write(writer, success.measurement);
  v0::Write(writer, success.artifact);
  v0::Write(writer, success.identity);
  writer.I64(success.resources.registers).I64(success.resources.shared_bytes).I64(success.resources.local_bytes);
  writer.Bool(success.largest_difference.has_value());
  const OutputDifference difference = success.largest_difference.value_or(OutputDifference());
  writer.Text(difference.output).F64(difference.absolute).F64(difference.share_of_tolerance);
}
Success ReadSuccess(MessageReader& reader) {
  Success success;
  success.variant = reader.Text();
  success.toolchain = reader.Text();
  success.ties_with_fastest = reader.Bool();
  success.measurement = ReadMeasurement(reader);
  success.artifact = ReadFingerprint(reader);
  success.identity = ReadFingerprint(reader);
  success.resources.registers = static_cast<int>(reader.I64());
  success.resources.shared_bytes = reader.I64();
  success.resources.local_bytes = reader.I64();
  const bool has_difference = reader.Bool();
  OutputDifference difference;
  difference.output = reader.Text();
  difference.absolute = reader.F64();
  difference.share_of_tolerance = reader.F64();
  if (has_difference) success.largest_difference = std::move(difference);
  return success;
}

void Write(MessageWriter& writer, const TriedCandidate& tried) {
  writer.U64(tried.place).Enum(tried.kind);
  if (tried.kind == TriedCandidate::kMeasured) Write(writer, tried.success);
  if (tried.kind == TriedCandidate::kDuplicate) writer.U64(tried.same_as);
  if (tried.kind != TriedCandidate::kFailed) return;
  writer.Enum(tried.failure.kind).Text(tried.failure.message).Bool(tried.failure.is_transient);
}
TriedCandidate ReadTried(MessageReader& reader) {
  TriedCandidate tried;
  tried.place = reader.U64();
  tried.kind = reader.Enum(TriedCandidate::kNotMeasured);
  if (tried.kind == TriedCandidate::kMeasured) tried.success = ReadSuccess(reader);
  if (tried.kind == TriedCandidate::kDuplicate) tried.same_as = reader.U64();
  if (tried.kind != TriedCandidate::kFailed) return tried;
  tried.failure.kind = reader.Enum(FailureKind::kProtocol);
  tried.failure.message = reader.Text();
  tried.failure.is_transient = reader.Bool();
  return tried;
}

void Write(MessageWriter& writer, const TuningCost& cost) {
  writer.F64(cost.compile_seconds).I64(cost.num_compiled).F64(cost.gpu_seconds).I64(cost.num_launches);
  writer.I64(cost.num_rounds).U64(cost.peak_bytes).I64(cost.workers_replaced);
}
/// A count of which many can be added up.
std::int64_t ReadCount(MessageReader& reader, std::int64_t most) {
  const std::int64_t count = reader.I64();
  if (count >= 0 && count <= most) return count;
  reader.Refuse("an invalid count");
  return 0;
}
TuningCost ReadCost(MessageReader& reader) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24, kMostLaunches = std::int64_t{1} << 48;
  TuningCost cost;
  cost.compile_seconds = reader.F64();
  cost.num_compiled = static_cast<int>(ReadCount(reader, kMost));
  cost.gpu_seconds = reader.F64();
  cost.num_launches = ReadCount(reader, kMostLaunches);
  cost.num_rounds = static_cast<int>(ReadCount(reader, kMost));
  cost.peak_bytes = static_cast<std::size_t>(reader.U64());
  cost.workers_replaced = static_cast<int>(ReadCount(reader, kMost));
  return cost;
}

}  // namespace

SearchAnswer AnswerOf(const SearchPlan& plan, const Result<TuningResult>& part) {
  SearchAnswer answer;
  answer.status = part.status();
  if (!part.ok()) return answer;
  auto add = [&](const Config& config, TriedCandidate::Kind kind) -> TriedCandidate& {
    answer.tried.emplace_back().place = PlaceOf(plan, config);
    answer.tried.back().kind = kind;
    return answer.tried.back();
  };
  for (const Success& success : part->successes) add(success.config, TriedCandidate::kMeasured).success = success;
  for (const Failure& failure : part->failures) add(failure.config, TriedCandidate::kFailed).failure = failure;
  for (const Duplicate& duplicate : part->duplicates) {
    add(duplicate.config, TriedCandidate::kDuplicate).same_as = PlaceOf(plan, duplicate.same_as);
  }
  for (const Config& config : part->not_measured) add(config, TriedCandidate::kNotMeasured);
  answer.is_conclusive = part->is_conclusive;
  answer.cost = part->cost;
  return answer;
}

std::string EncodeAnswer(const SearchAnswer& answer) {
  MessageWriter writer;
  writer.Bool(answer.status.ok());
  if (!answer.status.ok()) {
    v0::Write(writer, answer.status);
    return WithChecksum(writer.Bool(answer.status.sticky()).Take());
  }
  writer.Count(answer.tried.size());
  for (const TriedCandidate& tried : answer.tried) Write(writer, tried);
  writer.Bool(answer.is_conclusive);
  Write(writer, answer.cost);
  return WithChecksum(writer.Take());
}

Result<SearchAnswer> DecodeAnswer(const std::string& bytes, std::size_t num_candidates) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, Opened(bytes));
  MessageReader reader(body);
  SearchAnswer answer;
  if (!reader.Bool()) {
    const Status status = ReadStatus(reader);
    answer.status = Status::FromDriver(status.code(), status.message(), /*driver_code=*/0, /*sticky=*/reader.Bool());
    TUNEONCE_RETURN_IF_ERROR(reader.Done());
    return answer;
  }
  constexpr std::size_t kLeastBytes = 12;
  for (std::size_t i = reader.Count(kLeastBytes); i > 0; --i) {
    answer.tried.push_back(ReadTried(reader));
    if (answer.tried.back().place >= num_candidates || answer.tried.back().same_as >= num_candidates) {
      reader.Refuse(
          "the answer is about candidates that this rank does not have: use the same kernel definition on all ranks");
    }
    // Others are compared with it, and divided by it. What no GPU takes for a run would overflow in that.
    constexpr double kLeastUs = 1e-6, kMostUs = 1e15;
    const double mean_us = answer.tried.back().success.measurement.mean_us;
    const bool is_measured = answer.tried.back().kind == TriedCandidate::kMeasured;
    if (is_measured && !(mean_us >= kLeastUs && mean_us <= kMostUs)) reader.Refuse("an invalid time");
  }
  answer.is_conclusive = reader.Bool();
  answer.cost = ReadCost(reader);
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return answer;
}

}  // namespace v0
}  // namespace tuneonce
