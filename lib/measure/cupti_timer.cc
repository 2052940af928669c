#include "measure/cupti_timer.h"

#include "absl/strings/str_cat.h"
#include "cuda/driver_api.h"
#include "cuda/event.h"
#include "measure/cupti_session.h"
#include "measure/event_timer.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Times a round is repeated whose records were lost.
constexpr int kAttempts = 3;

struct CuptiRun final : PreparedRun {
  explicit CuptiRun(TimedRun timed_run) : run(std::move(timed_run)) {}
  TimedRun run;
};

class CuptiTimingSession final : public TimingSession {
 public:
  CuptiTimingSession(std::shared_ptr<CuptiSession> session, StreamView stream, CuptiSession::StreamId id,
                     CacheFlush flush, Event fence)
      : session_(std::move(session)), stream_(stream), id_(id), flush_(std::move(flush)), fence_(std::move(fence)) {}
  ~CuptiTimingSession() override { session_->Unwatch(id_); }

  Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) override {
    return std::unique_ptr<PreparedRun>(new CuptiRun(std::move(run)));
  }

  Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) override {
    std::size_t received = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      // Discards the records of other work in this stream, such as verification.
      TUNEONCE_RETURN_IF_ERROR(session_->Take(id_).status());
      for (PreparedRun* run : runs) TUNEONCE_RETURN_IF_ERROR(Launch(static_cast<CuptiRun*>(run)->run));
      TUNEONCE_RETURN_IF_ERROR(stream_.Synchronize());
      TUNEONCE_ASSIGN_OR_RETURN(std::vector<double> times, session_->Take(id_));
      if (times.size() == runs.size()) return times;
      received = times.size();
    }
    return UnavailableError(absl::StrCat("CUPTI returned ", received, " records for ", runs.size(),
                                         " kernels, in each of ", kAttempts, " attempts"));
  }

  std::int64_t num_launches() const override { return num_launches_; }
  std::size_t memory_bytes() const override { return flush_.memory_bytes(); }

 private:
  Status Launch(const TimedRun& run) {
    if (run.prepare) TUNEONCE_RETURN_IF_ERROR(run.prepare(stream_.get()));
    TUNEONCE_RETURN_IF_ERROR(flush_.Run(stream_.get()));
    // A kernel launched with programmatic serialization must not begin within the flush, or within the kernel before.
    TUNEONCE_RETURN_IF_ERROR(fence_.Record(stream_.get()));
    TUNEONCE_RETURN_IF_ERROR(stream_.Wait(fence_));
    ++num_launches_;
    return run.launch(stream_.get());
  }

  std::shared_ptr<CuptiSession> session_;
  StreamView stream_;
  CuptiSession::StreamId id_;
  CacheFlush flush_;
  Event fence_;
  std::int64_t num_launches_ = 0;
};

}  // namespace

Result<std::unique_ptr<TimingSession>> CuptiTimer::Open(StreamView stream, CacheState cache) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<CuptiSession> session, cupti_.Claim(stream.api()));
  TUNEONCE_ASSIGN_OR_RETURN(CacheFlush flush, CacheFlush::Create(stream, cache));
  TUNEONCE_ASSIGN_OR_RETURN(Event fence, Event::Create(stream.api(), Event::Timing::kDisabled));
  TUNEONCE_ASSIGN_OR_RETURN(CuptiSession::StreamId id, session->Watch(stream));
  return std::unique_ptr<TimingSession>(
      new CuptiTimingSession(std::move(session), stream, id, std::move(flush), std::move(fence)));
}

TimingBurst::TimingBurst(const Cupti& cupti, const DriverApi& driver) {
  Result<std::shared_ptr<CuptiSession>> session = cupti.Claim(driver);
  if (session.ok()) session_ = *std::move(session);
}

}  // namespace v0
}  // namespace tuneonce
