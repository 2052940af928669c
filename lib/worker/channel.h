#ifndef TUNEONCE_LIB_WORKER_CHANNEL_H_
#define TUNEONCE_LIB_WORKER_CHANNEL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/deadline.h"
#include "base/file.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The version of the kinds of messages and their fields, which must be equal in a host and its worker. Any change of
/// them needs a new version. A worker of another version is refused at its first message.
inline constexpr std::uint32_t kProtocolVersion = 4;

/// Maximum number of bytes of a message's body: the output limit of a compiler (base/process.h), twice.
inline constexpr std::size_t kMostBodyBytes = std::size_t{2} << 30;

/// The time by which something must have happened.
using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

/// One message. `kind` is a value of an enum of the channel's users.
struct Frame {
  std::uint32_t kind = 0;
  std::string body;
};

/// Why nothing came, or nothing could be sent.
enum class ChannelError {
  kClosed,    ///< The other end is closed: its process has ended, or wants no more. (Status: Unavailable.)
  kTimeout,   ///< The deadline has passed. (DeadlineExceeded.)
  kProtocol,  ///< The bytes were not a message of this version. (Internal.)
};

/// Returns which kind of error a Channel or a Decoder returned, or nullopt for any other status.
std::optional<ChannelError> ChannelErrorOf(const Status& status);

/// One end of a pair of sockets for messages between a host and its worker.
///
/// Each message is a header (mark, version, kind, length) and a body. Received bytes are not trusted: an invalid header
/// or a body that is too long is an error, and memory is allocated as bytes arrive and not by the announced length.
///
/// Errors: those of ChannelError; ResourceExhausted if there is too little memory for a message. After any error but a
/// timeout the channel is unusable, and the other end notices that when this one is closed. It never raises SIGPIPE.
///
/// Thread rule: one thread at a time.
class Channel {
 public:
  /// `socket`: a stream socket, whose flags stay as they are. `most_received_bytes`: where a longer body is announced,
  /// that is a protocol error.
  explicit Channel(FileDescriptor socket, std::size_t most_received_bytes = kMostBodyBytes)
      : socket_(std::move(socket)), most_received_bytes_(most_received_bytes) {}

  /// Makes two connected ends, both closed on exec. The first end accepts bodies of up to `first_receives` bytes.
  /// Errors: ResourceExhausted (no descriptors).
  static Result<std::pair<Channel, Channel>> MakePair(std::size_t first_receives = kMostBodyBytes);

  /// Sends a message whole. InvalidArgument if it is too long: then nothing was sent. One that ran out of time in its
  /// middle cannot be mended: nothing goes through the channel then.
  Status Send(std::uint32_t kind, std::string_view body, Deadline deadline);

  /// Receives the next message. After a timeout it may be called again, and keeps the bytes that arrived so far.
  Result<Frame> Receive(Deadline deadline);

  /// Makes Receive poll for this long before it sleeps, for short waits on a machine with a spare core.
  void SpinFor(std::chrono::microseconds longest) { longest_spin_ = longest; }

  /// Whether messages go through it, as far as is known.
  bool is_open() const { return socket_.is_open() && !is_broken_; }
  /// Whether the other end was found to be closed.
  bool other_end_is_closed() const { return other_end_is_closed_; }
  /// Closes this end. The other end finds the channel closed after it has read what was sent.
  void Close() { socket_.Close(); }
  /// Returns the descriptor for poll, or -1 if this end is closed.
  int descriptor() const { return socket_.get(); }

 private:
  /// A message that is being received. `bytes` has the size allocated so far, of which `filled` bytes have arrived.
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
