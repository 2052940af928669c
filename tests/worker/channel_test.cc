#include "worker/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/encoding.h"
#include "testing/expect_status.h"

namespace tuneonce {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{20000};
constexpr std::size_t kHeaderBytes = 20;

std::string HeaderBytes(std::uint32_t mark, std::uint32_t version, std::uint64_t length) {
  return Encoder().U32(mark).U32(version).U32(7).U64(length).Take();
}

/// The mark as it is on the wire.
constexpr std::uint32_t kMark = 0x574f4e54;

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() : ends_(*Channel::MakePair()) {}

  /// Puts bytes on the wire, as no Channel would.
  void Write(std::string_view bytes) {
    ASSERT_EQ(send(ends_.first.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  Result<Frame> Receive(milliseconds within = kLong) { return ends_.second.Receive(DeadlineIn(within)); }

  std::pair<Channel, Channel> ends_;
};

TEST_F(ChannelTest, MessagesComeInTheOrderInWhichTheyWereSent) {
  EXPECT_OK(ends_.first.Send(1, "one", DeadlineIn(kLong)));
  EXPECT_OK(ends_.first.Send(2, "", DeadlineIn(kLong)));
  EXPECT_OK(ends_.first.Send(3, "three", kNoDeadline));
  for (auto [kind, body] : {std::pair(1u, "one"), std::pair(2u, ""), std::pair(3u, "three")}) {
    Result<Frame> frame = Receive();
    ASSERT_OK(frame);
    EXPECT_EQ(frame->kind, kind);
    EXPECT_EQ(frame->body, body);
  }
  EXPECT_OK(ends_.second.Send(4, "back", DeadlineIn(kLong)));
  EXPECT_EQ(ends_.first.Receive(DeadlineIn(kLong))->body, "back");
}

TEST_F(ChannelTest, WhoSpinsGetsWhatComesInThatTimeAndAfterItAndNoMoreThanTheDeadline) {
  ends_.second.SpinFor(milliseconds(5));
  for (milliseconds pause : {milliseconds(0), milliseconds(1), milliseconds(20)}) {
    std::thread sender([&] {
      std::this_thread::sleep_for(pause);
      EXPECT_OK(ends_.first.Send(1, "late", DeadlineIn(kLong)));
    });
    EXPECT_EQ(Receive()->body, "late");
    sender.join();
  }
  ends_.second.SpinFor(kLong);
  EXPECT_EQ(Receive(milliseconds(3)).status().code(), StatusCode::kDeadlineExceeded);
  ends_.first.Close();
  EXPECT_EQ(ChannelErrorOf(Receive().status()), ChannelError::kClosed);
}

TEST_F(ChannelTest, AMessageLongerThanTheSocketHoldsArrivesWhole) {
  std::string body(std::size_t{24} << 20, 'x');
  for (std::size_t i = 0; i < body.size(); i += 4096) body[i] = static_cast<char>(i >> 12);
  Status sent;
  std::thread sender([&] { sent = ends_.first.Send(1, body, DeadlineIn(kLong)); });
  Result<Frame> frame = Receive();
  sender.join();
  EXPECT_OK(sent);
  ASSERT_OK(frame);
  EXPECT_TRUE(frame->body == body);
}

TEST_F(ChannelTest, AfterATimeoutTheRestOfAMessageIsStillTaken) {
  const std::string message = HeaderBytes(kMark, kProtocolVersion, 4) + "body";
  for (std::size_t cut = 0; cut < message.size(); ++cut) {
    Write(message.substr(0, cut));
    EXPECT_EQ(ChannelErrorOf(Receive(milliseconds(0)).status()), ChannelError::kTimeout) << cut;
    Write(message.substr(cut));
    Result<Frame> frame = Receive();
    ASSERT_OK(frame);
    EXPECT_EQ(frame->body, "body");
  }
}

TEST_F(ChannelTest, AWorkerThatIsGoneIsAClosedChannel) {
  EXPECT_OK(ends_.first.Send(1, "last words", DeadlineIn(kLong)));
  ends_.first.Close();
  EXPECT_EQ(Receive()->body, "last words") << "what was sent before is there";
  EXPECT_EQ(ChannelErrorOf(Receive().status()), ChannelError::kClosed);
  EXPECT_FALSE(ends_.second.is_open());
  EXPECT_TRUE(ends_.second.other_end_is_closed());
  EXPECT_EQ(ChannelErrorOf(Receive().status()), ChannelError::kClosed) << "again";
  EXPECT_EQ(ChannelErrorOf(ends_.second.Send(1, "", DeadlineIn(kLong))), ChannelError::kClosed);
}

TEST_F(ChannelTest, AClosedEndIsFoundInTheMiddleOfAMessage) {
  Write(HeaderBytes(kMark, kProtocolVersion, 4) + "bo");
  ends_.first.Close();
  EXPECT_EQ(ChannelErrorOf(Receive().status()), ChannelError::kClosed);
}

TEST_F(ChannelTest, SendingToAClosedEndRaisesNoSignal) {
  ends_.second.Close();  // SIGPIPE would end this process.
  EXPECT_EQ(ChannelErrorOf(ends_.first.Send(1, "body", DeadlineIn(kLong))), ChannelError::kClosed);
}

TEST_F(ChannelTest, ASendThatNobodyReadsEndsAtItsDeadline) {
  const std::string body(std::size_t{24} << 20, 'x');
  EXPECT_EQ(ChannelErrorOf(ends_.first.Send(1, body, DeadlineIn(milliseconds(20)))), ChannelError::kTimeout);
  EXPECT_FALSE(ends_.first.is_open()) << "half a message was sent";
}

TEST_F(ChannelTest, ASendThatCouldNotBeginMayBeTriedAgain) {
  const std::string body(1000, 'x');
  Status full;
  int sent = 0;
  for (; full.ok(); ++sent) full = ends_.first.Send(1, body, DeadlineIn(milliseconds(0)));
  EXPECT_EQ(ChannelErrorOf(full), ChannelError::kTimeout);
  if (!ends_.first.is_open()) GTEST_SKIP() << "a part of a message found room";
  for (int i = 1; i < sent; ++i) ASSERT_OK(Receive());
  EXPECT_OK(ends_.first.Send(2, body, DeadlineIn(kLong)));
  EXPECT_EQ(Receive()->kind, 2u);
}

TEST_F(ChannelTest, AMessageThatIsTooLongIsNotSent) {
  const std::string_view too_long("never read", kMostBodyBytes + 1);
  EXPECT_ERROR(ends_.first.Send(1, too_long, DeadlineIn(kLong)), StatusCode::kInvalidArgument, "exceeds the limit");
  EXPECT_OK(ends_.first.Send(2, "body", DeadlineIn(kLong)));
  EXPECT_EQ(Receive()->body, "body");
}

TEST_F(ChannelTest, AnEndMayTakeNoMoreThanItExpects) {
  ends_ = *Channel::MakePair(8);
  EXPECT_OK(ends_.first.Send(1, "nine byte", DeadlineIn(kLong)));
  EXPECT_EQ(Receive()->body, "nine byte") << "of the other end more is expected";
  EXPECT_OK(ends_.second.Send(1, "eight by", DeadlineIn(kLong)));
  EXPECT_EQ(ends_.first.Receive(DeadlineIn(kLong))->body, "eight by");
  EXPECT_OK(ends_.second.Send(1, "nine byte", DeadlineIn(kLong)));
  EXPECT_ERROR(ends_.first.Receive(DeadlineIn(kLong)), StatusCode::kInternal,
               "9 bytes is announced, but the limit is 8");
}

TEST_F(ChannelTest, GarbageIsAProtocolErrorAndNothingFollowsIt) {
  const std::pair<std::string, const char*> cases[] = {
      {"Segmentation fault\n.....", "not a message of tuneonce"},
      {std::string(kHeaderBytes, '\0'), "not a message of tuneonce"},
      {HeaderBytes(kMark, kProtocolVersion + 1, 0), "install the library and its tuneonce_worker together"},
      {HeaderBytes(kMark, kProtocolVersion, kMostBodyBytes + 1), "is announced"},
      {HeaderBytes(kMark, kProtocolVersion, ~std::uint64_t{0}), "is announced"},
  };
  for (const auto& [bytes, part] : cases) {
    ends_ = *Channel::MakePair();
    Write(bytes);
    Result<Frame> frame = Receive();
    EXPECT_ERROR(frame, StatusCode::kInternal, part);
    EXPECT_EQ(ChannelErrorOf(frame.status()), ChannelError::kProtocol);
    EXPECT_FALSE(ends_.second.is_open());
    EXPECT_FALSE(ends_.second.other_end_is_closed());
    EXPECT_OK(ends_.first.Send(1, "body", DeadlineIn(kLong)));
    EXPECT_EQ(ChannelErrorOf(Receive().status()), ChannelError::kClosed) << "where it begins nobody knows";
  }
}

TEST_F(ChannelTest, ALengthIsNotBelievedBeforeTheBytesAreThere) {
  Write(HeaderBytes(kMark, kProtocolVersion, kMostBodyBytes) + "few");
  // Under a sanitizer, and in a container of little memory, 2 GiB that are touched would be seen.
  EXPECT_EQ(ChannelErrorOf(Receive(milliseconds(10)).status()), ChannelError::kTimeout);
  ends_.first.Close();
  EXPECT_EQ(ChannelErrorOf(Receive().status()), ChannelError::kClosed);
}

TEST_F(ChannelTest, SignalsDoNotEndAWait) {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // Without SA_RESTART.
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> done{false};
  std::thread signaler([&, receiver = pthread_self()] {
    for (int i = 0; i < 20; ++i) {
      pthread_kill(receiver, SIGUSR1);
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_OK(ends_.first.Send(1, "body", DeadlineIn(kLong)));
    while (!done) std::this_thread::yield();
  });
  EXPECT_OK(Receive());
  done = true;
  signaler.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(ChannelTest, BothEndsAreClosedOnExec) {
  for (const Channel* end : {&ends_.first, &ends_.second}) {
    EXPECT_EQ(fcntl(end->descriptor(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  }
}

TEST(ChannelErrorTest, OtherErrorsAreNoneOfAChannel) {
  EXPECT_EQ(ChannelErrorOf(Status()), std::nullopt);
  EXPECT_EQ(ChannelErrorOf(ResourceExhaustedError("x")), std::nullopt);
}

}  // namespace
}  // namespace tuneonce
