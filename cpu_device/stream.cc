#include "stream.h"

#include <thread>
#include <utility>

#include "context.h"

namespace tuneonce::cpu_device {
namespace {

/// Runs a command on the stream's thread, where no caller can catch an exception about missing memory.
CUresult RunCommand(const Command& command) {
  try {
    return command.run();
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace

std::shared_ptr<Stream> Stream::Create(std::shared_ptr<Context> context, bool is_blocking) {
  std::shared_ptr<Stream> stream(new Stream(std::move(context), is_blocking));
  std::thread([stream] { stream->Loop(); }).detach();
  return stream;
}

std::uint64_t Stream::Push(std::vector<std::shared_ptr<const Command>> commands, std::function<void()> before) {
  Entry entry{std::move(commands), {}, std::move(before)};
  entry.tickets.reserve(entry.commands.size());
  MutexLock lock(mutex_);
  // What may throw comes first, because a ticket that was issued and is never served would be waited for forever.
  Entry& queued = queue_.emplace_back(std::move(entry));
  for (const auto& command : queued.commands) {
    if (command->record != nullptr) queued.tickets.push_back(command->record->Issue());
  }
  changed_.NotifyAll();
  return ++pushed_;
}

std::uint64_t Stream::last_pushed() const {
  MutexLock lock(mutex_);
  return pushed_;
}

void Stream::WaitFor(std::uint64_t number) const {
  MutexLock lock(mutex_);
  while (done_ < number) changed_.Wait(lock);
}

bool Stream::IsIdle() const {
  MutexLock lock(mutex_);
  return done_ == pushed_;
}

void Stream::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

void Stream::Loop() {
  MutexLock lock(mutex_);
  for (;;) {
    while (queue_.empty() && !closed_) changed_.Wait(lock);
    if (queue_.empty()) return;
    {
      Entry entry = std::move(queue_.front());
      queue_.pop_front();
      lock.Unlock();
      Execute(entry);
    }  // Releases what the entry owns (modules, events) before it counts as done.
    lock.Lock();
    ++done_;
    changed_.NotifyAll();
  }
}

void Stream::Execute(const Entry& entry) {
  if (entry.before) entry.before();
  std::size_t ticket = 0;
  for (const auto& command : entry.commands) {
    // After a sticky error nothing runs any more, but waiters must not hang: events still complete.
    if (command->run && context_->sticky.load() == CUDA_SUCCESS) {
      if (CUresult result = RunCommand(*command); result != CUDA_SUCCESS) {
        int none = CUDA_SUCCESS;
        context_->sticky.compare_exchange_strong(none, result);
      }
    }
    if (command->record != nullptr) command->record->Complete(entry.tickets[ticket++]);
  }
}

}  // namespace tuneonce::cpu_device
