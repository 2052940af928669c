// Any bytes on the socket between a host and its worker. The first byte says where what is sent makes a pause.
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "worker/channel.h"

namespace {

using tuneonce::Channel;
using tuneonce::ChannelError;
using tuneonce::Deadline;
using tuneonce::Frame;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::pair<Channel, Channel> MakePair() {
  auto ends = Channel::MakePair();
  Require(ends.ok(), "no sockets");
  return *std::move(ends);
}

void Write(const Channel& channel, std::string_view bytes) {
  ssize_t sent = bytes.empty() ? 0 : send(channel.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  Require(sent == static_cast<ssize_t>(bytes.size()), "the input does not fit the socket");
}

/// The bytes that a frame is on the socket.
std::string BytesOf(const Frame& frame) {
  auto ends = MakePair();
  Require(ends.first.Send(frame.kind, frame.body, Deadline::min()).ok(), "what was received cannot be sent");
  std::string bytes(frame.body.size() + 64, '\0');
  ssize_t count = recv(ends.second.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  return bytes.substr(0, count < 0 ? 0 : static_cast<std::size_t>(count));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::size_t pause = bytes.empty() ? 0 : data[0] % bytes.size();
  auto ends = MakePair();
  std::string received;
  auto receive_all = [&] {
    for (;;) {
      tuneonce::Result<Frame> frame = ends.second.Receive(Deadline::min());
      if (!frame.ok()) return tuneonce::ChannelErrorOf(frame.status());
      received += BytesOf(*frame);
    }
  };
  Write(ends.first, bytes.substr(0, pause));
  auto first = receive_all();
  Require(first == ChannelError::kTimeout || first == ChannelError::kProtocol, "nobody has closed it");
  Write(ends.first, bytes.substr(pause));
  ends.first.Close();
  auto last = receive_all();
  Require(last == ChannelError::kClosed || last == ChannelError::kProtocol, "it ends with the bytes");
  Require(received == bytes.substr(0, received.size()), "what was received is not what was sent");
  return 0;
}
