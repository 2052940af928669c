#include "redis_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

Status SystemError(const char* what, int error) { return UnavailableError(std::string(what) + ": " + strerror(error)); }

Result<std::vector<ServerAddress>> UnixAddress(const std::string& path) {
  sockaddr_un name{};
  if (path.size() >= sizeof(name.sun_path)) return InvalidArgumentError("a socket's path is too long: " + path);
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  ServerAddress address;
  std::memcpy(&address.address, &name, sizeof(name));
  address.size = sizeof(name);
  return std::vector<ServerAddress>{address};
}

}  // namespace

Result<std::vector<ServerAddress>> ResolveServer(const RedisOptions& options) {
  if (!options.unix_socket.empty()) return UnixAddress(options.unix_socket);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
  if (error != 0) return UnavailableError("no address was found for '" + options.host + "': " + gai_strerror(error));
  std::vector<ServerAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    ServerAddress address;
    std::memcpy(&address.address, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

RedisSocket::RedisSocket(RedisSocket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
RedisSocket& RedisSocket::operator=(RedisSocket&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}
RedisSocket::~RedisSocket() {
  if (file_ >= 0) close(file_);
}

Result<RedisSocket> RedisSocket::Connect(const std::vector<ServerAddress>& addresses, Clock::time_point deadline) {
  Status failed = UnavailableError("the host has no address");
  for (const ServerAddress& address : addresses) {
    const int file = socket(address.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (file < 0) return SystemError("socket", errno);
    RedisSocket made(file);
    failed = made.ConnectTo(address, deadline);
    if (failed.ok()) return made;
  }
  return failed;
}

Status RedisSocket::ConnectTo(const ServerAddress& address, Clock::time_point deadline) {
  if (address.address.ss_family != AF_UNIX) {
    const int on = 1;  // Each write is a whole command, so sending must not be delayed.
    setsockopt(file_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  if (connect(file_, reinterpret_cast<const sockaddr*>(&address.address), address.size) == 0) return Status();
  if (errno != EINPROGRESS) return SystemError("connect", errno);
  TUNEONCE_RETURN_IF_ERROR(WaitFor(POLLOUT, deadline));
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(file_, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? Status() : SystemError("connect", error);
}

Status RedisSocket::WaitFor(short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waited{file_, events, 0};
    const int ready = poll(&waited, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return Status();
    if (ready == 0 && left <= 0) return UnavailableError("no reply arrived in time");
    if (ready < 0 && errno != EINTR) return SystemError("poll", errno);
  }
}

Status RedisSocket::Send(std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      TUNEONCE_RETURN_IF_ERROR(WaitFor(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return SystemError("send", errno);
    }
  }
  return Status();
}

Result<std::size_t> RedisSocket::Receive(char* buffer, std::size_t size, Clock::time_point deadline) {
  for (;;) {
    const ssize_t received = recv(file_, buffer, size, 0);
    if (received > 0) {
      if (Clock::now() < deadline) return static_cast<std::size_t>(received);
      return UnavailableError("the reply did not arrive completely in time");  // However often a little comes.
    }
    if (received == 0) return UnavailableError("the server closed the connection");
    if (errno == EAGAIN) {
      TUNEONCE_RETURN_IF_ERROR(WaitFor(POLLIN, deadline));
    } else if (errno != EINTR) {
      return SystemError("recv", errno);
    }
  }
}

}  // namespace v0
}  // namespace tuneonce
