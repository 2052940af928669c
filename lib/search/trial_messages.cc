#include "search/trial_messages.h"

#include <array>
#include <type_traits>

#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {
namespace {

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

/// A Status in fields.
struct StatusFields {
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::int64_t driver_code = 0;
  bool sticky = false;
};

// The lists of each message's fields, which the writer and the reader share.

template <typename Fields, typename T, typename Struct>
using For = std::enable_if_t<std::is_same_v<std::remove_const_t<T>, Struct>, int>;

template <typename F, typename T, For<F, T, StatusFields> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.code), fields(m.message), fields(m.driver_code), fields(m.sticky);
}
template <typename F, typename T, For<F, T, TrialDescription::Map> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.box), fields(m.element_strides), fields(m.swizzle), fields(m.interleave), fields(m.l2_promotion);
  fields(m.out_of_bounds);
}
template <typename F, typename T, For<F, T, TrialDescription::Tensor> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.address), fields(m.dtype), fields(m.shape), fields(m.strides), fields(m.bytes);
}
template <typename F, typename T, For<F, T, TrialDescription::Parameter> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.kind), fields(m.name), fields(m.dtype), fields(m.access), fields(m.dims), fields(m.dim), fields(m.tensor);
  fields(m.dimension), fields(m.word), fields(m.map), fields(m.may_be_partial), fields(m.tolerance);
  fields(m.argument);
}
template <typename F, typename T, For<F, T, TrialDescription> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.kernel), fields(m.config), fields(m.variant), fields(m.has_variant), fields(m.convention);
  fields(m.source_kind), fields(m.geometry), fields(m.programmatic_launch), fields(m.image), fields(m.symbol);
  fields(m.is_unordered), fields(m.taken), fields(m.dims), fields(m.dim_values), fields(m.parameters);
}
template <typename F, typename T, For<F, T, OpenRequest> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.environment), fields(m.device), fields(m.uuid);
}
template <typename F, typename T, For<F, T, BeginRequest> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.budget_bytes);
}
template <typename F, typename T, For<F, T, AllocateRequest> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.bytes), fields(m.is_for_verify);
}
template <typename F, typename T, For<F, T, SetUpRequest> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.verify), fields(m.cache), fields(m.has_baseline), fields(m.timing), fields(m.reference);
}
template <typename F, typename T, For<F, T, PrepareRequest> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.trial), fields(m.is_baseline);
}
template <typename F, typename T, For<F, T, SampleRequest> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.trials);
}
template <typename F, typename T, For<F, T, VerifyRequest> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.trials), fields(m.first_is_reference);
}
template <typename F, typename T, For<F, T, BurstRequest> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.trial), fields(m.launches);
}
template <typename F, typename T, For<F, T, TrialRequest> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.trial);
}
template <typename F, typename T, For<F, T, CandidateOutcome> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.kind), fields(m.message), fields(m.is_transient);
}
template <typename F, typename T, For<F, T, OutputDifference> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.output), fields(m.absolute), fields(m.share_of_tolerance);
}
template <typename F, typename T, For<F, T, TrialReply> = 0>
void VisitFields(F& fields, T& m) {
  fields(m.status), fields(m.address), fields(m.handle), fields(m.failure), fields(m.trial), fields(m.warmup_us);
  fields(m.largest_difference), fields(m.times_us), fields(m.num_dissenting), fields(m.is_done), fields(m.failed);
  fields(m.failures), fields(m.timer), fields(m.notes), fields(m.num_launches), fields(m.peak_bytes);
}

class FieldWriter {
 public:
  void operator()(bool value) { writer_.Bool(value); }
  void operator()(double value) { writer_.F64(value); }
  void operator()(std::int64_t value) { writer_.I64(value); }
  void operator()(std::uint64_t value) { writer_.U64(value); }
  void operator()(const std::string& value) { writer_.Bytes(value); }
  void operator()(const std::array<double, 3>& values) {
    for (double value : values) writer_.F64(value);
  }
  void operator()(const Status& status) {
    const StatusFields fields{status.code(), status.message(), status.driver_code(), status.sticky()};
    VisitFields(*this, fields);
  }
  template <typename A, typename B>
  void operator()(const std::pair<A, B>& pair) {
    (*this)(pair.first), (*this)(pair.second);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    writer_.Count(values.size());
    for (const T& value : values) (*this)(value);
  }
  template <typename T>
  void operator()(const std::optional<T>& value) {
    writer_.Bool(value.has_value());
    if (value) (*this)(*value);
  }
  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      writer_.Enum(value);
    } else {
      VisitFields(*this, value);
    }
  }
  std::string Take() { return writer_.Take(); }

 private:
  Encoder writer_;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view body) : reader_(body) {}

  void operator()(bool& value) { value = reader_.Bool(); }
  void operator()(double& value) { value = reader_.F64(); }
  void operator()(std::int64_t& value) { value = reader_.I64(); }
  void operator()(std::uint64_t& value) { value = reader_.U64(); }
  void operator()(std::string& value) { value = reader_.Text(); }
  void operator()(std::array<double, 3>& values) {
    for (double& value : values) value = reader_.F64();
  }
  void operator()(Status& status) {
    StatusFields fields;
    VisitFields(*this, fields);
    if (fields.code == StatusCode::kOk) return;
    status =
        Status::FromDriver(fields.code, std::move(fields.message), static_cast<int>(fields.driver_code), fields.sticky);
  }
  template <typename A, typename B>
  void operator()(std::pair<A, B>& pair) {
    (*this)(pair.first), (*this)(pair.second);
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    constexpr std::size_t kLeastBytes = 4;  // Each element is a number or has one.
    const std::size_t count = reader_.Count(kLeastBytes);
    for (std::size_t i = 0; i < count && reader_.ok(); ++i) {
      values.emplace_back();
      (*this)(values.back());
    }
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    if (!reader_.Bool()) return;
    T read{};
    (*this)(read);
    value = std::move(read);
  }
  /// The kind of a failure: other outcomes are refused.
  void operator()(OutcomeKind& kind) {
    kind = reader_.Enum(OutcomeKind::kProtocol);
    if (!IsFailure(kind)) reader_.Refuse("a message has an outcome that is not a failure");
  }
  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = reader_.Enum(LastOf(T()));
    } else {
      VisitFields(*this, value);
    }
  }
  Status Done() { return reader_.Done(); }

 private:
  Decoder reader_;
};

}  // namespace

template <typename Message>
std::string EncodeMessage(const Message& message) {
  FieldWriter writer;
  VisitFields(writer, message);
  return writer.Take();
}

template <typename Message>
Result<Message> DecodeMessage(std::string_view body) {
  Message message;
  FieldReader reader(body);
  VisitFields(reader, message);
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return message;
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
