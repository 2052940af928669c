// The token with the largest logit of each row, the first of equal ones, and where the sequence goes on: position and
// length one further, at most at the caches' end (c), and the slot that append_kv takes. A block per sequence.
static void next_token(const tuneonce_block& block, const _Float16* logits, int* tokens, int* positions, int* lengths,
                       int* slots, int c, int v) {
  const int row = static_cast<int>(block.x);
  const _Float16* mine = logits + static_cast<long>(row) * v;
  int most = 0;
  for (int i = 1; i < v; ++i) {
    if (static_cast<float>(mine[i]) > static_cast<float>(mine[most])) most = i;
  }
  tokens[row] = most;
  if (positions[row] < c - 1) ++positions[row];
  if (lengths[row] < c) ++lengths[row];
  slots[row] = row * c + positions[row];
}
TUNEONCE_CPU_KERNEL(next_token);
