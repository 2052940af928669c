// Rotary embedding in place: x[token, head, d] and x[token, head, d + R] are rotated by the token's angle d. HEADS
// heads of one token per block; CHUNK angles at a time, so that their cosines stay in registers over the heads.
static void rope(const tuneonce_block& block, float* x, const float* cosines, const float* sines, int m, int h, int r) {
  const int token = block.y;
  if (token >= m) return;
  const int head_begin = block.x * HEADS;
  const int head_end = head_begin + HEADS < h ? head_begin + HEADS : h;
  const float* c = cosines + static_cast<long>(token) * r;
  const float* s = sines + static_cast<long>(token) * r;
  for (int begin = 0; begin < r; begin += CHUNK) {
    const int end = begin + CHUNK < r ? begin + CHUNK : r;
    for (int head = head_begin; head < head_end; ++head) {
      float* first = x + (static_cast<long>(token) * h + head) * 2 * r;
      float* second = first + r;
      for (int d = begin; d < end; ++d) {
        const float u = first[d], v = second[d];
        first[d] = u * c[d] - v * s[d];
        second[d] = v * c[d] + u * s[d];
      }
    }
  }
}
TUNEONCE_CPU_KERNEL(rope);
