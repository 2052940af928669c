#include "runtime/kept_inputs.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/driver_api.h"
#include "cuda/event.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// An event without timing is cheaper, and suffices for ordering.
Result<Event> OrderingEvent(const DriverApi& api) { return Event::Create(api, Event::Timing::kDisabled); }

/// Makes work that is enqueued on `later` from now on wait for the work that `earlier` has now.
Status Order(StreamView earlier, StreamView later, const Event& event) {
  TUNEONCE_RETURN_IF_ERROR(event.Record(earlier.get()));
  return later.Wait(event);
}

Status OrderByNewEvent(StreamView earlier, StreamView later) {
  TUNEONCE_ASSIGN_OR_RETURN(Event event, OrderingEvent(earlier.api()));
  return Order(earlier, later, event);
}

Result<unsigned long long> CurrentContextId(const DriverApi& api) {
  unsigned long long id = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, CtxGetId(nullptr, &id));
  return id;
}

/// Forgets handles of a context that was destroyed, because the driver must not see them again.
template <typename Handle>
void Abandon(Handle handle) {
  static auto* const mutex = new Mutex;
  static auto* const abandoned = new std::vector<Handle>;
  MutexLock lock(*mutex);
  abandoned->push_back(std::move(handle));
}

}  // namespace

struct KeptInputs::Place {
  Place(ContextView owner, unsigned long long context_id, Stream private_stream)
      : context(owner), id(context_id), stream(std::move(private_stream)) {}
  ~Place() {
    WithContext([&](bool is_alive) {
      if (!is_alive) Abandon(*std::move(stream));
      stream.reset();
    });
  }

  /// Calls `act` with the context current and with whether it is still alive.
  template <typename Act>
  void WithContext(const Act& act) const {
    ScopedContext current(context);
    Result<unsigned long long> current_id = current.status().ok() ? CurrentContextId(context.api()) : current.status();
    act(current_id.ok() && *current_id == id);  // A new context may have the address of one that was destroyed.
  }

  const ContextView context;
  const unsigned long long id;
  std::optional<Stream> stream;  // Set until the destructor.
  std::atomic<std::size_t> used{0};
};

KeptInputs::KeptInputs(std::shared_ptr<Place> place, std::size_t bytes) : place_(std::move(place)), bytes_(bytes) {}

KeptInputs::~KeptInputs() {
  place_->WithContext([&](bool is_alive) {
    if (!is_alive) Abandon(std::move(buffers_));
    buffers_.clear();
  });
  place_->used -= bytes_;
}

CUdeviceptr KeptInputs::CopyOf(std::size_t range) const {
  return ranges_[range].is_read ? buffers_[range].get() + ranges_[range].skipped() : 0;
}

Status KeptInputs::BeginUse(StreamView stream) const {
  TUNEONCE_ASSIGN_OR_RETURN(unsigned long long id, CurrentContextId(stream.api()));
  if (id != place_->id)
    return FailedPreconditionError("the copies of the launch's inputs belong to another CUDA context");
  return OrderByNewEvent(place_->stream->view(), stream);
}

Status KeptInputs::EndUse(StreamView stream) const { return OrderByNewEvent(stream, place_->stream->view()); }

