"""What tuneonce.triton.autotune and tuneonce.cutile.autotune share: kernels that are tuned by the calls that they get."""
