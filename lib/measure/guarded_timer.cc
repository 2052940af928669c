#include "measure/guarded_timer.h"

#include "base/callback.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce {
inline namespace v0 {
namespace {

template <typename Function>
auto CallTimer(const char* function_name, const Function& function) {
  return CallForeign(std::string("the timer's ") + function_name, StatusCode::kInternal, function);
}

class GuardedSession final : public TimingSession {
 public:
  explicit GuardedSession(std::unique_ptr<TimingSession> session) : session_(std::move(session)) {}

  Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) override {
    return CallTimer("Prepare", [&]() -> Result<std::unique_ptr<PreparedRun>> {
      TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<PreparedRun> prepared, session_->Prepare(std::move(run)));
      if (prepared == nullptr) return InternalError("the timer's Prepare returned null");
      return prepared;
    });
  }
  Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) override {
    return CallTimer("Sample", [&] { return session_->Sample(runs); });
  }
  std::int64_t num_launches() const override {
    Result<std::int64_t> launches = CallTimer("num_launches", [&] { return session_->num_launches(); });
    return launches.ok() ? *launches : 0;
  }
  std::size_t memory_bytes() const override {
    Result<std::size_t> bytes = CallTimer("memory_bytes", [&] { return session_->memory_bytes(); });
    return bytes.ok() ? *bytes : 0;
  }

 private:
  std::unique_ptr<TimingSession> session_;
};

}  // namespace

std::string_view GuardedTimer::name() const {
  Result<std::string_view> name = CallTimer("name", [&] { return timer_.name(); });
  return name.ok() ? *name : "unknown";
}

Result<std::unique_ptr<TimingSession>> GuardedTimer::Open(StreamView stream, CacheState cache) {
  return CallTimer("Open", [&]() -> Result<std::unique_ptr<TimingSession>> {
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<TimingSession> session, timer_.Open(stream, cache));
    if (session == nullptr) return InternalError("the timer's Open returned null");
    return std::unique_ptr<TimingSession>(std::make_unique<GuardedSession>(std::move(session)));
  });
}

}  // namespace v0
}  // namespace tuneonce
