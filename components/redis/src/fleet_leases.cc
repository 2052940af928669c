#include "fleet_leases.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fleet_keys.h"
#include "nonce.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

// ARGV: holder, milliseconds. The token also increases with the clock, so that it increases if the server loses its
// counter.
constexpr char kAcquire[] = R"(
local there = redis.call('GET', KEYS[1])
if there then
  if string.match(there, ' (.*)') ~= ARGV[1] then return 0 end
  return tonumber(string.match(there, '^%d+'))
end
local time = redis.call('TIME')
local token = math.max(time[1] * 1000000 + time[2], tonumber(redis.call('GET', KEYS[2]) or 0) + 1)
local text = string.format('%.0f', token)
redis.call('SET', KEYS[2], text)
redis.call('SET', KEYS[1], text .. ' ' .. ARGV[1], 'PX', ARGV[2])
return token
)";
constexpr char kRenew[] = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
)";
constexpr char kRelease[] = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
)";

/// How often a lease is renewed in its lifetime.
constexpr int kRenewalsPerLease = 3;
/// Interval of polling for a lease. Many hosts may wait for one.
constexpr milliseconds kPause(50);

}  // namespace

class FleetLeases::Held {
 public:
  Held(std::shared_ptr<FleetLeases> leases, std::string lease, std::string value)
      : leases_(std::move(leases)), lease_(std::move(lease)), value_(std::move(value)) {}
  ~Held() { leases_->Release(lease_, value_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  const std::shared_ptr<FleetLeases> leases_;
  const std::string lease_, value_;
};

FleetLeases::~FleetLeases() {
  if (getpid() != owner_) {
    // In a forked child the thread does not exist and the lock may stay locked. Destroying the condition that the
    // thread waits on would wait for the thread (pthread_cond_destroy).
    (void)over_.release();
    (void)renewer_.release();
    return;
  }
  std::unique_ptr<std::thread> renewer;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    over_->notify_all();
    renewer = std::move(renewer_);
  }
  if (renewer != nullptr) renewer->join();
}

Result<TuningLease> FleetLeases::Acquire(const TuningKey& key, const WaitLimits& limits) {
  if (server_->options().read_only) return TuningLease();
  const std::string lease = fleet_keys::LeaseOf(key);
  const auto end = FleetServer::Clock::now() + std::min<milliseconds>(limits.timeout, std::chrono::hours(24 * 365));
  for (;;) {
    TUNEONCE_ASSIGN_OR_RETURN(TuningLease held, Try(lease));
    if (held != nullptr) return held;
    if (limits.stop.stop_requested()) return CancelledError("cancelled while another host was tuning the key");
    const auto left = std::chrono::duration_cast<milliseconds>(end - FleetServer::Clock::now());
    if (left.count() <= 0)
      return DeadlineExceededError("another host is tuning the same key, and did not finish in time");
    std::this_thread::sleep_for(std::min(left, kPause));
  }
}

Result<TuningLease> FleetLeases::Try(const std::string& lease) {
  const std::string me = Nonce();
  TUNEONCE_ASSIGN_OR_RETURN(RedisReply reply,
                            server_->Run(kAcquire, {lease, fleet_keys::kTokens},
                                         {me, std::to_string(server_->options().lease_ms)}, server_->Deadline()));
  if (reply.integer <= 0) return TuningLease();
  const std::string value = absl::StrCat(reply.integer, " ", me);
  TuningLease held = std::make_shared<Held>(shared_from_this(), lease, value);
  std::lock_guard<std::mutex> lock(mutex_);
  held_[lease] = {value, static_cast<std::uint64_t>(reply.integer)};
  if (renewer_ != nullptr) return held;
  try {
    renewer_ = std::make_unique<std::thread>([this] { RenewUntilOver(); });
  } catch (const std::system_error&) {  // No thread is to be had: the lease ends when its time is over.
  }
  return held;
}

std::uint64_t FleetLeases::TokenOf(const TuningKey& key) const {
  if (getpid() != owner_) return 0;
  std::lock_guard<std::mutex> lock(mutex_);
  auto held = held_.find(fleet_keys::LeaseOf(key));
  return held == held_.end() ? 0 : held->second.token;
}

void FleetLeases::Release(const std::string& lease, const std::string& value) {
  if (getpid() != owner_) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto held = held_.find(lease); held != held_.end() && held->second.value == value) held_.erase(held);
  }
  // If that fails it ends by itself.
  (void)server_->Run(kRelease, {lease}, {value}, server_->Deadline());
}

void FleetLeases::RenewUntilOver() {
  const milliseconds pause(std::max(1, server_->options().lease_ms / kRenewalsPerLease));
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_over_) {
    over_->wait_for(lock, pause);
    const std::map<std::string, Lease> held = held_;
    lock.unlock();
    for (const auto& [lease, about] : held) {
      (void)server_->Run(kRenew, {lease}, {about.value, std::to_string(server_->options().lease_ms)},
                         server_->Deadline());
    }
    lock.lock();
  }
}

}  // namespace v0
}  // namespace tuneonce
