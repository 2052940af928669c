#include "worker/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// "tuneonce's worker", as the first bytes of each message.
constexpr std::uint32_t kMark = 0x574f4e54;  // "TNOW"

/// Mark, version and kind with four bytes each, and the length with eight.
constexpr std::size_t kHeaderBytes = 20;

/// Room that is made for a body before anything of it is there.
constexpr std::size_t kFirstRoomBytes = std::size_t{64} << 10;

struct Header {
  std::uint32_t kind = 0;
  std::size_t length = 0;
};

Result<Header> ReadHeader(std::string_view bytes, std::size_t most_received_bytes) {
  Decoder reader(bytes);
  std::uint32_t mark = reader.U32();
  std::uint32_t version = reader.U32();
  Header header;
  header.kind = reader.U32();
  std::uint64_t length = reader.U64();
  if (mark != kMark) return InternalError("the bytes from the socket are not a message of tuneonce");
  if (version != kProtocolVersion) {
    return InternalError(absl::StrCat("the other process uses version ", version, " of the protocol, this one ",
                                      kProtocolVersion, ": install the library and its tuneonce_worker together"));
  }
  if (length > most_received_bytes) {
    return InternalError(
        absl::StrCat("a message of ", length, " bytes is announced, but the limit is ", most_received_bytes));
  }
  header.length = static_cast<std::size_t>(length);
  return header;
}

Status ClosedError() { return UnavailableError("the other process has closed its end of the socket, or has ended"); }

/// For poll, rounded up, so that a wait does not end just before its deadline.
int RemainingMs(Deadline deadline) {
  if (deadline == kNoDeadline) return -1;
  const Deadline now = std::chrono::steady_clock::now();
  if (deadline <= now) return 0;
  auto remaining = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<int>(std::min<decltype(remaining)>(remaining, INT_MAX));
}

}  // namespace

std::optional<ChannelError> ChannelErrorOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnavailable:
      return ChannelError::kClosed;
    case StatusCode::kDeadlineExceeded:
      return ChannelError::kTimeout;
    case StatusCode::kInternal:
      return ChannelError::kProtocol;
    default:
      return std::nullopt;
  }
}

Result<std::pair<Channel, Channel>> Channel::MakePair(std::size_t first_receives) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ResourceExhaustedError(absl::StrCat("cannot make a pair of sockets: ", std::strerror(errno)));
  }
  return std::pair<Channel, Channel>(Channel(FileDescriptor(ends[0]), first_receives),
                                     Channel(FileDescriptor(ends[1])));
}

Status Channel::Send(std::uint32_t kind, std::string_view body, Deadline deadline) {
  if (!is_open()) return ClosedError();
  if (body.size() > kMostBodyBytes) {
    return InvalidArgumentError(
        absl::StrCat("a message of ", body.size(), " bytes exceeds the limit of ", kMostBodyBytes));
  }
  std::string header = Encoder().U32(kMark).U32(kProtocolVersion).U32(kind).U64(body.size()).Take();
  std::string_view parts[2] = {header, body};
  while (!parts[0].empty() || !parts[1].empty()) {
    iovec vectors[2];
    for (int i = 0; i < 2; ++i) vectors[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};
    msghdr message{};
    message.msg_iov = vectors;
    message.msg_iovlen = 2;
    ssize_t sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      Status ready = WaitUntilReady(POLLOUT, deadline);
      if (ready.ok()) continue;
      return parts[0].size() == header.size() ? ready : Fail(std::move(ready));
    }
    if (sent < 0) return FailClosed();
    for (std::string_view& part : parts) {
      std::size_t gone = std::min(part.size(), static_cast<std::size_t>(sent));
      part.remove_prefix(gone);
      sent -= static_cast<ssize_t>(gone);
    }
  }
  return Status();
}

Result<Frame> Channel::Receive(Deadline deadline) {
  if (!is_open()) return ClosedError();
  TUNEONCE_RETURN_IF_ERROR(Fill(&header_, kHeaderBytes, deadline));
  Result<Header> header = ReadHeader(std::string_view(header_.bytes).substr(0, kHeaderBytes), most_received_bytes_);
  if (!header.ok()) return Fail(header.status());
  TUNEONCE_RETURN_IF_ERROR(Fill(&body_, header->length, deadline));
  header_.filled = 0;
  body_.filled = 0;
  return Frame{header->kind, std::exchange(body_.bytes, {})};
}

Status Channel::Fill(Incoming* incoming, std::size_t count, Deadline deadline) {
  while (incoming->filled < count) {
    std::string& bytes = incoming->bytes;
    if (incoming->filled == bytes.size()) {
      try {
        bytes.resize(std::min(count, std::max(kFirstRoomBytes, 2 * incoming->filled)));
      } catch (const std::bad_alloc&) {
        return Fail(ResourceExhaustedError(absl::StrCat("no memory for a message of ", count, " bytes")));
      }
    }
    ssize_t received =
        recv(socket_.get(), bytes.data() + incoming->filled, bytes.size() - incoming->filled, MSG_DONTWAIT);
    if (received > 0) {
      incoming->filled += static_cast<std::size_t>(received);
    } else if (received < 0 && errno == EAGAIN) {
      TUNEONCE_RETURN_IF_ERROR(WaitUntilReady(POLLIN, deadline));
    } else if (received == 0 || errno != EINTR) {
      return FailClosed();
    }
  }
  return Status();
}

Status Channel::WaitUntilReady(short events, Deadline deadline) const {
  pollfd ready{socket_.get(), events, 0};
  const Deadline spun = std::min<Deadline>(deadline, std::chrono::steady_clock::now() + longest_spin_);
  while (events == POLLIN && std::chrono::steady_clock::now() < spun) {
    if (poll(&ready, 1, 0) > 0) return Status();
    std::this_thread::yield();
  }
  for (;;) {
    int count = poll(&ready, 1, RemainingMs(deadline));
    if (count > 0) return Status();
    // After a signal, or if there is too little memory to wait, the deadline decides.
    if (std::chrono::steady_clock::now() >= deadline) {
      return DeadlineExceededError("the other process did not answer in time");
    }
  }
}

Status Channel::Fail(Status error) {
  is_broken_ = true;
  return error;
}

Status Channel::FailClosed() {
  other_end_is_closed_ = true;
  return Fail(ClosedError());
}

}  // namespace v0
}  // namespace tuneonce