namespace {

/// Returns the ranges of the launch's tensors. Errors: InvalidArgument for memory of unknown size.
Result<std::vector<KeptInputs::Range>> RangesOf(const KernelDefinition& definition, const BoundCall& call) {
  using Range = KeptInputs::Range;
  std::vector<Range> ranges;
  for (const ReachedTensor& reached : ReachedTensorsOf(definition.parameters(), call)) {
    const Parameter& parameter = definition.parameters()[reached.parameter];
    if (parameter.dims.empty()) return InvalidArgumentError("'" + parameter.name + "' is raw memory of unknown size");
    if (parameter.by_pointers && !reached.tensor->HasElements()) continue;
    auto begin = reinterpret_cast<CUdeviceptr>(reached.tensor->data);
    ranges.push_back(Range{begin, begin + reached.tensor->bytes, parameter.access != Access::kOut, {reached}});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> merged;
  for (Range& range : ranges) {
    if (merged.empty() || range.begin >= merged.back().end) {
      merged.push_back(std::move(range));
      continue;
    }
    merged.back().end = std::max(merged.back().end, range.end);
    merged.back().is_read |= range.is_read;
    merged.back().tensors.push_back(range.tensors.front());
  }
  return merged;
}

}  // namespace

Result<std::shared_ptr<KeptInputs::Place>> InputKeeper::PlaceHere(const DriverApi& api) {
  TUNEONCE_ASSIGN_OR_RETURN(ContextView context, ContextView::Current(api));
  TUNEONCE_ASSIGN_OR_RETURN(unsigned long long id, CurrentContextId(api));
  MutexLock lock(mutex_);
  std::shared_ptr<KeptInputs::Place>& place = places_[id];
  if (place == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(api));
    place = std::make_shared<KeptInputs::Place>(context, id, std::move(stream));
  }
  return place;
}

Result<std::shared_ptr<const KeptInputs>> InputKeeper::Keep(StreamView stream, const BoundCall& call) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<KeptInputs::Range> ranges, RangesOf(definition_, call));
  std::size_t bytes = 0;
  for (const KeptInputs::Range& range : ranges) bytes += range.is_read ? range.skipped() + range.bytes() : 0;
  if (bytes > budget_bytes_)
    return ResourceExhaustedError(absl::StrCat(bytes, " bytes of inputs exceed AutotunePolicy::kept_inputs_bytes"));
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<KeptInputs::Place> place, PlaceHere(stream.api()));
  std::size_t before = place->used.fetch_add(bytes);
  // Its destructor returns `bytes` to the budget in every case.
  auto kept = std::make_shared<KeptInputs>(place, bytes);
  if (before + bytes > budget_bytes_) {
    return ResourceExhaustedError(absl::StrCat(
        bytes, " more bytes of inputs exceed AutotunePolicy::kept_inputs_bytes: ", before, " bytes are kept already"));
  }
  const StreamView ours = place->stream->view();
  for (const KeptInputs::Range& range : ranges) {
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer,
                              DeviceBuffer::Allocate(ours, range.is_read ? range.skipped() + range.bytes() : 0));
    kept->buffers_.push_back(std::move(buffer));
  }
  kept->views_.resize(definition_.parameters().size());
  for (const ReachedTensor& reached : ReachedTensorsOf(definition_.parameters(), call)) {
    kept->views_[reached.parameter].push_back(*reached.tensor);
  }
  for (KeptInputs::Range& range : ranges) {  // The call's own views no longer exist when the copies are used.
    for (ReachedTensor& reached : range.tensors) reached.tensor = &kept->views_[reached.parameter][reached.nth];
  }
  TUNEONCE_ASSIGN_OR_RETURN(Event ready, OrderingEvent(stream.api()));
  TUNEONCE_ASSIGN_OR_RETURN(Event copied, OrderingEvent(stream.api()));
  TUNEONCE_RETURN_IF_ERROR(Order(stream, ours, ready));
  Status status;
  for (std::size_t i = 0; i < ranges.size() && status.ok(); ++i) {
    const KeptInputs::Range& range = ranges[i];
    if (range.is_read) status = kept->buffers_[i].CopyFromDevice(range.begin, range.bytes(), range.skipped());
  }
  // Also after a failure, because copies that were enqueued before it may still read.
  Status ordered = Order(ours, stream, copied);
  TUNEONCE_RETURN_IF_ERROR(status);
  TUNEONCE_RETURN_IF_ERROR(ordered);
  kept->ranges_ = std::move(ranges);
  return std::shared_ptr<const KeptInputs>(std::move(kept));
}

std::int64_t InputKeeper::bytes() const {
  MutexLock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [id, place] : places_) sum += place == nullptr ? 0 : place->used.load();
  return static_cast<std::int64_t>(sum);
}

}  // namespace v0
}  // namespace tuneonce
