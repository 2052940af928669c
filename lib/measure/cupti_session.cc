#include "measure/cupti_session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "cuda/driver_api.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

struct KernelTime {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};

/// The records that CUPTI's buffer callbacks write on any thread. The callbacks carry no user data, so there is one set
/// per process.
struct Records {
  Mutex mutex;
  const CuptiApi* cupti TUNEONCE_GUARDED_BY(mutex) = nullptr;  // The CUPTI of the current session; null without one.
  std::map<CuptiSession::StreamId, std::vector<KernelTime>> by_stream TUNEONCE_GUARDED_BY(mutex);
};

Records& TheRecords() {
  static auto* const records = new Records;
  return *records;
}

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr std::size_t kBufferAlignment = 8;  // ACTIVITY_RECORD_ALIGNMENT

void OnBufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_num_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_num_records = 0;  // As many as fit.
}

template <typename T>
T Field(const void* record, std::size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(record) + offset, sizeof(value));
  return value;
}

void OnBufferCompleted(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_size) {
  Records& records = TheRecords();
  {
    MutexLock lock(records.mutex);
    void* record = nullptr;
    while (records.cupti != nullptr && records.cupti->ActivityGetNextRecord(buffer, valid_size, &record) == 0) {
      if (Field<std::int32_t>(record, 0) != CuptiApi::kConcurrentKernel) continue;
      auto it = records.by_stream.find({Field<std::uint32_t>(record, CuptiApi::kKernelContextId),
                                        Field<std::uint32_t>(record, CuptiApi::kKernelStreamId)});
      if (it == records.by_stream.end()) continue;  // Somebody else's kernel.
      it->second.push_back(
          {Field<std::uint64_t>(record, CuptiApi::kKernelStart), Field<std::uint64_t>(record, CuptiApi::kKernelEnd)});
    }
  }
  std::free(buffer);
}

/// Set on the thread that finalizes, while it makes the driver call whose exit is the place for it.
struct Finalization {
  const CuptiApi* cupti;
  bool done;
};
thread_local Finalization* finalization = nullptr;

/// The documented place to finalize is the exit callback of a driver function (cuptiFinalize in cupti_activity.h).
void OnDriverCall(void*, int, std::uint32_t, const void* data) {
  if (finalization == nullptr || finalization->done || Field<std::int32_t>(data, 0) != CuptiApi::kApiExit) return;
  finalization->done = true;
  finalization->cupti->Finalize();
}

Status CheckCupti(const CuptiApi& cupti, int result, const char* call) {
  if (result == 0) return Status();
  if (result == CuptiApi::kMultipleSubscribers) {
    return UnavailableError("CUPTI is in use by another profiler of this process");
  }
  const char* text = nullptr;
  cupti.GetResultString(result, &text);
  return UnavailableError(absl::StrCat(call, ": ", text == nullptr ? "unknown CUPTI error" : text, " (", result, ")"));
}

}  // namespace

Result<std::shared_ptr<CuptiSession>> Cupti::Claim(const DriverApi& driver) const {
  if (api_ != nullptr) return CuptiSession::Claim(*api_, driver);
  if (driver.is_cpu_device()) return UnavailableError("CUPTI cannot time the CPU device");
  if (!environment_.profiler.empty()) {
    return UnavailableError("a profiler is loaded into this process (" + environment_.profiler + ")");
  }
  TUNEONCE_ASSIGN_OR_RETURN(const CuptiApi* api, LoadCupti(environment_));
  return CuptiSession::Claim(*api, driver);
}

class CuptiClaim {
 public:
  /// Returns the existing claim if this library made it, else makes one.
  static Result<std::shared_ptr<CuptiClaim>> Get(const CuptiApi& cupti, const DriverApi& driver);
  ~CuptiClaim();

  const CuptiApi& cupti() const { return cupti_; }
  /// Brings the records of all completed kernels. One thread at a time: a second flush would find nothing and return
  /// while the first one, of another search, is still handing over its caller's records.
  Status Flush();

 private:
  CuptiClaim(const CuptiApi& cupti, const DriverApi& driver) : cupti_(cupti), driver_(driver) {}
  Status Start();
  /// A library may have been loaded by two names, into two tables.
  bool IsOf(const CuptiApi& cupti) const { return cupti_.Subscribe == cupti.Subscribe; }

  const CuptiApi& cupti_;
  const DriverApi& driver_;
  CuptiApi::Subscriber subscriber_ = nullptr;
  Mutex flushing_;
};

Status CuptiClaim::Flush() {
  RelaxedDriver driver(driver_);
  MutexLock lock(flushing_);
  return CheckCupti(cupti_, cupti_.ActivityFlushAll(0), "cuptiActivityFlushAll");
}

