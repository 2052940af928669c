#ifndef TUNEONCE_LIB_WORKER_CHANNEL_H_
#define TUNEONCE_LIB_WORKER_CHANNEL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_descriptor.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What a host and its worker have to agree on: the kinds of message and their fields. Any change of these is a new
/// version; a worker of another one is refused with its first message.
inline constexpr std::uint32_t kProtocolVersion = 3;

/// Most bytes of a message's body: what a compiler may write (base/process.h), and as much again for what is said of
/// it.
inline constexpr std::size_t kMostBodyBytes = std::size_t{2} << 30;

/// By when something must have happened.
using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();
inline Deadline DeadlineIn(std::chrono::milliseconds duration) { return std::chrono::steady_clock::now() + duration; }

/// One message. `kind`: an enum of those who use the channel.
struct Frame {
  std::uint32_t kind = 0;
  std::string body;
};

/// Why nothing came, or nothing could be sent.
enum class ChannelError {
  kClosed,    ///< The other end is closed: its process has ended, or wants no more. (Status: Unavailable.)
  kTimeout,   ///< The deadline has passed. (DeadlineExceeded.)
  kProtocol,  ///< What came is no message of this version. (Internal.)
};

/// What kind of error a Channel or a MessageReader returned; nullopt if `status` is none of theirs.
std::optional<ChannelError> ChannelErrorOf(const Status& status);

/// One end of a pair of sockets: messages between a host and its worker.
///
/// Each is a header (mark, version, kind, length) and a body. What arrives is trusted for nothing: a header that is
/// none, or a body that is too long, is an error, and memory is taken as bytes arrive, not as a length promises them.
///
/// Errors: those of ChannelError; ResourceExhausted where there is no memory for a message. After any but a timeout
/// nothing more goes through it; the other end sees that when this one is closed. Never raises SIGPIPE.
///
/// Thread rule: one thread at a time.
class Channel {
 public:
  /// `socket`: a stream socket, whose flags stay as they are. `most_received_bytes`: where a longer body is announced,
  /// that is a protocol error.
  explicit Channel(FileDescriptor socket, std::size_t most_received_bytes = kMostBodyBytes)
      : socket_(std::move(socket)), most_received_bytes_(most_received_bytes) {}

  /// Two ends that are connected, both closed on exec; the first takes bodies of so many bytes. Errors:
  /// ResourceExhausted (no descriptors).
  static Result<std::pair<Channel, Channel>> MakePair(std::size_t first_receives = kMostBodyBytes);

  /// Sends a message whole. InvalidArgument if it is too long: then nothing was sent. One that ran out of time in its
  /// middle cannot be mended: nothing goes through the channel then.
  Status Send(std::uint32_t kind, std::string_view body, Deadline deadline);

  /// The next message. After a timeout it may be called again: what has arrived so far is kept.
  Result<Frame> Receive(Deadline deadline);

  /// From now on Receive looks for so long without sleeping: for who waits a moment, and on a core that is to spare.
  void SpinFor(std::chrono::microseconds longest) { longest_spin_ = longest; }

  /// Whether messages go through it, as far as is known.
  bool is_open() const { return socket_.is_open() && !is_broken_; }
  /// Whether the other end was found to be closed.
  bool other_end_is_closed() const { return other_end_is_closed_; }
  /// The other end then finds the channel closed, once it has read what was sent.
  void Close() { socket_.Close(); }
  /// For poll; -1 if this end is closed.
  int descriptor() const { return socket_.get(); }

 private:
  /// What arrives; `bytes` is as long as has room so far, and has `filled`.
  struct Incoming {
    std::string bytes;
    std::size_t filled = 0;
  };

  Status Fill(Incoming* incoming, std::size_t count, Deadline deadline);
  /// Waits until the socket can be read (POLLIN) or written (POLLOUT).
  Status WaitUntilReady(short events, Deadline deadline) const;
  Status Fail(Status error);
  Status FailClosed();

  FileDescriptor socket_;
  std::size_t most_received_bytes_;
  std::chrono::microseconds longest_spin_{0};
  bool is_broken_ = false;
  bool other_end_is_closed_ = false;
  Incoming header_;
  Incoming body_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_WORKER_CHANNEL_H_
