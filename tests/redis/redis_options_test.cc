#include "tuneonce/redis_options.h"

#include <gtest/gtest.h>

namespace tuneonce {
namespace {

TEST(RedisOptionsTest, AddressesAreRead) {
  struct Case {
    const char* address;
    const char* shown;
    const char* user;
    const char* password;
    int database;
  };
  const Case cases[] = {
      {"redis://host/fleet", "redis://host:6379/fleet", "", "", 0},
      {"redis://10.0.0.7:7000/a.b-c_1", "redis://10.0.0.7:7000/a.b-c_1", "", "", 0},
      {"redis://secret@host/fleet?db=3&timeout_ms=1000", "redis://host:6379/fleet", "", "secret", 3},
      {"redis://me:p@ss:word@host:1/fleet", "redis://host:1/fleet", "me", "p@ss:word", 0},
      {"redis://[::1]:7000/fleet", "redis://[::1]:7000/fleet", "", "", 0},
      {"redis+unix:///run/redis.sock?name=fleet", "redis+unix:///run/redis.sock?name=fleet", "", "", 0},
      {"redis+unix://me:x@/run/s?db=1&name=fleet", "redis+unix:///run/s?name=fleet", "me", "x", 1},
  };
  for (const Case& each : cases) {
    Result<RedisOptions> read = RedisOptions::Parse(each.address);
    ASSERT_TRUE(read.ok()) << each.address << ": " << read.status().message();
    EXPECT_EQ(read->ToString(), each.shown);
    EXPECT_EQ(read->user, each.user);
    EXPECT_EQ(read->password, each.password);
    EXPECT_EQ(read->database, each.database);
    EXPECT_EQ(read->timeout_ms, each.database == 3 ? 1000 : 250);
    EXPECT_TRUE(IsRedisAddress(each.address));
  }
}

TEST(RedisOptionsTest, WrongAddressesAreOneClearLineThatDoesNotRepeatThePassword) {
  const std::pair<const char*, const char*> cases[] = {
      {"rediss://host/fleet", "must begin with redis://"},
      {"", "must begin with redis://"},
      {"/var/store.db", "must begin with redis://"},
      {"redis://", "has no host"},
      {"redis://host", "has the name ''"},
      {"redis://host/", "has the name ''"},
      {"redis://host/a/b", "has the name 'a/b'"},
      {"redis://host/{x}", "has the name '{x}'"},
      {"redis://host:port/fleet", "port that is not a number"},
      {"redis://host:70000/fleet", "has the port 70000"},
      {"redis://[::1/fleet", "'[' without ']'"},
      {"redis://@host/fleet", "without a password"},
      {"redis://hidden@host/fleet?db=x", "db that is not a number"},
      {"redis://hidden@host/fleet?timeout_ms=", "timeout_ms that is not a number"},
      {"redis://host/fleet?timeout_ms=0", "timeout_ms must be at least 1"},
      {"redis://hidden@host/fleet?tls=1", "has the unknown option 'tls='"},
      {"redis://hidden@host/fleet?db", "without NAME=VALUE"},
      {"redis+unix://socket?name=fleet", "has no absolute path of a socket"},
      {"redis+unix:///socket", "has the name ''"},
  };
  for (const auto& [address, words] : cases) {
    Result<RedisOptions> read = RedisOptions::Parse(address);
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << address;
    EXPECT_NE(read.status().message().find(words), std::string::npos) << address << ": " << read.status().message();
    EXPECT_EQ(read.status().message().find("hidden"), std::string::npos) << read.status().message();
    EXPECT_EQ(read.status().message().find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace tuneonce