Result<std::shared_ptr<CuptiClaim>> CuptiClaim::Get(const CuptiApi& cupti, const DriverApi& driver) {
  // One per process, like CUPTI itself, so that two Runtimes share it.
  struct Current {
    Mutex mutex;
    ConditionVariable finalized;
    bool claimed TUNEONCE_GUARDED_BY(mutex) = false;
    std::weak_ptr<CuptiClaim> claim TUNEONCE_GUARDED_BY(mutex);
  };
  static auto* const current = new Current;
  std::shared_ptr<CuptiClaim> there;  // Before the lock: should it be the last owner now, its end takes the lock too.
  MutexLock lock(current->mutex);
  there = current->claim.lock();
  if (there != nullptr) {
    if (there->IsOf(cupti)) return there;
    return UnavailableError(
        absl::StrCat("another CUPTI library is in use in this process (", there->cupti_.library_path,
                     "), and a process can use only one at a time, so this one cannot be used: ", cupti.library_path));
  }
  // The last owner of the claim before may be finalizing it just now.
  while (current->claimed) current->finalized.Wait(lock);
  std::unique_ptr<CuptiClaim> claim(new CuptiClaim(cupti, driver));
  TUNEONCE_RETURN_IF_ERROR(claim->Start());
  current->claimed = true;
  std::shared_ptr<CuptiClaim> shared(claim.release(), [](CuptiClaim* last) {
    delete last;
    MutexLock done(current->mutex);
    current->claimed = false;
    current->finalized.NotifyAll();
  });
  current->claim = shared;
  return shared;
}

Status CuptiClaim::Start() {
  RelaxedDriver driver(driver_);
  // Before anything else: only this call tells that CUPTI has another owner.
  TUNEONCE_RETURN_IF_ERROR(CheckCupti(cupti_, cupti_.Subscribe(&subscriber_, OnDriverCall, nullptr), "cuptiSubscribe"));
  {
    Records& records = TheRecords();
    MutexLock lock(records.mutex);
    records.cupti = &cupti_;
  }
  TUNEONCE_RETURN_IF_ERROR(CheckCupti(cupti_, cupti_.ActivityRegisterCallbacks(OnBufferRequested, OnBufferCompleted),
                                      "cuptiActivityRegisterCallbacks"));
  return CheckCupti(cupti_, cupti_.ActivityEnable(CuptiApi::kConcurrentKernel), "cuptiActivityEnable");
}

CuptiClaim::~CuptiClaim() {
  if (subscriber_ == nullptr) return;  // Not ours.
  RelaxedDriver driver(driver_);
  cupti_.ActivityFlushAll(0);
  Finalization mine{&cupti_, false};
  if (cupti_.EnableCallback(1, subscriber_, CuptiApi::kDriverApi, CuptiApi::kDriverGetVersion) == 0) {
    finalization = &mine;
    int version = 0;
    driver->DriverGetVersion(&version);
    finalization = nullptr;
  }
  if (!mine.done) cupti_.Finalize();
  Records& records = TheRecords();
  MutexLock lock(records.mutex);
  records.cupti = nullptr;
}

Result<std::shared_ptr<CuptiSession>> CuptiSession::Claim(const CuptiApi& cupti, const DriverApi& driver) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<CuptiClaim> claim, CuptiClaim::Get(cupti, driver));
  return std::shared_ptr<CuptiSession>(new CuptiSession(std::move(claim), driver));
}

Result<CuptiSession::StreamId> CuptiSession::Watch(StreamView stream) {
  const CuptiApi& cupti = claim_->cupti();
  RelaxedDriver driver(driver_);
  TUNEONCE_ASSIGN_OR_RETURN(ContextView context, ContextView::Current(driver_));
  StreamId id;
  TUNEONCE_RETURN_IF_ERROR(CheckCupti(cupti, cupti.GetContextId(context.get(), &id.first), "cuptiGetContextId"));
  TUNEONCE_RETURN_IF_ERROR(
      CheckCupti(cupti, cupti.GetStreamIdEx(context.get(), stream.get(), 0, &id.second), "cuptiGetStreamIdEx"));
  Records& records = TheRecords();
  MutexLock lock(records.mutex);
  records.by_stream[id].clear();
  return id;
}

void CuptiSession::Unwatch(StreamId stream) {
  Records& records = TheRecords();
  MutexLock lock(records.mutex);
  records.by_stream.erase(stream);
}

Result<std::vector<double>> CuptiSession::Take(StreamId stream) {
  TUNEONCE_RETURN_IF_ERROR(claim_->Flush());
  std::vector<KernelTime> kernels;
  {
    Records& records = TheRecords();
    MutexLock lock(records.mutex);
    kernels.swap(records.by_stream[stream]);
  }
  std::sort(kernels.begin(), kernels.end(),
            [](const KernelTime& a, const KernelTime& b) { return a.start_ns < b.start_ns; });
  std::vector<double> times_us;
  for (const KernelTime& kernel : kernels) {
    constexpr std::uint64_t kHour = 3600ull * 1000 * 1000 * 1000;
    if (kernel.start_ns == 0 || kernel.end_ns <= kernel.start_ns || kernel.end_ns - kernel.start_ns > kHour) {
      return UnavailableError(
          "CUPTI returned invalid kernel records, perhaps because this version of CUPTI is not supported");
    }
    times_us.push_back(static_cast<double>(kernel.end_ns - kernel.start_ns) / 1000);
  }
  return times_us;
}

}  // namespace v0
}  // namespace tuneonce
