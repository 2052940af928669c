#include <cstdio>

#include "tuneonce/redis_rank_group.h"
#include "tuneonce/redis_store.h"

int main() {
  tuneonce::RedisStoreOptions options;
  options.redis = *tuneonce::RedisOptions::Parse("redis://127.0.0.1:1/nobody");
  if (tuneonce::RedisStore::Open(options).status().code() != tuneonce::StatusCode::kInvalidArgument) return 1;
  options.keys = {{"a", std::string(32, 'x')}};
  tuneonce::Result<std::shared_ptr<tuneonce::RedisStore>> store = tuneonce::RedisStore::Open(options);
  if (!store.ok() || (*store)->List().ok()) return 1;  // Nobody listens.
  std::printf("redis component: ok\n");
}
