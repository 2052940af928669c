#ifndef TUNEONCE_LIB_SEARCH_TRIAL_MESSAGES_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/trial_description.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The requests of a host to its worker, in the order of a search. Each is answered by one message of the same kind, a
/// TrialReply, except kRelease, which has no answer.
enum class TrialMessage : std::uint32_t {
  kOpen = 1,          ///< OpenRequest, once: a context on the device.
  kBegin,             ///< BeginRequest: a search.
  kAllocate,          ///< AllocateRequest: memory of the worker's, for inputs.
  kSetUp,             ///< SetUpRequest: once the reference lies there.
  kPrepare,           ///< PrepareRequest: as CandidateRunner::Prepare.
  kSample,            ///< SampleRequest: as CandidateRunner::Sample.
  kCheckAgain,        ///< TrialRequest: as CandidateRunner::CheckAgain.
  kRelease,           ///< TrialRequest: as CandidateRunner::Release.
  kTimeInAnotherWay,  ///< No fields: as CandidateRunner::TimeInAnotherWay.
  kEnd,               ///< No fields: frees all of the search but the context.
  kPing,              ///< No fields: it is still there.
  kVerify,            ///< VerifyRequest: as CandidateRunner::VerifyTogether.
  kBurst,             ///< BurstRequest: as CandidateRunner::Burst.
};

struct OpenRequest {
  std::vector<std::pair<std::string, std::string>> environment;  ///< RuntimeOptions::environment.
  std::string device;                                            ///< "cuda:1".
  std::string uuid;  ///< DeviceIdentity::UuidString: by one index may be another device.
};
struct BeginRequest {
  std::uint64_t budget_bytes = 0;
};
struct AllocateRequest {
  std::uint64_t bytes = 0;
  bool is_for_verify = false;  ///< It is freed after the next kVerify, not with the search.
};
/// Which timer: SearchOptions::timer, of the library's own.
enum class TrialTiming { kUsual, kCupti, kEvents };

struct SetUpRequest {
  Verify verify = Verify::kAgainstBaseline;
  CacheState cache = CacheState::kDefault;
  bool has_baseline = false;
  TrialTiming timing = TrialTiming::kUsual;
  std::vector<TrialDescription::Tensor> reference;  ///< SearchOptions::reference.
};
struct PrepareRequest {
  TrialDescription trial;
  bool is_baseline = false;
};
struct SampleRequest {
  std::vector<std::uint64_t> trials;
};
struct VerifyRequest {
  std::vector<TrialDescription> trials;
  bool first_is_reference = false;
};
struct BurstRequest {
  std::uint64_t trial = 0;
  std::int64_t launches = 0;
};
struct TrialRequest {
  std::uint64_t trial = 0;
};

/// An answer: `status`, what else the question asked for, and how things stand.
struct TrialReply {
  Status status;
  std::uint64_t address = 0;                           ///< kAllocate: there.
  std::string handle;                                  ///< kAllocate: opens it in another process.
  std::optional<CandidateOutcome> failure;             ///< kPrepare, kCheckAgain. Its config stays at home.
  std::uint64_t trial = 0;                             ///< kPrepare.
  double warmup_us = 0;                                ///< kPrepare.
  std::optional<OutputDifference> largest_difference;  ///< kPrepare, kCheckAgain.
  std::vector<double> times_us;                        ///< kSample.
  std::int64_t num_dissenting = 0;                     ///< kPrepare.
  bool is_done = false;                                ///< kTimeInAnotherWay.
  std::vector<std::uint64_t> failed;                   ///< kVerify: which of the trials failed,
  std::vector<CandidateOutcome> failures;              ///< and how. Their configs stay at home.

  std::string timer;
  std::vector<std::string> notes;
  std::int64_t num_launches = 0;
  std::uint64_t peak_bytes = 0;
};

template <typename Message>
std::string EncodeMessage(const Message& message);
/// Errors: Internal, as Decoder::Done.
template <typename Message>
Result<Message> DecodeMessage(std::string_view body);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_MESSAGES_H_
