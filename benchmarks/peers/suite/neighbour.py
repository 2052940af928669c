"""Another program on the GPU: bursts of matmuls of random length, until it is ended."""

import random
import time

import torch

a = torch.rand((4096, 4096), dtype=torch.float16, device="cuda")
rng = random.Random(2)
print("ready", flush=True)
while True:
    for _ in range(rng.randrange(1, 40)):
        a @ a
    torch.cuda.synchronize()
    time.sleep(rng.random() * 0.02)
