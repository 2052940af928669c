#ifndef TUNEONCE_LIB_SEARCH_TRIAL_SERVER_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_SERVER_H_

#include <memory>

#include "search/trial_messages.h"
#include "worker/channel.h"

namespace tuneonce {
inline namespace v0 {

/// A worker's side of isolated searches: answers a host's messages (TrialMessage) with an InProcessRunner of its own,
/// in a context of its own. One search at a time. Thread rule: stays on the thread that made it, whose context it sets.
class TUNEONCE_API TrialServer {
 public:
  /// REQUIRES: the channel outlives it.
  explicit TrialServer(Channel& channel);
  ~TrialServer();
  TrialServer(const TrialServer&) = delete;
  TrialServer& operator=(const TrialServer&) = delete;

  /// Answers requests until the host ends them, or the context is lost, which the last answer reports. Errors: the
  /// channel's.
  Status Serve();

 private:
  struct Place;   // A device with a context.
  struct Search;  // A search of this server.

  Result<TrialReply> Answer(const Frame& question);
  Status Open(const OpenRequest& request);
  Status Begin(const BeginRequest& request);
  Result<TrialReply> Allocate(const AllocateRequest& request);
  Status SetUp(const SetUpRequest& request);
  Result<TrialReply> Prepare(PrepareRequest request);
  Result<TrialReply> Sample(const SampleRequest& request);
  Result<TrialReply> CheckAgain(const TrialRequest& request);
  Result<TrialReply> Verify(VerifyRequest request);
  Status Burst(const BurstRequest& request);
  Status Release(const TrialRequest& request);
  Status End();

  Channel& channel_;
  std::unique_ptr<Place> place_;
  std::unique_ptr<Search> search_;  // Goes first.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_SERVER_H_
