#include "redis/redis_server.h"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace tuneonce {

RedisServer::RedisServer(bool keeps, std::vector<std::string> more) : keeps_(keeps), more_(std::move(more)) {
  char name[] = "/tmp/tuneonce_redis_XXXXXX";
  folder_ = mkdtemp(name);
  Start();
}

RedisServer::~RedisServer() {
  Kill();
  const std::string remove = "rm -rf " + folder_;
  EXPECT_EQ(std::system(remove.c_str()), 0);
}

bool RedisServer::IsInstalled() { return std::system("command -v redis-server > /dev/null") == 0; }

void RedisServer::Start() {
  std::vector<std::string> words = {"redis-server",
                                    "--port",
                                    "0",
                                    "--unixsocket",
                                    folder_ + "/socket",
                                    "--dir",
                                    folder_,
                                    "--save",
                                    "",
                                    "--logfile",
                                    folder_ + "/log",
                                    "--appendonly",
                                    keeps_ ? "yes" : "no",
                                    "--appendfsync",
                                    "always"};
  words.insert(words.end(), more_.begin(), more_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(&word[0]);
  arguments.push_back(nullptr);
  process_ = fork();
  ASSERT_GE(process_, 0);
  if (process_ == 0) {
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  for (int i = 0; i < 2000; ++i) {
    const std::string said = Ask({"PING"});
    if (said == "PONG" || said.find("NOAUTH") == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  FAIL() << "redis-server does not answer in " << folder_;
}

void RedisServer::Kill() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
  unlink((folder_ + "/socket").c_str());
}

void RedisServer::Stop() { kill(process_, SIGSTOP); }
void RedisServer::Continue() { kill(process_, SIGCONT); }

RedisOptions RedisServer::Options(const std::string& name) const {
  RedisOptions options;
  options.name = name;
  options.unix_socket = folder_ + "/socket";
  options.timeout_ms = 5000;
  return options;
}

std::string RedisServer::Ask(std::vector<std::string> command) const {
  redisContext* context = redisConnectUnix((folder_ + "/socket").c_str());
  if (context == nullptr || context->err != 0) {
    if (context != nullptr) redisFree(context);
    return "";
  }
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const std::string& word : command) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  auto* reply =
      static_cast<redisReply*>(redisCommandArgv(context, static_cast<int>(words.size()), words.data(), sizes.data()));
  std::string said;
  if (reply != nullptr && reply->type == REDIS_REPLY_INTEGER) said = std::to_string(reply->integer);
  if (reply != nullptr && reply->str != nullptr) said.assign(reply->str, reply->len);
  if (reply != nullptr && reply->type == REDIS_REPLY_ARRAY) {
    for (std::size_t i = 0; i < reply->elements; ++i) {
      if (reply->element[i]->str != nullptr) said += std::string(reply->element[i]->str, reply->element[i]->len) + "\n";
    }
  }
  freeReplyObject(reply);
  redisFree(context);
  return said;
}

}  // namespace tuneonce
