#include "search/trial_messages.h"

#include <type_traits>

#include "base/field_codec.h"

namespace tuneonce {
inline namespace v0 {
// The last value of each enum that crosses: others are refused.
constexpr ParameterKind LastOf(ParameterKind) { return ParameterKind::kDescriptor; }
constexpr DType LastOf(DType) { return DType::kFloat64; }
constexpr Access LastOf(Access) { return Access::kInOut; }
constexpr CallingConvention LastOf(CallingConvention) { return CallingConvention::kTriton; }
constexpr SourceKind LastOf(SourceKind) { return SourceKind::kTileCpp; }
constexpr TensorMap::Swizzle LastOf(TensorMap::Swizzle) { return TensorMap::Swizzle::k128Bytes; }
constexpr TensorMap::Interleave LastOf(TensorMap::Interleave) { return TensorMap::Interleave::k32Bytes; }
constexpr TensorMap::L2Promotion LastOf(TensorMap::L2Promotion) { return TensorMap::L2Promotion::k256Bytes; }
constexpr TensorMap::OutOfBounds LastOf(TensorMap::OutOfBounds) { return TensorMap::OutOfBounds::kNan; }
constexpr Verify LastOf(Verify) { return Verify::kOff; }
constexpr CacheState LastOf(CacheState) { return CacheState::kWarm; }
constexpr TrialTiming LastOf(TrialTiming) { return TrialTiming::kEvents; }
constexpr StatusCode LastOf(StatusCode) { return StatusCode::kDataLoss; }
constexpr OutcomeKind LastOf(OutcomeKind) { return OutcomeKind::kProtocol; }

/// A Status in fields.
struct StatusFields {
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::int64_t driver_code = 0;
  bool sticky = false;
};

// The lists of each message's fields, which the writer and the reader share.

TUNEONCE_FIELDS(StatusFields, m.code, m.message, m.driver_code, m.sticky);
inline void ListFields(PlainEncoder& fields, const Status& status) {
  fields(StatusFields{status.code(), status.message(), status.driver_code(), status.sticky()});
}
inline void ListFields(PlainDecoder& fields, Status& status) {
  StatusFields read;
  fields(read);
  if (read.code == StatusCode::kOk) return;
  status = Status::FromDriver(read.code, std::move(read.message), static_cast<int>(read.driver_code), read.sticky);
}
TUNEONCE_FIELDS(TrialDescription::Map, m.box, m.element_strides, m.swizzle, m.interleave, m.l2_promotion,
                m.out_of_bounds);
TUNEONCE_FIELDS(TrialDescription::Tensor, m.address, m.dtype, m.shape, m.strides, m.bytes);
TUNEONCE_FIELDS(TrialDescription::Parameter, m.kind, m.name, m.dtype, m.access, m.dims, m.dim, m.tensor, m.dimension,
                m.word, m.map, m.may_be_partial, m.tolerance, m.argument);
TUNEONCE_FIELDS(TrialDescription, m.kernel, m.config, m.variant, m.has_variant, m.convention, m.source_kind, m.geometry,
                m.programmatic_launch, m.image, m.symbol, m.is_unordered, m.taken, m.dims, m.dim_values, m.parameters);
TUNEONCE_FIELDS(OpenRequest, m.environment, m.device, m.uuid);
TUNEONCE_FIELDS(BeginRequest, m.budget_bytes);
TUNEONCE_FIELDS(AllocateRequest, m.bytes, m.is_for_verify);
TUNEONCE_FIELDS(SetUpRequest, m.verify, m.cache, m.has_baseline, m.timing, m.reference);
TUNEONCE_FIELDS(PrepareRequest, m.trial, m.is_baseline);
TUNEONCE_FIELDS(SampleRequest, m.trials);
TUNEONCE_FIELDS(VerifyRequest, m.trials, m.first_is_reference);
TUNEONCE_FIELDS(BurstRequest, m.trial, m.launches);
TUNEONCE_FIELDS(TrialRequest, m.trial);
inline void ListFields(PlainEncoder& fields, const CandidateOutcome& m) { fields(m.kind, m.message, m.is_transient); }
inline void ListFields(PlainDecoder& fields, CandidateOutcome& m) {
  fields(m.kind, m.message, m.is_transient);
  if (!IsFailure(m.kind)) fields.decoder().Refuse("a message has an outcome that is not a failure");
}
TUNEONCE_FIELDS(OutputDifference, m.output, m.absolute, m.share_of_tolerance);
TUNEONCE_FIELDS(TrialReply, m.status, m.address, m.handle, m.failure, m.trial, m.warmup_us, m.largest_difference,
                m.times_us, m.num_dissenting, m.is_done, m.failed, m.failures, m.timer, m.notes, m.num_launches,
                m.peak_bytes);

template <typename Message>
std::string EncodeMessage(const Message& message) {
  PlainEncoder encoder;
  encoder(message);
  return encoder.encoder().Take();
}

template <typename Message>
Result<Message> DecodeMessage(std::string_view body) {
  return DecodePlain<Message>(body);
}

#define TUNEONCE_MESSAGE(Message)                              \
  template std::string EncodeMessage<Message>(const Message&); \
  template Result<Message> DecodeMessage<Message>(std::string_view)
TUNEONCE_MESSAGE(OpenRequest);
TUNEONCE_MESSAGE(BeginRequest);
TUNEONCE_MESSAGE(AllocateRequest);
TUNEONCE_MESSAGE(SetUpRequest);
TUNEONCE_MESSAGE(PrepareRequest);
TUNEONCE_MESSAGE(SampleRequest);
TUNEONCE_MESSAGE(VerifyRequest);
TUNEONCE_MESSAGE(BurstRequest);
TUNEONCE_MESSAGE(TrialRequest);
TUNEONCE_MESSAGE(TrialReply);
#undef TUNEONCE_MESSAGE

}  // namespace v0
}  // namespace tuneonce
